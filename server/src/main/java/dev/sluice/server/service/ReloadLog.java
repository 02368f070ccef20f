// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement;
import dev.sluice.micrometer.LimiterMetrics;
import dev.sluice.rules.RuleBook;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.admin.LimitsDiff;
import dev.sluice.server.base.FailureLog.OutOfMemory;
import dev.sluice.server.base.Generations;
import dev.sluice.server.base.Generations.Kind;
import dev.sluice.server.base.Generations.State;
import dev.sluice.server.base.Generations.Watched;
import dev.sluice.server.base.Plurals;
import dev.sluice.yaml.Problem;
import dev.sluice.yaml.ReloadListener;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * Logs each reload of the limit files, and updates the metrics.
 *
 * @param overrides the file of overrides, which has separate metrics; null if there is no such file
 * @param first receives the limits of each load before these limits are counted
 */
record ReloadLog(LimiterMetrics metrics, @Nullable Path overrides, Consumer<Limits> first)
    implements ReloadListener {

  private static final Logger log = LoggerFactory.getLogger(ReloadLog.class);

  void tellLoaded(Instant at) {
    metrics.filesLoaded(at);
    if (overrides != null) {
      metrics.overridesLoaded(at);
    }
  }

  @Override
  public void loaded(Instant at, Limits limits, List<Problem> warnings) {
    first.accept(limits);
    long defaults =
        limits.catalogue().names().stream().filter(n -> limits.defaultFor(n) != null).count();
    tellLoaded(at);
    int rules = RuleBook.of(limits).size();
    log.atLevel(warnings.isEmpty() ? Level.INFO : Level.WARN)
        .log(
            "limits loaded: {}, {}{}{}",
            Plurals.of(defaults, "default"),
            Plurals.of(limits.overrides().size(), "override"),
            rules == 0 ? "" : ", " + Plurals.of(rules, "rule"),
            list(warnings));
  }

  @Override
  public void failed(Instant at, List<Problem> problems) {
    metrics.filesFailed(problems.size());
    if (overrides != null) {
      String file = overrides.toString();
      long mistakes = problems.stream().filter(problem -> problem.file().equals(file)).count();
      metrics.overridesFailed(Math.toIntExact(mistakes));
    }
    log.error("limits not loaded; the previous ones stay in force{}", list(problems));
  }

  /** Counts an unexpected failure to read the files, which the files' watcher has logged. */
  @Override
  public void broke(Instant at, Throwable failure) {
    OutOfMemory.report(failure);
    metrics.filesBroke();
  }

  static String list(List<Problem> problems) {
    return problems.isEmpty()
        ? ""
        : problems.stream().map(Problem::toString).collect(Collectors.joining("; ", ": ", ""));
  }

  /**
   * Records each generation of the files of one kind with its changes, writes the outcome to the
   * audit log, and calls another listener. Not thread-safe.
   */
  static final class GenerationLog implements ReloadListener {

    private static final String RELOAD = "reload of the files";

    /** The most changes of one reload that are logged and kept. */
    private static final int MOST_CHANGES = 50;

    private final Kind kind;
    private final Watched generations;
    private final AuditLog audit;
    private final ReloadListener next;
    private Limits last;
    private String hash = Generations.NONE;

    GenerationLog(
        Generations generations, Kind kind, Limits loaded, AuditLog audit, ReloadListener next) {
      this.last = loaded;
      this.kind = kind;
      this.generations = generations.of(kind);
      this.audit = audit;
      this.next = next;
    }

    @Override
    public void offered(Instant at, String newHash) {
      hash = newHash;
      next.offered(at, newHash);
    }

    @Override
    public void loaded(Instant at, Limits limits, List<Problem> warnings) {
      // Only the first load, at startup, finds no earlier generation.
      boolean first = generations.state().active().hash().equals(Generations.NONE);
      boolean changed = !generations.state().active().hash().equals(hash);
      List<String> changes = changes(limits);
      generations.applied(
          hash, at, warnings.stream().map(Problem::toString).toList(), limits, changes);
      if (changed && !first) {
        audit.noteServer(RELOAD, "done", "generation %s of the %s".formatted(hash, kind.word()));
      }
      next.loaded(at, limits, warnings);
      changes.forEach(change -> log.info("changed: {}", change));
    }

    @Override
    public void putBack(Instant at, Limits limits, String earlier) {
      List<String> changes = changes(limits);
      generations.putBack(earlier, at, hash, changes);
      log.warn("generation {} of the {} is in force by a rollback", earlier, kind.word());
      next.putBack(at, limits, earlier);
      changes.forEach(change -> log.info("changed: {}", change));
    }

    private List<String> changes(Limits limits) {
      List<String> all = LimitsDiff.between(last, limits);
      last = limits;
      int more = all.size() - MOST_CHANGES;
      return more <= 0
          ? all
          : Stream.concat(
                  all.stream().limit(MOST_CHANGES),
                  Stream.of("%s further changes; sluice diff lists all".formatted(more)))
              .toList();
    }

    @Override
    public void failed(Instant at, List<Problem> problems) {
      List<String> mistakes = problems.stream().map(Problem::toString).toList();
      generations.refused(hash, at, mistakes);
      audit.noteServer(RELOAD, "refused", String.join("; ", mistakes));
      next.failed(at, problems);
    }

    @Override
    public void broke(Instant at, Throwable failure) {
      next.broke(at, failure);
    }
  }

  /** Registers meters of the generation in force and of the generation read last. */
  static final class GenerationMeters {

    private static final double MILLIS_PER_SECOND = 1e3;
    private static final int HEXADECIMAL = 16;

    private GenerationMeters() {}

    /** Registers the meters of the limit files, and the meters of saved overrides and penalties. */
    static void register(Generations generations, MeterRegistry registry) {
      register(generations, Kind.LIMITS, registry);
      Gauge.builder(
              "sluice.generation.put.back",
              generations.of(Kind.LIMITS),
              files -> files.isPutBack() ? 1 : 0)
          .description("1 if a rollback is in force, 0 if the files are in force")
          .register(registry);
      registerMistakes("runtime", generations, all -> all.mistakesBeside().size(), registry);
    }

    static void register(Generations generations, Kind kind, MeterRegistry registry) {
      Watched files = generations.of(kind);
      register(kind, "active", files, s -> s.active().since(), s -> s.active().hash(), registry);
      register(kind, "offered", files, s -> s.offered().at(), s -> s.offered().hash(), registry);
      registerMistakes(
          kind.word(), files, watched -> watched.state().offered().mistakes().size(), registry);
    }

    private static <T> void registerMistakes(
        String of, T counted, ToDoubleFunction<T> mistakes, MeterRegistry registry) {
      Gauge.builder("sluice.generation.mistakes", counted, mistakes)
          .description("Mistakes in the files read last, and in saved overrides and penalties")
          .tag("files", of)
          .register(registry);
    }

    private static void register(
        Kind kind,
        String which,
        Watched files,
        Function<State, Instant> since,
        Function<State, String> hash,
        MeterRegistry registry) {
      Gauge.builder(
              "sluice.generation.age.seconds",
              files,
              watched -> secondsSince(since.apply(watched.state())))
          .description("Age of the generation in force, and of the generation read last")
          .tag("files", kind.word())
          .tag("generation", which)
          .register(registry);
      Gauge.builder("sluice.generation.hash", files, watched -> number(hash.apply(watched.state())))
          .description("Hash of all files of a generation, to compare servers; 0 without files")
          .tag("files", kind.word())
          .tag("generation", which)
          .register(registry);
    }

    private static double secondsSince(Instant since) {
      return Duration.between(since, Clock.systemUTC().instant()).toMillis() / MILLIS_PER_SECOND;
    }

    /** Returns a hash as a number. The twelve hexadecimal digits of a hash fit into a double. */
    private static double number(String hash) {
      return hash.equals(Generations.NONE) ? 0 : Long.parseLong(hash, HEXADECIMAL);
    }
  }

  /**
   * Reports to the metrics which limits the rules name, so that requests for a named limit without
   * a default quota are counted. Not thread-safe.
   */
  static final class NamedByRules implements Consumer<Limits> {

    private final CurrentLimits limits;
    private List<Requirement> declared = List.of();

    NamedByRules(CurrentLimits limits) {
      this.limits = limits;
    }

    @Override
    public void accept(Limits loaded) {
      List<Requirement> before = declared;
      declared = RuleBook.of(loaded).requirements();
      limits.require(declared);
      limits.release(before);
    }
  }

  /** Logs each reload of the tokens or the certificates in one line. */
  record CredentialsLog(Kind kind, Runnable broken) implements ReloadListener {

    private static final Logger log = LoggerFactory.getLogger(CredentialsLog.class);

    @Override
    public void loaded(Instant at, Limits limits, List<Problem> warnings) {
      log.atLevel(warnings.isEmpty() ? Level.INFO : Level.WARN)
          .log("{} loaded{}", kind.word(), ReloadLog.list(warnings));
    }

    @Override
    public void failed(Instant at, List<Problem> problems) {
      log.error(
          "{} not loaded; the previous ones stay in force{}{}",
          kind.word(),
          kind == Kind.TOKENS
              ? " (tokens removed from a file that still lists others are refused)"
              : "",
          ReloadLog.list(problems));
    }

    /** Counts an unexpected failure, which the watcher has logged. */
    @Override
    public void broke(Instant at, Throwable failure) {
      OutOfMemory.report(failure);
      broken.run();
    }
  }
}
