// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.access.AuditLog.Noted;
import dev.sluice.server.access.Caller;
import dev.sluice.server.admin.LimitsDiff;
import dev.sluice.server.admin.RuntimeLimits;
import dev.sluice.server.admin.Setting;
import dev.sluice.server.base.Generations;
import dev.sluice.server.base.Generations.Kind;
import dev.sluice.server.base.Generations.Past;
import dev.sluice.server.base.Generations.Watched;
import dev.sluice.server.base.RefusedException;
import dev.sluice.server.http.LimitResource.GenerationJson;
import dev.sluice.server.http.MethodService.Queries;
import dev.sluice.server.http.MethodService.Resource;
import dev.sluice.server.stats.Denials;
import dev.sluice.store.BucketStore;
import dev.sluice.store.StoreException;
import dev.sluice.store.TimeSource;
import dev.sluice.wire.WireException;
import dev.sluice.yaml.LimitFilesWatcher;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * {@code POST /v1/admin/reload}: reads all watched files, and the saved overrides and penalties.
 * The status of a reload is 200 if everything was applied; otherwise 409, with every mistake. Files
 * of a kind without mistakes are applied even if files of another kind have mistakes. With {@code
 * dryRun=true} nothing is applied, and the response lists what a reload would change.
 */
class ReloadResource extends Resource {

  static final String DRY_RUN = "dryRun";

  private final Generations generations;
  private final AuditLog audit;
  private final Executor reloads;
  private final String act;
  private final String parameter;
  private BiFunction<Limits, Caller, String> effect = (next, caller) -> "";

  ReloadResource(
      Generations generations,
      AuditLog audit,
      Executor reloads,
      Limiter limiter,
      BucketStore store,
      Denials denials) {
    this(generations, audit, reloads, "reload", DRY_RUN);
    this.effect =
        (next, caller) ->
            new DryRunEffect(limiter, store, denials, caller, System::nanoTime)
                .of(inForce(generations.of(Kind.LIMITS)), next);
  }

  private ReloadResource(
      Generations generations, AuditLog audit, Executor reloads, String act, String parameter) {
    super(HttpMethod.POST);
    this.generations = generations;
    this.audit = audit;
    this.reloads = reloads;
    this.act = act;
    this.parameter = parameter;
  }

  @Override
  final CompletionStage<AggregatedHttpResponse> answer(
      ServiceRequestContext context, HttpRequest request) {
    Caller caller = AccessPart.caller(context);
    try {
      Queries.require(context, List.of(parameter));
    } catch (WireException e) {
      refused(caller, String.valueOf(e.getMessage()));
      throw e;
    }
    String value = context.queryParams().get(parameter);
    try {
      return CompletableFuture.supplyAsync(
          () -> {
            if (context.isCancelled()) {
              refused(caller, Fault.TOO_LATE);
              return Answers.fault(Fault.notReady(Fault.TOO_LATE));
            }
            return act(value, caller);
          },
          context.makeContextAware(reloads));
    } catch (RefusedException e) { // too many reloads wait
      refused(caller, e.detail());
      throw e;
    }
  }

  /** Reloads or rolls back the files. Runs on a thread that may block. */
  AggregatedHttpResponse act(@Nullable String dryRun, Caller caller) {
    if (dryRun != null && !dryRun.equals("true") && !dryRun.equals("false")) {
      String why = "found another value, expected true or false";
      refused(caller, DRY_RUN + ": " + why);
      throw new WireException(DRY_RUN, why);
    }
    return "true".equals(dryRun) ? dryRun(caller) : reload(caller);
  }

  private AggregatedHttpResponse reload(Caller caller) {
    boolean applied = generations.reload();
    note(caller, applied ? "done" : "refused", String.join("; ", generations.mistakes()));
    return answer(applied, caller, null);
  }

  private AggregatedHttpResponse dryRun(Caller caller) {
    List<String> mistakes = new ArrayList<>();
    List<String> changes = new ArrayList<>();
    String[] said = {""};
    for (Kind kind : Kind.values()) {
      Watched watched = generations.of(kind);
      LimitFilesWatcher files = watched.files();
      if (files != null) {
        Limits next = files.read(mistake -> mistakes.add(mistake.toString()));
        if (next != null && kind == Kind.LIMITS) {
          changes.addAll(LimitsDiff.between(inForce(watched), next));
          said[0] = effect.apply(next, caller);
        }
      }
    }
    return Answers.json(
        mistakes.isEmpty() ? HttpStatus.OK : HttpStatus.CONFLICT,
        json -> {
          json.put("applied", false)
              .put("mistakes", GenerationJson.lines("mistake", mistakes, caller))
              .put("changes", GenerationJson.lines("change", changes, caller))
              .put("effect", said[0]);
          GenerationJson.write(generations, caller, json);
        });
  }

  /** Returns the limits in force, without overrides that have ended since they were read. */
  private static Limits inForce(Watched watched) {
    String hash = watched.state().active().hash();
    return watched.past().stream()
        .filter(past -> past.hash().equals(hash))
        .findFirst()
        .orElse(watched.past().get(0))
        .limits()
        .withoutEnded(Instant.now());
  }

  /** Finds the ids that the new limits would deny immediately; blocks on the store. */
  record DryRunEffect(
      Limiter limiter, BucketStore store, Denials denials, Caller caller, TimeSource time) {

    private static final Logger log = LoggerFactory.getLogger(DryRunEffect.class);

    /** The number of buckets that one call to the store reads. */
    private static final int STEP = 100;

    private static final int MOST_KEYS = 100_000;
    private static final int MOST_NAMED = 10;

    /** The longest time of each step but the last, which may take the rest of {@link #LONGEST}. */
    private static final Duration LONGEST_STEP = Duration.ofSeconds(2);

    /** Shorter than the timeout of a request. */
    private static final Duration LONGEST = Duration.ofSeconds(8);

    /** Returns a text that says how many known ids and stored buckets {@code next} would deny. */
    String of(Limits deployed, Limits next) {
      long startNanos = time.nanos();
      Limits with = next.withOverrides(setAtRunTime(deployed, next));
      String kept =
          denials.keepsLast()
              ? ofKept(denials::forEachLast, "denied last", with)
                  + "; "
                  + ofKept(denials::forEachCharged, "charged most", with)
              : "the server does not keep the ids that were denied last or charged most; start the server with --top-denied";
      return kept + "; " + ofStored(with, startNanos);
    }

    private String ofKept(Consumer<BiConsumer<String, String>> forEach, String which, Limits with) {
      Map<String, Compared> kept = new LinkedHashMap<>();
      forEach.accept(
          (limit, id) ->
              kept.put(limit + ' ' + id, Compared.of(limiter.limits().get(), with, limit, id)));
      try {
        Counts counts = count(List.copyOf(kept.values()), LONGEST_STEP);
        return "of %s ids %s, %s are denied now, and %s would be"
            .formatted(counts.looked, which, counts.now, counts.then);
      } catch (CompletionException e) {
        return "the ids that would be denied are unknown: the store does not answer";
      }
    }

    private String ofStored(Limits with, long startNanos) {
      Duration left = LONGEST.minusNanos(time.nanos() - startNanos);
      if (left.isZero() || left.isNegative()) {
        return "the store is slow, so no time was left to read its buckets";
      }
      try {
        Duration longest = left.compareTo(LONGEST_STEP) < 0 ? left : LONGEST_STEP;
        Optional<List<String>> keys = store.someKeys(MOST_KEYS, longest);
        if (keys.isEmpty()) {
          return "this store cannot list its buckets, so other ids were not checked";
        }
        List<Compared> stored = asked(keys.get(), with);
        Counts counts = count(stored, LONGEST.minusNanos(time.nanos() - startNanos));
        return "of %s buckets read from the store, %s deny now, and %s would%s"
            .formatted(
                counts.looked,
                counts.now,
                counts.then,
                counts.fresh.isEmpty() || !caller.mayUseAll()
                    ? ""
                    : ", newly " + String.join(", ", counts.fresh));
      } catch (StoreException | CompletionException e) {
        log.warn("a dry run could not read the store's buckets: {}", e.getMessage());
        return "the store's buckets could not be read; the server's log has the cause";
      }
    }

    /** Finds each bucket key's limit and id; ignores shadow limits and other programs' keys. */
    private List<Compared> asked(List<String> keys, Limits with) {
      Limits current = limiter.limits().get();
      Map<String, LimitName> byStart = new HashMap<>();
      current.configured().forEach(name -> byStart.put(name.bucketKey(""), name));
      List<Compared> all = new ArrayList<>();
      for (String key : keys) {
        LimitName name = byStart.get(key.substring(0, key.indexOf(':') + 1));
        if (name != null) {
          try {
            all.add(Compared.of(current, with, name.name(), name.idOf(key)));
          } catch (IllegalArgumentException e) {
            // The key has no valid id, so another program wrote the key.
          }
        }
      }
      return all;
    }

    /** A charge of one id, under the current limits and under the new limits. */
    private record Compared(@Nullable Transaction now, @Nullable Transaction then) {

      static Compared of(Limits current, Limits next, String limit, String id) {
        return new Compared(limited(current, limit, id), limited(next, limit, id));
      }

      /** Returns a transaction for the id; null if no limit applies to the id. */
      private static @Nullable Transaction limited(Limits limits, String limit, String id) {
        try {
          Transaction one = Transaction.of(limits, limit, id);
          return one.quota() == null ? null : one;
        } catch (InvalidRequestException e) {
          return null; // the limit was removed, or its ids have another format
        }
      }
    }

    private record Counts(int looked, int now, int then, Set<String> fresh) {}

    /** Counts the ids that the old and the new limits deny, and stops after a time. */
    private Counts count(List<Compared> all, Duration longest) {
      long startNanos = time.nanos();
      int looked = 0;
      int now = 0;
      int then = 0;
      Set<String> fresh = new LinkedHashSet<>();
      while (looked < all.size() && time.nanos() - startNanos < longest.toNanos()) {
        List<Compared> step = all.subList(looked, Math.min(all.size(), looked + STEP));
        Set<String> deniedNow = denied(step.stream().map(Compared::now));
        Set<String> deniedThen = denied(step.stream().map(Compared::then));
        for (Compared one : step) {
          boolean isDeniedNow = one.now != null && deniedNow.contains(one.now.bucketKey());
          now += isDeniedNow ? 1 : 0;
          if (one.then == null || !deniedThen.contains(one.then.bucketKey())) {
            continue;
          }
          then++;
          if (!isDeniedNow && fresh.size() <= MOST_NAMED) {
            fresh.add(
                fresh.size() == MOST_NAMED
                    ? "…"
                    : "%s of %s".formatted(one.then.name(), SafeText.printable(one.then.id())));
          }
        }
        looked += step.size();
      }
      return new Counts(looked, now, then, fresh);
    }

    /** Returns the keys of the denied buckets. Under a new id format, two ids can be one bucket. */
    private Set<String> denied(Stream<@Nullable Transaction> step) {
      Map<String, Transaction> byBucket = new LinkedHashMap<>();
      step.filter(Objects::nonNull).forEach(one -> byBucket.putIfAbsent(one.bucketKey(), one));
      List<Transaction> limited = List.copyOf(byBucket.values());
      Set<String> denied = new HashSet<>();
      if (!limited.isEmpty()) {
        List<Decision> parts = limiter.async().check(limited).toCompletableFuture().join().parts();
        if (parts.stream().anyMatch(Decision::degraded)) { // a failure rule decided, not the store
          throw new CompletionException(new StoreException("the store does not answer"));
        }
        for (int i = 0; i < limited.size(); i++) {
          if (parts.get(i).denied()) {
            denied.add(limited.get(i).bucketKey());
          }
        }
      }
      return denied;
    }

    private List<LimitOverride> setAtRunTime(Limits deployed, Limits next) {
      return RuntimeLimits.added(limiter.limits().get(), deployed).stream()
          .filter(one -> one.name().equals(next.catalogue().find(one.name().name())))
          .filter(one -> Setting.OVERRIDE.fitting(one, next.catalogue()) != null)
          .toList();
    }
  }

  private void note(Caller caller, String result, String detail) {
    audit.note(caller, "http", Noted.of(act), result, detail);
  }

  private void refused(Caller caller, String why) {
    note(caller, "refused", why);
  }

  private AggregatedHttpResponse answer(
      boolean applied, Caller caller, @Nullable List<String> changes) {
    return Answers.json(
        applied ? HttpStatus.OK : HttpStatus.CONFLICT,
        json -> {
          json.put("applied", applied).put("changes", changes);
          GenerationJson.write(generations, caller, json);
        });
  }

  /** {@code POST /v1/admin/rollback}: puts an earlier generation in force until files change. */
  static final class RollbackResource extends ReloadResource {

    private static final String GENERATION = "generation";

    private final Watched limits;

    RollbackResource(Generations generations, AuditLog audit, Executor reloads) {
      super(generations, audit, reloads, "rollback", GENERATION);
      this.limits = generations.of(Kind.LIMITS);
    }

    @Override
    AggregatedHttpResponse act(@Nullable String hash, Caller caller) {
      LimitFilesWatcher files = limits.files();
      List<Past> all = limits.past();
      String active = limits.state().active().hash();
      Past to = hash == null ? before(active, all) : find(hash, all);
      if (files == null || to == null) {
        String why =
            files == null
                ? "the server has no limit files"
                : hash == null
                    ? "the server keeps no earlier generation: none was in force since its start"
                    : "found an unknown generation, expected one of " + listed(all);
        super.refused(caller, why);
        throw new WireException(hash == null ? null : GENERATION, why);
      }
      // The rollback can change every limit, so a token for some limits is not enough.
      to.limits().configured().forEach(name -> caller.requireLimit(name.name()));
      Limits now = inForce(limits);
      now.configured().forEach(name -> caller.requireLimit(name.name()));
      Limits after = to.limits().withoutEnded(Instant.now());
      files.putBack(to.limits(), to.hash());
      super.note(caller, "done", "generation %s of %s".formatted(to.hash(), to.at()));
      return super.answer(
          true, caller, GenerationJson.lines("change", LimitsDiff.between(now, after), caller));
    }

    /** Returns the generation in force before {@code active}; null if it is unknown. */
    private static @Nullable Past before(String active, List<Past> all) {
      for (int i = 0; i < all.size() - 1; i++) {
        if (all.get(i).hash().equals(active)) {
          return all.get(i + 1);
        }
      }
      return null;
    }

    private static @Nullable Past find(String hash, List<Past> all) {
      return all.stream().filter(past -> past.hash().equals(hash)).findFirst().orElse(null);
    }

    private static String listed(List<Past> all) {
      return all.stream()
          .map(past -> "%s (applied %s)".formatted(past.hash(), past.at()))
          .collect(Collectors.joining(", "));
    }
  }
}
