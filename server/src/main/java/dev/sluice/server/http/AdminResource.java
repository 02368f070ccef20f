// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.ServerBuilder;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.EndTime;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.internal.text.SafeText;
import dev.sluice.internal.text.Suggestion;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.access.AuditLog.Noted;
import dev.sluice.server.access.Caller;
import dev.sluice.server.access.Endpoint;
import dev.sluice.server.access.Permission;
import dev.sluice.server.admin.RuntimeLimits;
import dev.sluice.server.admin.RuntimeLimits.Note;
import dev.sluice.server.admin.Setting;
import dev.sluice.server.base.Json;
import dev.sluice.server.base.RefusedException;
import dev.sluice.server.http.HttpFailures.Bodies;
import dev.sluice.server.http.MethodService.Queries;
import dev.sluice.server.net.Requests;
import dev.sluice.wire.Mistakes;
import dev.sluice.wire.WireException;
import dev.sluice.yaml.internal.QuotaText;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.BiFunction;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A resource that gets, sets and deletes an override or a penalty of one id of a limit, at {@code
 * /v1/admin/…/{limit}/{id}} or {@code /v1/admin/…/{limit}?id={id}}. Armeria refuses paths with a
 * segment ".." in any spelling, so an id that contains such a segment must be sent in the query.
 * Blocking work runs on threads that may block. Thread-safe.
 */
abstract class AdminResource<T> implements HttpService {

  private static final String ALLOWED = "GET, HEAD, PUT, DELETE, OPTIONS";
  private static final String ID = "id";
  private static final String FORCE = "force";

  /** The name of the only field that contains a list: the quotas. */
  static final String QUOTAS = "quotas";

  final RuntimeLimits limits;
  private final AuditLog audit;
  private final Executor changes;
  private final Setting<T> setting;
  private final String list;
  private final Pattern path;
  private final String thing;

  /** Makes a resource; {@code changes} runs one change at a time. */
  AdminResource(
      RuntimeLimits limits,
      AuditLog audit,
      Executor changes,
      Setting<T> setting,
      String list,
      String thing) {
    this.limits = limits;
    this.audit = audit;
    this.changes = changes;
    this.setting = setting;
    this.list = list;
    this.path = Pattern.compile(list + "/(?<limit>[^/?]+)(?:/(?<id>[^?]+))?(?:\\?.*)?");
    this.thing = thing;
  }

  abstract String canonical(LimitName name, String id);

  /** Returns the canonical id with which to look up or remove an override or penalty. */
  String existing(LimitName name, String id) {
    return canonical(name, id);
  }

  /** Returns the override or penalty in force; null if there is none. */
  abstract @Nullable T get(LimitName name, String id);

  abstract Stream<T> all(Limits now, LimitName name);

  /** Writes the fields of an override or a penalty that follow the limit and the id. */
  abstract void writeFields(T one, Json json);

  /**
   * Stores an override or penalty.
   *
   * @param asGiven the id as the request writes it
   * @param force false unless {@link #takesForce} is true
   */
  abstract Done put(LimitName name, String asGiven, AdminBody body, Caller caller, boolean force);

  boolean takesForce() {
    return false;
  }

  /** Removes the override or penalty, and returns its text for the audit log; null for none. */
  abstract @Nullable String delete(LimitName name, String id);

  final void addTo(ServerBuilder server) {
    PagedResource<T> all =
        new PagedResource<>(limits.limits()::get, list.substring(list.lastIndexOf('/') + 1)) {
          @Override
          Stream<T> of(Limits now, LimitName name) {
            return all(now, name);
          }

          @Override
          String id(T one) {
            return setting.id(one);
          }

          @Override
          void write(T one, Json json) {
            AdminResource.this.write(one, List.of(), json);
          }
        };
    new Endpoint(list, Permission.READ, all).writing(Permission.ADMIN).addTo(server);
    new Endpoint(list + "/*", Permission.READ, this)
        .writing(Permission.ADMIN)
        .setting(thing)
        .addTo(server);
  }

  /** The response to a change, and the detail for the audit log. */
  record Done(Consumer<Json> body, String detail) {}

  @Override
  public final HttpResponse serve(ServiceRequestContext context, HttpRequest request) {
    HttpMethod method = request.method();
    if (method == HttpMethod.OPTIONS) {
      return Answers.methods(ALLOWED).toHttpResponse();
    }
    boolean reads = method == HttpMethod.GET || method == HttpMethod.HEAD;
    if (!reads && method != HttpMethod.PUT && method != HttpMethod.DELETE) {
      return Answers.wrongMethod(method.name(), ALLOWED).toHttpResponse();
    }
    Fault unreadable = method == HttpMethod.PUT ? Bodies.unreadable(request, MediaType.JSON) : null;
    byte[] body = Requests.body(context);
    CompletableFuture<AggregatedHttpResponse> answer;
    try {
      answer =
          CompletableFuture.supplyAsync(
              () -> answer(context, method, unreadable, body),
              reads ? context.blockingTaskExecutor() : context.makeContextAware(changes));
    } catch (RefusedException e) { // too many changes wait
      audit.refused(AccessPart.caller(context).about(Endpoint.acts(context)), "http", e.detail());
      throw e;
    }
    return HttpResponse.of(
        answer
            .exceptionally(HttpFailures::answer)
            .thenApply(AggregatedHttpResponse::toHttpResponse));
  }

  private AggregatedHttpResponse answer(
      ServiceRequestContext context, HttpMethod method, @Nullable Fault unreadable, byte[] json) {
    String rawPath = String.valueOf(context.routingContext().requestTarget().rawPath());
    Matcher matcher = path.matcher(rawPath);
    if (!matcher.matches()) {
      return Answers.fault(Fault.notFound(rawPath));
    }
    String limit = matcher.group("limit");
    String inPath = matcher.group(ID);
    String id = inPath == null ? Queries.encoded(context, ID) : asForm(inPath);
    if (id == null) {
      return Answers.fault(Fault.notFound(rawPath));
    }
    List<String> known = inPath == null ? List.of(ID) : List.of();
    Caller caller = AccessPart.caller(context);
    if (method != HttpMethod.PUT && method != HttpMethod.DELETE) {
      Queries.require(context, known);
      return got(caller, decoded(asForm(limit), "limit"), decoded(id, "id"));
    }
    String what = (method == HttpMethod.PUT ? "set " : "remove ") + thing;
    Change change = new Change(caller, new Noted(what, legible(asForm(limit)), legible(id)));
    if (unreadable != null) {
      change.note("refused", unreadable.detail());
      return Answers.fault(unreadable);
    }
    if (context.isCancelled()) {
      change.note("refused", Fault.TOO_LATE);
      return Answers.fault(Fault.notReady(Fault.TOO_LATE));
    }
    return change.make(
        () -> {
          boolean force = method == HttpMethod.PUT && takesForce();
          Queries.require(
              context, force ? Stream.concat(known.stream(), Stream.of(FORCE)).toList() : known);
          String name = decoded(asForm(limit), "limit");
          String asGiven = decoded(id, "id");
          return method == HttpMethod.PUT
              ? put(
                  change.bucket(name, asGiven, this::canonical).name(),
                  asGiven,
                  AdminBody.read(json),
                  change.caller,
                  force && isForced(context))
              : delete(change, name, asGiven);
        });
  }

  private AggregatedHttpResponse got(Caller caller, String limit, String asGiven) {
    LimitName name = known(caller, limit);
    T found = get(name, existing(name, asGiven));
    return found == null
        ? Answers.fault(notThere(limit))
        : Answers.json(HttpStatus.OK, json -> write(found, List.of(), json));
  }

  private static boolean isForced(ServiceRequestContext context) {
    String value = context.queryParams().get(FORCE, "false");
    if (!value.equals("true") && !value.equals("false")) {
      throw new WireException(
          FORCE, "found %s, expected true or false".formatted(SafeText.quote(value)));
    }
    return value.equals("true");
  }

  private @Nullable Done delete(Change change, String limit, String asGiven) {
    BooleanSupplier leftOut = limits.leftOut(setting, limit, asGiven);
    if (leftOut != null) {
      change.caller.requireLimit(limit);
      return removed(leftOut.getAsBoolean() ? "" : null, List.of());
    }
    Bucket bucket = change.bucket(limit, asGiven, this::existing);
    String before = delete(bucket.name(), bucket.id());
    return removed(before, stillInForce(bucket.name(), bucket.id()));
  }

  private LimitName known(Caller caller, String limit) {
    return caller.lookUp(List.of(limit), () -> limits.limits().get().catalogue().get(limit));
  }

  private Fault notThere(String limit) {
    return Fault.notThere("there is no %s of %s for this id".formatted(thing, limit));
  }

  final void write(T one, List<String> warnings, Json json) {
    json.put("limit", setting.name(one).name()).put("id", setting.id(one));
    writeFields(one, json);
    json.put("warnings", warnings.isEmpty() ? null : warnings);
  }

  /** Returns a warning if a setting that was removed is still in force. */
  List<String> stillInForce(LimitName name, String id) {
    return List.of();
  }

  private static @Nullable Done removed(@Nullable String before, List<String> warnings) {
    return before == null
        ? null
        : new Done(
            json -> json.put("removed", true).put("warnings", warnings.isEmpty() ? null : warnings),
            before.isEmpty() ? "" : "before: " + before);
  }

  /** Returns the text for the audit log about a change: the new value, and the old value if any. */
  static String detail(String now, @Nullable String before) {
    return before == null ? now : now + "; before: " + before;
  }

  /** Returns the text; null for an empty text, so that the JSON field is left out. */
  static @Nullable String note(String text) {
    return text.isEmpty() ? null : text;
  }

  /** The bucket that a request is about, with its canonical id. */
  private record Bucket(LimitName name, String id) {}

  /** A change that an administrator requests. The audit log records the change even if it fails. */
  private final class Change {

    private final Caller caller;
    private Noted noted;

    Change(Caller caller, Noted asked) {
      this.caller = caller.about(List.of(asked));
      this.noted = asked;
    }

    /** Looks up a change's bucket; then the audit log records the bucket's canonical id. */
    Bucket bucket(String limit, String asGiven, BiFunction<LimitName, String, String> form) {
      LimitName name = known(caller, limit);
      Bucket bucket = new Bucket(name, form.apply(name, asGiven));
      noted = new Noted(noted.what(), limit, bucket.id());
      return bucket;
    }

    void note(String result, String detail) {
      audit.note(caller, "http", noted, result, detail);
    }

    AggregatedHttpResponse make(Supplier<@Nullable Done> change) {
      Done done;
      try {
        done = change.get();
      } catch (RefusedException e) {
        throw e; // access control has recorded the refusal
      } catch (RuntimeException e) {
        // The audit log records both mistakes in the request and failures.
        boolean refused = e instanceof IllegalArgumentException;
        note(refused ? "refused" : "failed", String.valueOf(e.getMessage()));
        throw e;
      }
      if (done == null) {
        note("not there", "");
        return Answers.fault(notThere(String.valueOf(noted.limit())));
      }
      note("done", done.detail());
      return Answers.json(HttpStatus.OK, done.body());
    }
  }

  /** Decodes a text; returns the encoded text if it cannot be decoded. */
  private static String legible(String encoded) {
    try {
      return decoded(encoded, "path");
    } catch (WireException e) {
      return encoded;
    }
  }

  private static String decoded(String encoded, String field) {
    return Queries.decoded(encoded, field, field);
  }

  /** Escapes "+", which the decoder of form parameters would turn into a space. */
  private static String asForm(String path) {
    return path.replace("+", "%2B");
  }

  /**
   * A JSON object of strings, whole numbers and lists, parsed as strictly as all request bodies.
   * The elements of a list are strings, or objects whose values are strings and whole numbers. All
   * mistakes are collected, and {@link #requireSound} throws them together. Not thread-safe.
   */
  record AdminBody(String path, Map<?, ?> fields, Mistakes mistakes) {

    private static final List<String> QUOTA = List.of("burst", "count", "period");
    private static final Duration LONGEST = Duration.ofNanos(Long.MAX_VALUE);
    private static final int LONGEST_COMMENT = 1000;
    private static final int LONGEST_AUTHOR = 200;

    private static final String ANOTHER_KIND =
        "found a value of the wrong type, expected a string or a whole number";

    static AdminBody read(byte[] json) {
      return new AdminBody("", Bodies.object(json), new Mistakes());
    }

    /** Adds mistakes for unknown fields, and for values of a wrong type. */
    void require(List<String> known) {
      fields.forEach(
          (key, value) -> {
            String name = String.valueOf(key);
            if (!known.contains(name)) {
              mistake(
                  name,
                  "found an unknown field, expected one of %s%s"
                      .formatted(String.join(", ", known), Suggestion.didYouMean(name, known)));
            } else if (value instanceof BigInteger) {
              mistake(
                  name,
                  "found a number beyond 64 bits, expected a whole number of at most %s"
                      .formatted(Long.MAX_VALUE));
            } else if (!(value instanceof String || value instanceof Long)
                && !(value instanceof List && name.equals(QUOTAS))) {
              mistake(name, ANOTHER_KIND);
            }
          });
    }

    /** Adds a mistake; only the first mistake of a field is reported. */
    void mistake(@Nullable String field, String message) {
      mistakes.add(field == null ? null : path + field, message);
    }

    /** Throws all mistakes that were found in the fields. */
    void requireSound() {
      if (!mistakes.none()) {
        throw mistakes.exception();
      }
    }

    boolean has(String field) {
      return fields.containsKey(field);
    }

    /** Returns one quota, or a list of quotas; throws all mistakes found so far. */
    List<Quota> quotas() {
      List<Quota> quotas = new ArrayList<>();
      if (!has(QUOTAS)) {
        addTo(quotas, quota());
      } else if (fields.get(QUOTAS) instanceof List<?> items) {
        QUOTA.stream()
            .filter(this::has)
            .forEach(field -> mistake(field, "found this field and quotas, expected only one"));
        if (items.size() > Quota.MOST_OF_A_LIMIT) {
          mistake(
              QUOTAS,
              "found %s quotas, expected 1 to %s".formatted(items.size(), Quota.MOST_OF_A_LIMIT));
        }
        for (int i = 0; i < Math.min(items.size(), Quota.MOST_OF_A_LIMIT); i++) {
          addTo(quotas, quota(items.get(i), "%s[%s]".formatted(QUOTAS, i)));
        }
      } else {
        mistake(QUOTAS, "found no list, expected a list of quotas");
      }
      requireSound();
      try {
        return Quota.ofOneLimit(quotas);
      } catch (IllegalArgumentException e) {
        throw new WireException(QUOTAS, String.valueOf(e.getMessage()));
      }
    }

    private static void addTo(List<Quota> quotas, @Nullable Quota quota) {
      if (quota != null) {
        quotas.add(quota);
      }
    }

    private @Nullable Quota quota(@Nullable Object item, String field) {
      if (item instanceof Map<?, ?> object) {
        AdminBody own = new AdminBody(field + ".", object, mistakes);
        own.require(QUOTA);
        return own.quota();
      }
      try {
        return item instanceof String text ? QuotaText.parse(text) : noQuota(field);
      } catch (IllegalArgumentException e) {
        mistake(field, String.valueOf(e.getMessage()));
        return null;
      }
    }

    /** Reads one quota; if a value is missing, the other values are still checked. */
    private @Nullable Quota quota() {
      Long burst = number("burst");
      Long count = number("count");
      Duration period = duration("period");
      if (burst == null || count == null || period == null) {
        tell(Quota.faults(burst == null ? 1 : burst, 1, Duration.ofNanos(1)));
        tell(Quota.faults(1, count == null ? 1 : count, period == null ? LONGEST : period));
        return null;
      }
      List<Quota.Fault> faults = Quota.faults(burst, count, period);
      tell(faults);
      return faults.isEmpty() ? Quota.burst(burst).refill(count, period) : null;
    }

    private @Nullable Quota noQuota(String field) {
      mistake(
          field,
          "found a value of the wrong type, expected a text such as 10 per 1s, or an object with burst, count and period");
      return null;
    }

    private void tell(List<Quota.Fault> faults) {
      faults.forEach(fault -> mistake(fault.field(), fault.message()));
    }

    /** Returns a whole number; null if the field is wrong. */
    @Nullable Long number(String field) {
      Object value = fields.get(field);
      if (value instanceof Long number) {
        return number;
      }
      mistake(
          field,
          value == null
              ? "the field is missing, expected a whole number"
              : "found a string, expected a whole number");
      return null;
    }

    /** Returns a text; null if the field is absent or wrong. */
    @Nullable String text(String field) {
      Object value = fields.get(field);
      if (value == null || value instanceof String) {
        return (String) value;
      }
      mistake(field, "found a number, expected a string");
      return null;
    }

    /** Returns a field's value as a duration greater than zero; null if the value is wrong. */
    @Nullable Duration duration(String field) {
      String text = text(field);
      if (text == null) {
        mistake(field, "the field is missing, expected a duration such as 1s, 180m or 7d");
        return null;
      }
      try {
        Duration duration = GoDuration.parse(text);
        if (!duration.isZero()) {
          return duration;
        }
        mistake(field, "found zero, expected a duration > 0");
      } catch (IllegalArgumentException e) {
        mistake(field, String.valueOf(e.getMessage()));
      }
      return null;
    }

    /** Returns a change's comment and author; an absent field is an empty text. */
    Note note(Caller caller) {
      return new Note(
          note("comment", LONGEST_COMMENT), caller.author(note("author", LONGEST_AUTHOR)));
    }

    private String note(String field, int longest) {
      String text = text(field);
      if (text == null) {
        return "";
      }
      if (text.length() > longest || text.indexOf('\0') >= 0) {
        mistake(field, "expected at most %s characters, and no U+0000".formatted(longest));
      }
      return text;
    }

    /** Returns the end time in a field; null if the field is absent or wrong. */
    @Nullable Instant until() {
      String text = text("until");
      if (text == null) {
        return null;
      }
      try {
        return EndTime.parse(text);
      } catch (IllegalArgumentException e) {
        mistake("until", String.valueOf(e.getMessage()));
        return null;
      }
    }
  }
}
