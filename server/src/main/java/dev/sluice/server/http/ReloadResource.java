// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.fasterxml.jackson.core.JsonGenerator;
import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.access.AuditLog.Noted;
import dev.sluice.server.access.Caller;
import dev.sluice.server.admin.LimitsDiff;
import dev.sluice.server.base.Generations;
import dev.sluice.server.base.Generations.Files;
import dev.sluice.server.base.Generations.Kind;
import dev.sluice.server.base.Generations.Past;
import dev.sluice.server.base.Generations.Watched;
import dev.sluice.server.http.LimitResource.GenerationJson;
import dev.sluice.server.http.MethodService.Resource;
import dev.sluice.server.stats.Denials;
import dev.sluice.wire.WireException;
import dev.sluice.yaml.LimitFilesException;
import dev.sluice.yaml.Problem;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * {@code POST /v1/admin/reload}: reads all watched files, and the saved overrides and penalties.
 * Answers 200 if all were applied, and otherwise 409 with every mistake. Even then, each kind of
 * files without a mistake is applied. With {@code dryRun=true} it applies nothing, and answers what
 * a reload would change.
 */
class ReloadResource extends Resource {

  private static final String DRY_RUN = "dryRun";

  private final Generations generations;
  private final AuditLog audit;
  private final Executor reloads;
  private final String act;
  private final String parameter;
  private Function<Limits, String> effect = next -> "";

  /**
   * Makes the resource.
   *
   * @param reloads runs the reload, which may block
   * @param limiter looks at the buckets of ids, for a dry run
   * @param denials has the ids that were denied last, if they are kept
   */
  ReloadResource(
      Generations generations, AuditLog audit, Executor reloads, Limiter limiter, Denials denials) {
    this(generations, audit, reloads, "reload", DRY_RUN);
    this.effect =
        next -> new DryRunEffect(limiter, denials).of(inForce(generations.of(Kind.LIMITS)), next);
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
    return CompletableFuture.supplyAsync(
        () -> {
          if (context.isCancelled()) {
            refused(caller, Fault.TOO_LATE);
            return Answers.fault(Fault.notReady(Fault.TOO_LATE));
          }
          return act(value, caller);
        },
        context.makeContextAware(reloads));
  }

  /** Acts, on a thread that may block. */
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
    return answer(applied, caller, json -> {});
  }

  private AggregatedHttpResponse dryRun(Caller caller) {
    List<String> mistakes = new ArrayList<>();
    List<String> changes = new ArrayList<>();
    String[] said = {""};
    for (Kind kind : Kind.values()) {
      Watched watched = generations.of(kind);
      Files files = watched.files();
      if (files != null) {
        try {
          Limits next = files.read();
          if (kind == Kind.LIMITS) {
            changes.addAll(LimitsDiff.between(inForce(watched), next));
            said[0] = effect.apply(next);
          }
        } catch (LimitFilesException e) {
          e.problems().stream().map(Problem::toString).forEach(mistakes::add);
        }
      }
    }
    return Answers.json(
        mistakes.isEmpty() ? HttpStatus.OK : HttpStatus.CONFLICT,
        json -> {
          json.writeStartObject();
          json.writeBooleanField("applied", false);
          GenerationJson.writeLines("mistakes", "mistake", mistakes, caller, json);
          GenerationJson.writeLines("changes", "change", changes, caller, json);
          json.writeStringField("effect", said[0]);
          GenerationJson.write(generations, caller, json);
          json.writeEndObject();
        });
  }

  /** Returns the limits of the files in force, without the overrides that have ended since. */
  private static Limits inForce(Watched watched) {
    String hash = watched.state().active().hash();
    return watched.past().stream()
        .filter(past -> past.hash().equals(hash))
        .findFirst()
        .orElse(watched.past().get(0))
        .limits()
        .withoutEnded(Instant.now());
  }

  /** The ids that would be denied at once by other limits. Blocks on the store. */
  private record DryRunEffect(Limiter limiter, Denials denials) {

    /** How many buckets are read in one call of the store. */
    private static final int STEP = 100;

    /** Returns a sentence about the ids that were denied last. */
    String of(Limits deployed, Limits next) {
      if (!denials.keepsLast()) {
        return "which ids would be denied is not known; start the server with --top-denied";
      }
      Limits with = next.withOverrides(setAtRunTime(deployed, next));
      Map<String, Transaction> now = new LinkedHashMap<>();
      Map<String, Transaction> then = new LinkedHashMap<>();
      denials.forEachLast(
          (limit, id) -> {
            put(limiter.limits().get(), limit, id, now);
            put(with, limit, id, then);
          });
      try {
        OptionalLong deniedNow = denied(now.values());
        OptionalLong deniedThen = denied(then.values());
        if (deniedNow.isPresent() && deniedThen.isPresent()) {
          return "of %s ids denied last, %s are denied now, and %s would be"
              .formatted(now.size(), deniedNow.getAsLong(), deniedThen.getAsLong());
        }
      } catch (CompletionException e) {
        // The store does not answer, and the limit has no failure rule.
      }
      return "which ids would be denied is not known: the store does not answer";
    }

    private List<LimitOverride> setAtRunTime(Limits deployed, Limits next) {
      Limits current = limiter.limits().get();
      return current.configured().stream()
          .filter(name -> name.equals(next.catalogue().find(name.name())))
          .flatMap(
              name ->
                  current.overridesOf(name).stream()
                      .filter(one -> !deployed.overridesOf(name).contains(one)))
          .toList();
    }

    private static void put(
        Limits limits, String limit, String id, Map<String, Transaction> transactions) {
      try {
        Transaction one = Transaction.of(limits, limit, id);
        transactions.put(limit + ' ' + id, one);
      } catch (InvalidRequestException e) {
        // The limit is gone or has other ids: it denies nothing.
      }
    }

    /** Counts the denied ones; returns nothing if a failure rule decided instead of the store. */
    private OptionalLong denied(Collection<Transaction> transactions) {
      List<Transaction> limited = transactions.stream().filter(one -> one.quota() != null).toList();
      long denied = 0;
      for (int from = 0; from < limited.size(); from += STEP) {
        List<Transaction> step = limited.subList(from, Math.min(limited.size(), from + STEP));
        List<Decision> parts = limiter.async().check(step).toCompletableFuture().join().parts();
        if (parts.stream().anyMatch(Decision::degraded)) {
          return OptionalLong.empty();
        }
        denied += parts.stream().filter(Decision::denied).count();
      }
      return OptionalLong.of(denied);
    }
  }

  private void note(Caller caller, String result, String detail) {
    audit.note(caller, "http", Noted.of(act), result, detail);
  }

  private void refused(Caller caller, String why) {
    note(caller, "refused", why);
  }

  /** Writes further fields of the answer. */
  private interface Fields {
    void write(JsonGenerator json) throws IOException;
  }

  private AggregatedHttpResponse answer(boolean applied, Caller caller, Fields more) {
    return Answers.json(
        applied ? HttpStatus.OK : HttpStatus.CONFLICT,
        json -> {
          json.writeStartObject();
          json.writeBooleanField("applied", applied);
          more.write(json);
          GenerationJson.write(generations, caller, json);
          json.writeEndObject();
        });
  }

  /**
   * {@code POST /v1/admin/rollback}: puts limits, names, overrides of files and rules of an earlier
   * generation in force, until the content of the files changes or the server restarts.
   */
  static final class RollbackResource extends ReloadResource {

    private static final String GENERATION = "generation";

    private final Watched limits;

    RollbackResource(Generations generations, AuditLog audit, Executor reloads) {
      super(generations, audit, reloads, "rollback", GENERATION);
      this.limits = generations.of(Kind.LIMITS);
    }

    @Override
    AggregatedHttpResponse act(@Nullable String hash, Caller caller) {
      Files files = limits.files();
      List<Past> all = limits.past();
      String active = limits.state().active().hash();
      Past to = hash == null ? before(active, all) : find(hash, all);
      if (files == null || to == null) {
        String why =
            files == null
                ? "the server has no limit files"
                : hash == null
                    ? "no earlier generation is kept since the start of the server"
                    : "found no such generation, expected one of " + listed(all);
        super.refused(caller, why);
        throw new WireException(hash == null ? null : GENERATION, why);
      }
      // The generation may change every limit, so a token for some limits is not enough.
      to.limits().configured().forEach(name -> caller.requireLimit(name.name()));
      Limits now = inForce(limits);
      now.configured().forEach(name -> caller.requireLimit(name.name()));
      Limits after = to.limits().withoutEnded(Instant.now());
      files.putBack(to);
      super.note(caller, "done", "generation %s of %s".formatted(to.hash(), to.at()));
      return super.answer(
          true,
          caller,
          json ->
              GenerationJson.writeLines(
                  "changes", "change", LimitsDiff.between(now, after), caller, json));
    }

    /** Returns the generation that was applied before the one in force; null if none is kept. */
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
