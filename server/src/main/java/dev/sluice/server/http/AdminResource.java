// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonParser.NumberType;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.internal.text.EndTime;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.internal.text.SafeText;
import dev.sluice.internal.text.Suggestion;
import dev.sluice.limit.LimitName;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.access.AuditLog.Noted;
import dev.sluice.server.access.Caller;
import dev.sluice.server.admin.RuntimeLimits;
import dev.sluice.server.admin.RuntimeLimits.Note;
import dev.sluice.server.base.RefusedException;
import dev.sluice.server.http.HttpFailures.Bodies;
import dev.sluice.server.net.Requests;
import dev.sluice.wire.Mistakes;
import dev.sluice.wire.WireException;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A resource to get, put and delete one setting of an id of a limit, at {@code
 * /v1/admin/…/{limit}/{id}} or {@code /v1/admin/…/{limit}?id={id}}. The library refuses paths with
 * a segment ".." in any spelling, so only the query can hold every id. Blocking work runs on
 * threads that may block. Thread-safe.
 */
abstract class AdminResource implements HttpService {

  private static final String ALLOWED = "GET, HEAD, PUT, DELETE, OPTIONS";
  private static final String ID = "id";
  private static final String FORCE = "force";

  final RuntimeLimits limits;
  private final AuditLog audit;
  private final Executor changes;
  private final Pattern path;
  private final String thing;

  /**
   * Makes a resource.
   *
   * @param changes runs changes, one after another; each blocks until it is saved
   * @param under the path before the limit
   * @param thing the word for the setting: override or penalty
   */
  AdminResource(
      RuntimeLimits limits, AuditLog audit, Executor changes, String under, String thing) {
    this.limits = limits;
    this.audit = audit;
    this.changes = changes;
    this.path = Pattern.compile(under + "(?<limit>[^/?]+)(?:/(?<id>[^?]+))?(?:\\?.*)?");
    this.thing = thing;
  }

  /** Returns the canonical form of an id. */
  abstract String canonical(LimitName name, String id);

  /** Returns a writer of the setting; null if nothing is set. */
  abstract Answers.@Nullable BodyWriter get(LimitName name, String id);

  /**
   * Makes the setting.
   *
   * @param caller who sets it
   * @param force whether the query has {@code force=true}; false unless {@link #takesForce}
   */
  abstract Done put(LimitName name, String id, AdminBody body, Caller caller, boolean force);

  /** Whether the query may have {@code force=true}. */
  boolean takesForce() {
    return false;
  }

  /**
   * Removes the setting.
   *
   * @return the removed setting, for the audit log; null if nothing was set
   */
  abstract @Nullable String delete(LimitName name, String id);

  /** Returns a task that removes a setting of a limit that is gone; null if none is kept. */
  abstract @Nullable BooleanSupplier leftOut(String limit, String id);

  /**
   * The outcome of a change.
   *
   * @param body writes the answer
   * @param detail the detail for the audit log
   */
  record Done(Answers.BodyWriter body, String detail) {}

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
    CompletableFuture<AggregatedHttpResponse> answer =
        CompletableFuture.supplyAsync(
            () -> answer(context, method, unreadable, body),
            reads ? context.blockingTaskExecutor() : context.makeContextAware(changes));
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
              ? put(change, change.bucket(name, asGiven), json, force && isForced(context))
              : delete(change, name, asGiven);
        });
  }

  private AggregatedHttpResponse got(Caller caller, String limit, String asGiven) {
    LimitName name = known(caller, limit);
    Answers.BodyWriter found = get(name, canonical(name, asGiven));
    return found == null ? Answers.fault(notThere(limit)) : Answers.json(HttpStatus.OK, found);
  }

  private Done put(Change change, Bucket bucket, byte[] json, boolean force) {
    return put(bucket.name(), bucket.id(), AdminBody.read(json), change.caller, force);
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
    BooleanSupplier leftOut = leftOut(limit, asGiven);
    if (leftOut != null) {
      change.caller.requireLimit(limit);
      return removed(leftOut.getAsBoolean() ? "" : null);
    }
    Bucket bucket = change.bucket(limit, asGiven);
    return removed(delete(bucket.name(), bucket.id()));
  }

  private LimitName known(Caller caller, String limit) {
    return caller.lookUp(List.of(limit), () -> limits.limits().get().catalogue().get(limit));
  }

  private Fault notThere(String limit) {
    return Fault.notThere("there is no %s of %s for this id".formatted(thing, limit));
  }

  static void writeWarnings(List<String> warnings, JsonGenerator json) throws IOException {
    if (!warnings.isEmpty()) {
      json.writeArrayFieldStart("warnings");
      for (String warning : warnings) {
        json.writeString(warning);
      }
      json.writeEndArray();
    }
  }

  private static @Nullable Done removed(@Nullable String before) {
    return before == null
        ? null
        : new Done(
            json -> {
              json.writeStartObject();
              json.writeBooleanField("removed", true);
              json.writeEndObject();
            },
            before.isEmpty() ? "" : "before: " + before);
  }

  /** Returns the detail of a change for the audit log, with the old value if there was one. */
  static String detail(String now, @Nullable String before) {
    return before == null ? now : now + "; before: " + before;
  }

  static void writeNote(String field, String text, JsonGenerator json) throws IOException {
    if (!text.isEmpty()) {
      json.writeStringField(field, text);
    }
  }

  /** A bucket that a request names, in its canonical form. */
  private record Bucket(LimitName name, String id) {}

  /** A change to a setting of a bucket. The audit log notes it whether it succeeds or not. */
  private final class Change {

    private final Caller caller;
    private Noted noted;

    Change(Caller caller, Noted asked) {
      this.caller = caller.about(List.of(asked));
      this.noted = asked;
    }

    /** Looks up the bucket; from then on, the audit log notes its canonical form. */
    Bucket bucket(String limit, String asGiven) {
      LimitName name = known(caller, limit);
      Bucket bucket = new Bucket(name, canonical(name, asGiven));
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
        // The audit log notes both mistakes in the request and failures.
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

  /** Decodes a text; returns it unchanged if that fails. */
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

  /** Escapes "+", which the decoder for forms would read as a space. */
  private static String asForm(String path) {
    return path.replace("+", "%2B");
  }

  /**
   * A flat JSON object of strings and whole numbers, parsed as strictly as all bodies. Its mistakes
   * are collected, and thrown together by {@link #requireSound}. For one thread.
   */
  static final class AdminBody {

    private static final JsonFactory JSON =
        JsonFactory.builder().enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION).build();
    private static final int LONGEST_COMMENT = 1000;
    private static final int LONGEST_AUTHOR = 200;

    /** Stands for a value that is neither a string nor a 64-bit integer. */
    private record Unusable(String why) {}

    private final Map<String, Object> fields;
    private final Mistakes mistakes = new Mistakes();

    private AdminBody(Map<String, Object> fields) {
      this.fields = fields;
    }

    static AdminBody read(byte[] json) {
      Map<String, Object> fields = new LinkedHashMap<>();
      try (JsonParser parser = JSON.createParser(json)) {
        if (parser.nextToken() != JsonToken.START_OBJECT) {
          throw new WireException(null, "the body must be a JSON object");
        }
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
          String name = parser.currentName();
          switch (parser.nextToken()) {
            case VALUE_STRING -> fields.put(name, parser.getText());
            case VALUE_NUMBER_INT -> fields.put(name, wholeNumber(parser));
            default -> {
              fields.put(
                  name,
                  new Unusable("found another kind of value, expected a string or a whole number"));
              parser.skipChildren();
            }
          }
        }
        if (parser.nextToken() != null) {
          throw new WireException(null, "there is more text after the JSON object");
        }
      } catch (IOException e) {
        throw new WireException(
            null, "the body must be a JSON object of strings and whole numbers");
      }
      return new AdminBody(fields);
    }

    private static Object wholeNumber(JsonParser parser) throws IOException {
      return parser.getNumberType() == NumberType.BIG_INTEGER
          ? new Unusable(
              "found a number beyond 64 bits, expected a whole number of at most %s"
                  .formatted(Long.MAX_VALUE))
          : parser.getLongValue();
    }

    /** Adds mistakes for unknown fields, and for values of another type. */
    void require(List<String> known) {
      fields.forEach(
          (name, value) -> {
            if (!known.contains(name)) {
              mistakes.add(
                  name,
                  "found an unknown field, expected one of %s%s"
                      .formatted(String.join(", ", known), Suggestion.didYouMean(name, known)));
            } else if (value instanceof Unusable unusable) {
              mistakes.add(name, unusable.why);
            }
          });
    }

    /** Adds a mistake; only the first mistake of a field is reported. */
    void mistake(@Nullable String field, String message) {
      mistakes.add(field, message);
    }

    /**
     * Throws the mistakes in the fields that were read.
     *
     * @throws WireException if there are any
     */
    void requireSound() {
      if (!mistakes.none()) {
        throw mistakes.exception();
      }
    }

    boolean has(String field) {
      return fields.containsKey(field);
    }

    /** Returns a whole number; null after a mistake. */
    @Nullable Long number(String field) {
      Object value = fields.get(field);
      if (value instanceof Long number) {
        return number;
      }
      mistakes.add(
          field,
          value == null
              ? "the field is missing, expected a whole number"
              : "found a string, expected a whole number");
      return null;
    }

    /** Returns a text; null if it is absent, or after a mistake. */
    @Nullable String text(String field) {
      Object value = fields.get(field);
      if (value == null || value instanceof String) {
        return (String) value;
      }
      mistakes.add(field, "found a number, expected a string");
      return null;
    }

    /** Returns a duration greater than zero; null after a mistake. */
    @Nullable Duration duration(String field) {
      String text = text(field);
      if (text == null) {
        mistakes.add(field, "the field is missing, expected a duration such as 1s, 180m or 7d");
        return null;
      }
      try {
        Duration duration = GoDuration.parse(text);
        if (!duration.isZero()) {
          return duration;
        }
        mistakes.add(field, "found zero, expected a duration > 0");
      } catch (IllegalArgumentException e) {
        mistakes.add(field, String.valueOf(e.getMessage()));
      }
      return null;
    }

    /** Returns the comment and the author; each is empty if it is absent. */
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
        mistakes.add(field, "expected at most %s characters, and no U+0000".formatted(longest));
      }
      return text;
    }

    /** Returns an end; null if it is absent, or after a mistake. */
    @Nullable Instant until() {
      String text = text("until");
      if (text == null) {
        return null;
      }
      try {
        return EndTime.parse(text);
      } catch (IllegalArgumentException e) {
        mistakes.add("until", String.valueOf(e.getMessage()));
        return null;
      }
    }
  }
}
