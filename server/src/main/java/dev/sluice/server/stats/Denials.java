// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.stats;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.sluice.Decision;
import dev.sluice.LimiterObserver;
import dev.sluice.Transaction;
import dev.sluice.limit.LimitName;
import dev.sluice.server.base.Json;
import dev.sluice.server.base.JsonLines;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Receives denials from all protocols of the server, writes them to the {@linkplain DenialLog
 * denial log}, and keeps the last denials of each id.
 *
 * <p>The code of each protocol reports its denials, since only this code knows the request. An
 * exception is a series of Redis commands that the limiter decides in one call ({@link
 * #decideSeries}): the limiter reports the denials of the series. The limiter reports all allowed
 * spends to this class. From a sample of the allowed spends, this class finds the ids that are
 * charged most, for the first {@link TopDenied#MOST_LIMITS} limits. Shadow trials and checks are
 * ignored, since they deny no request. Thread-safe; never blocks.
 */
public final class Denials implements LimiterObserver {

  private static final Denials NONE = new Denials(null, false);

  /** Of this number of allowed spends, on average one spend is in the sample. */
  private static final int SAMPLED = 16;

  /** The value of {@link Denial#decidedBy} if a rule denies all matching requests. */
  private static final String RULE = "rule";

  /** The value of {@link Denial#decidedBy} for a request for which no limit can be charged. */
  private static final String REQUEST = "request";

  /** Whether this thread decides a series of Redis commands. */
  private static final ThreadLocal<Boolean> IN_SERIES = ThreadLocal.withInitial(() -> false);

  private final @Nullable DenialLog log;
  private final @Nullable LastDenials last;
  private final @Nullable TopDenied charged;

  private Denials(@Nullable DenialLog log, boolean keepsLast) {
    this.log = log;
    this.last = keepsLast ? new LastDenials() : null;
    this.charged = keepsLast ? new TopDenied() : null;
  }

  public static Denials none() {
    return NONE;
  }

  /** Returns a receiver that writes denials to {@code log}, unless {@code log} is null. */
  public static Denials to(@Nullable DenialLog log, boolean keepsLast) {
    return log == null && !keepsLast ? NONE : new Denials(log, keepsLast);
  }

  /** Whether the last denials of each id are kept; otherwise {@link #last} is always empty. */
  public boolean keepsLast() {
    return last != null;
  }

  /** Returns the last denials of a canonical id, at most ten, the newest first. */
  public List<Denial> last(String limit, String id) {
    return last == null ? List.of() : last.of(limit, id);
  }

  /** Calls {@code each} with the limit and the canonical form of each id that is charged most. */
  public void forEachCharged(BiConsumer<String, String> each) {
    if (charged != null) {
      charged.top().forEach((limit, ids) -> ids.forEach(one -> each.accept(limit, one.id())));
    }
  }

  /** Calls {@code each} with the limit and the canonical id of each id that was denied recently. */
  public void forEachLast(BiConsumer<String, String> each) {
    if (last != null) {
      last.forEach(each);
    }
  }

  /**
   * Drops all ids and denials that are ten minutes old, or will be before the next call. Must be
   * called once per {@link TopDenied#FORGET_EVERY}.
   */
  public void forget() {
    if (charged != null) {
      charged.forget();
    }
    if (last != null) {
      last.forget(Instant.now().plus(TopDenied.FORGET_EVERY));
    }
  }

  /**
   * Returns the text that the denial log shows for a canonical id: the id or its hash; empty if
   * there is no denial log.
   */
  public String idInLog(String id) {
    return log == null ? "" : log.shown(id);
  }

  /** Whether this receiver discards all denials, so that callers need not report denials. */
  public boolean isOff() {
    return log == null && last == null;
  }

  /**
   * A denied request, with the details that the code of its protocol knows.
   *
   * @param door the protocol, as {@code http}, {@code grpc}, {@code resp} or {@code forward-auth}
   * @param path the request's path without the query, null if the path is unknown
   * @param rule the file and line of the rule that matched, null for none
   */
  public record DeniedRequest(
      String door, @Nullable String method, @Nullable String path, @Nullable String rule) {

    /** Makes a request. */
    public DeniedRequest {
      method = method == null ? null : JsonLines.shown(method);
      path = path == null ? null : JsonLines.shown(path);
      rule = rule == null ? null : JsonLines.shown(rule);
    }

    /**
     * Returns a denied request; removes the query from {@code target}.
     *
     * @param method the HTTP method; null or empty if it is unknown
     * @param target the path, perhaps with a query; null or empty if it is unknown
     */
    public static DeniedRequest of(
        String door, @Nullable String method, @Nullable String target, @Nullable String rule) {
      String path = target == null ? "" : target.split("[?#]", 2)[0];
      return new DeniedRequest(
          door,
          method == null || method.isEmpty() ? null : method,
          path.isEmpty() ? null : path,
          rule);
    }

    private static final DeniedRequest RESP = at("resp");

    /** Returns a denied request for which only the protocol is known. */
    public static DeniedRequest at(String door) {
      return new DeniedRequest(door, null, null, null);
    }
  }

  /**
   * One denial.
   *
   * @param limit the name of the limit, null if no limit denied
   * @param id the bucket's canonical id, null if no limit denied
   * @param retryInNanos the wait until the request's cost can be spent; 0 if waiting does not help
   * @param decidedBy what denied the request: {@code store}, {@code rule}, {@code request}, or the
   *     name of a failure rule
   * @param penalized whether a penalty made the bucket count as empty
   */
  public record Denial(
      Instant at,
      DeniedRequest asked,
      @Nullable String limit,
      @Nullable String id,
      long cost,
      long retryInNanos,
      String decidedBy,
      boolean penalized) {

    public void write(@Nullable String shownId, Json json) {
      json.put("at", at)
          .put("door", asked.door())
          .put("method", asked.method())
          .put("path", asked.path())
          .put("rule", asked.rule());
      if (limit != null) {
        json.put("limit", limit)
            .put("id", shownId == null ? null : JsonLines.shown(shownId))
            .put("cost", cost);
        if (retryInNanos > 0) {
          json.putSeconds("retryInSeconds", retryInNanos);
        }
      }
      json.put("decidedBy", decidedBy).put("penalty", penalized ? true : null);
    }

    /** Returns the length of all texts. */
    private int characters() {
      return Stream.of(asked.method(), asked.path(), asked.rule(), id)
          .mapToInt(text -> text == null ? 0 : text.length())
          .sum();
    }

    static Denial of(Decision part, Transaction transaction, DeniedRequest asked) {
      return new Denial(
          Instant.now(),
          asked,
          transaction.name().name(),
          transaction.id(),
          transaction.cost(),
          part.retryInNanos(),
          part.decidedBy().word(),
          part.penalty() != null);
    }
  }

  /** Reports each denied transaction of a decision; does nothing if the request was allowed. */
  public void report(Decision decision, Supplier<DeniedRequest> asked) {
    if (isOff() || decision.allowed()) {
      return;
    }
    DeniedRequest request = asked.get();
    for (Decision part : decision.parts()) {
      Transaction transaction = part.transaction();
      if (part.denied() && transaction != null && !transaction.isShadow()) {
        add(Denial.of(part, transaction, request));
      }
    }
  }

  /** Reports a denial: {@code cost}, instead of the transaction's cost, exceeds the burst. */
  public void reportNeverFits(Transaction transaction, long cost, DeniedRequest asked) {
    add(
        new Denial(
            Instant.now(),
            asked,
            transaction.name().name(),
            transaction.id(),
            cost,
            0,
            REQUEST,
            false));
  }

  /**
   * Reports a request that was denied without a limit.
   *
   * @param byRule whether a rule denies the request; otherwise no limit can be charged for the
   *     request, for example because a value makes no valid id
   */
  public void reportWithoutLimit(boolean byRule, DeniedRequest asked) {
    add(new Denial(Instant.now(), asked, null, null, 0, 0, byRule ? RULE : REQUEST, false));
  }

  private void add(Denial denial) {
    if (log != null) {
      log.add(denial);
    }
    if (last != null && denial.limit() != null && denial.id() != null) {
      last.add(denial.limit(), denial.id(), denial);
    }
  }

  /**
   * Decides a series of Redis commands, of which the limiter reports the denials. The limiter calls
   * {@link #decided} in place of {@link #spent} for a spend on a bucket with a debt, and for a
   * spend that a failure rule decides.
   */
  public void decideSeries(Runnable decide) {
    if (isOff()) {
      decide.run();
      return;
    }
    IN_SERIES.set(true);
    try {
      decide.run();
    } finally {
      IN_SERIES.set(false);
    }
  }

  @Override
  public void decided(Act act, Decision decision, long elapsedNanos) {
    if (act == Act.SPEND && decision.denied() && IN_SERIES.get()) {
      report(decision, () -> DeniedRequest.RESP);
    }
    if (charged != null && act == Act.SPEND && decision.allowed() && isSampled()) {
      for (Decision part : decision.parts()) {
        count(part.transaction(), charged);
      }
    }
  }

  private static void count(@Nullable Transaction transaction, TopDenied charged) {
    if (transaction != null
        && transaction.quota() != null
        && transaction.cost() > 0
        && !transaction.isShadow()) {
      charged.count(transaction.name().name(), transaction.id(), transaction.cost());
    }
  }

  private static boolean isSampled() {
    return ThreadLocalRandom.current().nextInt(SAMPLED) == 0;
  }

  @Override
  public void spent(LimitName limit, Spent spends, long elapsedNanos) {
    for (int i = 0; i < spends.count(); i++) {
      if (!spends.allowed(i)) {
        report(spends.decision(i), () -> DeniedRequest.RESP);
      } else if (charged != null && isSampled()) {
        count(spends.decision(i).transaction(), charged);
      }
    }
  }

  /**
   * The last denials of each id, in at most 8 MB; evicts the id whose last denial is oldest.
   * Thread-safe.
   */
  static final class LastDenials {

    static final int MOST_OF_ONE = 10;
    static final int MOST = 10_000;
    static final int MOST_CHARACTERS = 2_000_000;

    private static final Duration KEPT = TopDenied.WINDOW.multipliedBy(2);

    @GuardedBy("this")
    private final Map<DeniedBucket, Deque<Denial>> byBucket = new LinkedHashMap<>(16, 0.75f, true);

    @GuardedBy("this")
    private int size;

    @GuardedBy("this")
    private int characters;

    private record DeniedBucket(String limit, String id) {}

    synchronized void add(String limit, String id, Denial denial) {
      Deque<Denial> denials =
          byBucket.computeIfAbsent(new DeniedBucket(limit, id), bucket -> new ArrayDeque<>(1));
      denials.addFirst(denial);
      size++;
      characters += denial.characters();
      if (denials.size() > MOST_OF_ONE) {
        removeLast(denials);
      }
      Iterator<Deque<Denial>> oldest = byBucket.values().iterator();
      while (size > MOST || characters > MOST_CHARACTERS) {
        Deque<Denial> dropped = oldest.next();
        while (!dropped.isEmpty()) {
          removeLast(dropped);
        }
        oldest.remove();
      }
    }

    @GuardedBy("this")
    private void removeLast(Deque<Denial> denials) {
      size--;
      characters -= denials.removeLast().characters();
    }

    /** Drops the denials that are older than ten minutes at {@code when}. */
    synchronized void forget(Instant when) {
      Instant oldest = when.minus(KEPT);
      for (Iterator<Deque<Denial>> each = byBucket.values().iterator(); each.hasNext(); ) {
        Deque<Denial> denials = each.next();
        while (!denials.isEmpty() && denials.getLast().at().isBefore(oldest)) {
          removeLast(denials);
        }
        if (denials.isEmpty()) {
          each.remove();
        }
      }
    }

    /** Calls a consumer once for each limit and id for which this object keeps a denial. */
    void forEach(BiConsumer<String, String> each) {
      List<DeniedBucket> buckets;
      synchronized (this) {
        buckets = List.copyOf(byBucket.keySet());
      }
      buckets.forEach(bucket -> each.accept(bucket.limit, bucket.id));
    }

    synchronized List<Denial> of(String limit, String id) {
      DeniedBucket bucket = new DeniedBucket(limit, id);
      return byBucket.containsKey(bucket) ? List.copyOf(byBucket.get(bucket)) : List.of();
    }
  }
}
