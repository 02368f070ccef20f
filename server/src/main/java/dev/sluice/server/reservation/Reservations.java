// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.reservation;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.sluice.AsyncLimiter;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.LimiterObserver;
import dev.sluice.Reservation;
import dev.sluice.Reservation.Costs;
import dev.sluice.Reservation.Settlement;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.async.Retries;
import dev.sluice.internal.async.Stages;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.server.base.RefusedException;
import dev.sluice.server.reservation.Reservations.TokenException.Reason;
import dev.sluice.store.BucketStore;
import dev.sluice.store.StoreException;
import dev.sluice.store.TimeSource;
import dev.sluice.wire.WireException;
import dev.sluice.yaml.internal.LapsingReservations;
import dev.sluice.yaml.internal.LongestReservations;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/*
 * A client can make a reservation at one server, and cancel or settle the reservation at another
 * server. So the reservation's token contains everything that a cancellation or settlement needs
 * (Receipt). The server signs the token with the key that all servers of a fleet share.
 *
 * The bucket store makes sure that a token is used only once. A cancellation or settlement first
 * spends from a bucket with a burst of 1, whose id is the token's nonce. This bucket is not
 * refilled before the token expires, so a second use at any server finds the bucket empty. The
 * server refunds tokens only after the spend from the nonce's bucket. If the server dies before the
 * refund, the reserved tokens stay spent, and nothing is refunded twice.
 *
 * The server that made a reservation keeps the Reservation object, which is more exact than a
 * Receipt: the object knows about other refunds since the reservation. The server keeps the latest
 * reservations, as many as fit into MOST_REMEMBERED. The server refunds expired reservations if
 * their limits say so. While a settlement waits for the store, the server refuses every other use
 * of the settled token, and does not refund the reservation as expired.
 */

/** Makes reservations, and cancels or settles them when clients send the tokens. */
public final class Reservations implements AutoCloseable {

  /** How long a token is valid by default. */
  public static final Duration USUAL_LIFE = LongestReservations.USUAL;

  /** The longest life that a client may request for a token; a limit can allow less. */
  public static final Duration LONGEST_LIFE = LongestReservations.MOST;

  /** The largest number of used tokens that this server marks in the store at a time. */
  public static final int MOST_MARKS = 1_000_000;

  public static final Duration SHORTEST_LIFE = Duration.ofSeconds(1);

  /** The largest allowed clock difference between the servers of a fleet. */
  static final Duration CLOCK_SKEW = Duration.ofMinutes(5);

  /** The most bytes of reservations that this server keeps in memory, counted as encoded tokens. */
  static final int MOST_REMEMBERED = 1 << 20;

  /** The limit of the buckets that mark used tokens; its number must never change. */
  private static final LimitName USED =
      LimitName.builder(2_000_000_003, "reservation.cancel")
          .id(IdFormat.string())
          .jitter(0)
          .build();

  private static final int LOOKED_AT = 2;
  private static final int SHARE_OF_MARKS = 4; // a quarter of the store's buckets

  private final Limiter limiter;
  private final AsyncLimiter async;
  private final AsyncLimiter uses;
  private final TokenKey key;
  private final TimeSource time;
  private final SecureRandom random = new SecureRandom();
  private final Map<String, Remembered> remembered = new LinkedHashMap<>(); // guarded by itself
  // The reservations whose tokens the server returns when they expire, guarded by the lock of
  // remembered. These are forgotten last: without memory, their tokens would stay spent.
  private final Map<String, Remembered> lapsing = new LinkedHashMap<>();
  private int rememberedSize; // guarded by remembered
  private final TreeMap<Long, Set<String>> ends =
      // The nonces of reservations by expiry time, guarded by the lock of remembered.
      new TreeMap<>();
  // The nonces of tokens whose settlement waits for the store, guarded by the lock of remembered.
  private final Set<String> settling = new HashSet<>();
  private long alarmMillis = Long.MAX_VALUE; // guarded by remembered, like the alarm
  private Future<?> alarm = CompletableFuture.completedFuture(null);
  private final Marks marks;
  private final Retries settlements; // settlements whose tokens could not be marked yet
  private final LimiterObserver observer;

  /** Makes the reservations of a server. */
  public Reservations(Limiter limiter, BucketStore store, TokenKey key, LimiterObserver observer) {
    this(limiter, store, key, observer, TimeSource.system(), MOST_MARKS);
  }

  Reservations(
      Limiter limiter,
      BucketStore store,
      TokenKey key,
      LimiterObserver observer,
      TimeSource time,
      int mostMarks) {
    this.limiter = limiter;
    this.async = limiter.async();
    // The limiter that marks used reservation tokens has no observer, since a mark charges no limit
    // of a user, and no failure rule, since a failure rule could accept a token twice.
    this.uses = Limiter.of(store).async();
    this.key = key;
    this.time = time;
    long room = store.maxLiveBuckets().orElse(Long.MAX_VALUE) / SHARE_OF_MARKS;
    this.marks = new Marks((int) Math.min(room, mostMarks));
    this.settlements = new Retries(time::nanos, time::alarm);
    this.observer = observer;
  }

  /** Makes the reservations of a server without an observer. */
  public Reservations(Limiter limiter, BucketStore store, TokenKey key) {
    this(limiter, store, key, new LimiterObserver() {});
  }

  /** A reservation that this server made and keeps in memory. */
  private record Remembered(
      Reservation reservation, long expiresMillis, int size, @Nullable Token lapsing) {}

  /** A decision on a reservation, and the token of the reservation; null after a denial. */
  public record Held(Decision decision, @Nullable String token, Duration life) {}

  /**
   * Parses a reservation token's lifetime.
   *
   * @param text a duration such as {@code 30s} or {@code 10m}; null for {@link #USUAL_LIFE}
   * @return a time from {@link #SHORTEST_LIFE} to {@link #LONGEST_LIFE}
   * @throws WireException if the text is not a duration, or the lifetime is too short or too long
   */
  public static Duration life(@Nullable String text, String field) {
    if (text == null) {
      return USUAL_LIFE;
    }
    Duration life;
    try {
      life = GoDuration.parse(text);
    } catch (IllegalArgumentException e) {
      throw new WireException(field, String.valueOf(e.getMessage()));
    }
    if (life.compareTo(SHORTEST_LIFE) < 0 || life.compareTo(LONGEST_LIFE) > 0) {
      throw new WireException(
          field,
          "found %s, expected a time from %s to %s"
              .formatted(
                  GoDuration.shortened(life),
                  GoDuration.shortened(SHORTEST_LIFE),
                  GoDuration.shortened(LONGEST_LIFE)));
    }
    return life;
  }

  /**
   * Spends the costs, and returns a token to cancel the spend.
   *
   * @param transactions the transactions, each on a different bucket
   * @return the decision, and a token unless the decision is a denial; fails like {@link
   *     AsyncLimiter#reserve(List)}
   * @throws WireException if the token would be too long, or one of the limits allows only a
   *     shorter life
   */
  public CompletionStage<Held> reserve(List<Transaction> transactions, Duration life) {
    int size = Token.requireFits(transactions);
    requireAllowed(transactions, life);
    boolean lapses = transactions.stream().anyMatch(one -> lapses(one.name().name()));
    return async
        .reserve(transactions)
        .thenApply(reservation -> held(reservation, life, size, lapses));
  }

  private void requireAllowed(List<Transaction> transactions, Duration life) {
    Limits limits = limiter.limits().get();
    for (Transaction transaction : transactions) {
      String limit = transaction.name().name();
      Duration longest = LongestReservations.of(limits, limit);
      if (life.compareTo(longest) > 0) {
        throw new WireException(
            "expires",
            "found %s, expected at most %s, the longest reservation of the limit %s; to allow more, set longestReservation: %s in its default"
                .formatted(
                    GoDuration.shortened(life),
                    GoDuration.shortened(longest),
                    limit,
                    GoDuration.shortened(life)));
      }
    }
  }

  private boolean lapses(String limit) {
    return LapsingReservations.giveBack(limiter.limits().get(), limit);
  }

  private Held held(Reservation reservation, Duration life, int size, boolean lapses) {
    if (reservation.denied()) {
      reservation.close();
      return new Held(reservation.decision(), null, life);
    }
    byte[] nonce = new byte[Token.NONCE_BYTES];
    random.nextBytes(nonce);
    List<Token.TokenPart> parts =
        reservation.receipt().parts().stream().map(Token.TokenPart::of).toList();
    Token token =
        new Token(
            Base64.getUrlEncoder().withoutPadding().encodeToString(nonce),
            nowMillis() + life.toMillis(),
            parts);
    remember(
        token.nonce(),
        new Remembered(reservation, token.expiresMillis(), size, lapses ? token : null));
    return new Held(reservation.decision(), token.written(key), life);
  }

  private void remember(String nonce, Remembered latest) {
    long nowMillis = nowMillis();
    int early = 0;
    synchronized (remembered) {
      (latest.lapsing == null ? remembered : lapsing).put(nonce, latest);
      rememberedSize += latest.size;
      if (latest.lapsing != null) {
        ends.computeIfAbsent(latest.expiresMillis, end -> new HashSet<>()).add(nonce);
        setAlarm();
      }
      Iterator<Remembered> oldest = remembered.values().iterator();
      for (int i = 0;
          oldest.hasNext() && (i < LOOKED_AT || rememberedSize > MOST_REMEMBERED);
          i++) {
        Remembered one = oldest.next();
        if (one.expiresMillis <= nowMillis || rememberedSize > MOST_REMEMBERED) {
          forget(oldest, one);
        }
      }
      Iterator<Remembered> last = lapsing.values().iterator();
      for (; rememberedSize > MOST_REMEMBERED; early++) {
        forget(last, last.next());
      }
    }
    for (int i = 0; i < early; i++) {
      observer.settledEarly(MOST_REMEMBERED);
    }
  }

  private void forget(Iterator<Remembered> oldest, Remembered one) {
    oldest.remove();
    removed(one);
    one.reservation.close(); // closes only the object; the token can still be used
  }

  /**
   * Removes the reservation of a token from this server's memory and returns it; null if the memory
   * does not contain it.
   */
  private @Nullable Remembered taken(Token token) {
    synchronized (remembered) {
      Remembered exact = remembered.remove(token.nonce());
      Remembered own = exact == null ? lapsing.remove(token.nonce()) : exact;
      if (own != null) {
        removed(own);
      }
      return own;
    }
  }

  private void removed(Remembered one) {
    rememberedSize -= one.size;
    Token token = one.lapsing;
    if (token != null) {
      ends.computeIfPresent(
          one.expiresMillis,
          (end, nonces) -> nonces.remove(token.nonce()) && nonces.isEmpty() ? null : nonces);
    }
  }

  /** Makes sure that {@link #lapse()} runs when the first reservation in memory expires. */
  private void setAlarm() {
    if (ends.isEmpty() || ends.firstKey() >= alarmMillis) {
      return;
    }
    alarm.cancel(false);
    alarmMillis = ends.firstKey();
    alarm = time.alarm(TimeUnit.MILLISECONDS.toNanos(alarmMillis), this::lapse);
  }

  /** Refunds the reservations that expired unused, if their limits refund expired reservations. */
  private void lapse() {
    List<Remembered> over = new ArrayList<>();
    synchronized (remembered) {
      while (!ends.isEmpty() && ends.firstKey() <= nowMillis()) {
        for (String nonce : Objects.requireNonNull(ends.pollFirstEntry()).getValue()) {
          Remembered one = Objects.requireNonNull(lapsing.remove(nonce));
          rememberedSize -= one.size;
          over.add(one);
        }
      }
      alarmMillis = Long.MAX_VALUE;
      setAlarm();
    }
    over.forEach(this::lapse);
  }

  /** Refunds a reservation that has expired unused; retries while the store is unreachable. */
  private void lapse(Remembered one) {
    try {
      Stages.onEnd(
          lapsed(one),
          (ended, failure) -> {
            if (failure != null
                || !(ended || settlements.add(() -> lapsed(one), () -> staysSpent(one)))) {
              staysSpent(one);
            }
          });
    } catch (RefusedException e) { // the store has no room for a mark
      staysSpent(one);
    }
  }

  private void staysSpent(Remembered one) {
    one.reservation.close();
    observer.settledEarly(MOST_REMEMBERED);
  }

  /** Completes with false if the store is still unreachable. */
  private CompletionStage<Boolean> lapsed(Remembered one) {
    Token token = Objects.requireNonNull(one.lapsing);
    CompletionStage<Void> marking =
        token.charged().isEmpty()
            ? CompletableFuture.completedFuture(null)
            : marked(token, Duration.ZERO);
    return onceMarked(
        marking,
        () ->
            one.reservation
                .cancelAsync(taken -> lapses(taken.name().name()))
                .thenApply(
                    nothing -> {
                      one.reservation.close();
                      return true;
                    }),
        one.reservation::close);
  }

  /**
   * Uses a token once it is marked.
   *
   * @param ifUsed called if another call has already used the token
   * @return true after the use, or if another call has used the token; false if the store is still
   *     unreachable
   */
  private static CompletionStage<Boolean> onceMarked(
      CompletionStage<Void> marking, Supplier<CompletionStage<Boolean>> use, Runnable ifUsed) {
    return marking
        .handle(
            (marked, failure) -> {
              if (failure == null) {
                return use.get();
              }
              if (cause(failure) instanceof TokenException) {
                ifUsed.run();
                return CompletableFuture.completedFuture(true);
              }
              return isAway(failure)
                  ? CompletableFuture.completedFuture(false)
                  : CompletableFuture.<Boolean>failedFuture(failure);
            })
        .thenCompose(ended -> ended);
  }

  /** Returns the bytes of the reservations in memory, counted as for {@link #MOST_REMEMBERED}. */
  int rememberedSize() {
    synchronized (remembered) {
      return rememberedSize;
    }
  }

  /**
   * Refunds the reserved tokens that were not refilled since the reservation.
   *
   * @param access throws for the name of a limit that the caller may not use
   * @return a stage that completes when the tokens are refunded. The stage fails with a {@link
   *     TokenException} if the token is unknown, expired or used, and with a {@link
   *     dev.sluice.store.StoreException} if the store fails. After a store failure, the reserved
   *     tokens stay spent, unless the store made the refund and only its answer was lost
   * @throws RefusedException if the caller may not use one of the limits, or this server has marked
   *     too many used tokens
   */
  public CompletionStage<Void> cancel(String text, Consumer<String> access) {
    Function<Token, CompletionStage<Void>> giveBack =
        token -> {
          Remembered own = taken(token);
          return own == null
              ? async.cancel(token.receipt(limiter.limits().get()))
              : own.reservation.cancelAsync();
        };
    return using(
        text,
        access,
        token -> token.charged().isEmpty() ? giveBack.apply(token) : givenBack(token, giveBack));
  }

  /** Marks a token, and gives back. If the store refused to give back, removes the mark again. */
  private CompletionStage<Void> givenBack(
      Token token, Function<Token, CompletionStage<Void>> giveBack) {
    Duration left = left(token);
    return marked(token, left)
        .thenCompose(
            marked ->
                giveBack
                    .apply(token)
                    .exceptionallyCompose(
                        failure -> {
                          CompletionStage<Void> failed = CompletableFuture.failedFuture(failure);
                          return isAway(failure)
                              ? unmarked(token, left)
                                  .handle((one, other) -> failed)
                                  .thenCompose(f -> f)
                              : failed;
                        }));
  }

  private CompletionStage<Void> unmarked(Token token, Duration left) {
    return uses.refund(mark(token, left))
        .thenAccept(refunded -> marks.remove(token.charged(), endOfMark(token)));
  }

  /** Returns the transaction that marks a token as used; a refund of it removes the mark. */
  private static Transaction mark(Token token, Duration left) {
    return Transaction.of(USED, Quota.per(1, left.plus(CLOCK_SKEW)), token.nonce());
  }

  private static long endOfMark(Token token) {
    return token.expiresMillis() + CLOCK_SKEW.toMillis();
  }

  /**
   * Replaces the reserved costs by the true costs, like {@link Reservation#settle}.
   *
   * @return the tokens charged to each bucket. Nothing is settled if a failure rule made the
   *     reservation and this server does not have it in memory. While the store is unreachable, a
   *     settlement waits in memory. The returned stage fails in the same cases as the stage that
   *     {@link #cancel} returns
   * @throws InvalidRequestException if the costs do not match the reservation's limits; the token
   *     can still be used
   * @throws RefusedException in the cases in which {@link #cancel} throws this exception
   */
  public CompletionStage<Settlement> settle(String text, Consumer<String> access, Costs costs) {
    return using(
        text,
        access,
        token -> {
          if (!token.parts().isEmpty()) {
            costs.requireFor(token.receipt(limiter.limits().get()));
          }
          return token.charged().isEmpty() ? settled(token, costs) : settle(token, costs);
        });
  }

  private CompletionStage<Settlement> settle(Token token, Costs costs) {
    Duration left = left(token);
    return marked(token, left)
        .handle(
            (marked, failure) -> {
              if (failure == null) {
                return settled(token, costs);
              }
              if (isAway(failure)) {
                return waiting(token, left, costs, failure);
              }
              if (cause(failure) instanceof StoreException) {
                observer.settlementLost();
              }
              return CompletableFuture.<Settlement>failedFuture(failure);
            })
        .thenCompose(settlement -> settlement);
  }

  /** Queues a settlement until the store is reachable; its reservation no longer expires. */
  private CompletionStage<Settlement> waiting(
      Token token, Duration left, Costs costs, Throwable failure) {
    String nonce = token.nonce();
    synchronized (remembered) {
      if (!settling.add(nonce)) {
        return waitsAlready();
      }
      if (settlements.add(() -> settleLater(token, left, costs), () -> lost(nonce))) {
        Remembered own = lapsing.remove(nonce);
        if (own != null) {
          removed(own);
          rememberedSize += own.size;
          remembered.put(nonce, new Remembered(own.reservation, own.expiresMillis, own.size, null));
        }
        return CompletableFuture.completedFuture(new Settlement(false, true, List.of()));
      }
    }
    lost(nonce);
    return CompletableFuture.failedFuture(failure);
  }

  private static <T> CompletionStage<T> waitsAlready() {
    return failed(Reason.USED, "a settlement of the reservation waits until the store is back");
  }

  private boolean waits(String nonce) {
    synchronized (remembered) {
      return settling.contains(nonce);
    }
  }

  private void waited(String nonce) {
    synchronized (remembered) {
      settling.remove(nonce);
    }
  }

  private void lost(String nonce) {
    waited(nonce);
    observer.settlementLost();
  }

  /** Retries a settlement; completes with false if the store is still unreachable. */
  private CompletionStage<Boolean> settleLater(Token token, Duration left, Costs costs) {
    return onceMarked(
        marked(token, left),
        () -> { // the limiter counts the lost tokens
          waited(token.nonce());
          return settled(token, costs).handle((settlement, lost) -> true);
        },
        () -> waited(token.nonce()));
  }

  /** Whether a failure proves that the store has changed nothing. */
  private static boolean isAway(Throwable failure) {
    return cause(failure) instanceof StoreException store && store.chargedNothing();
  }

  private static @Nullable Throwable cause(Throwable failure) {
    return failure instanceof CompletionException ? failure.getCause() : failure;
  }

  private CompletionStage<Settlement> settled(Token token, Costs costs) {
    Remembered own = taken(token);
    if (own == null) {
      return token.parts().isEmpty()
          ? CompletableFuture.completedFuture(new Settlement(false, false, List.of()))
          : async.settle(token.receipt(limiter.limits().get()), costs);
    }
    try {
      return own.reservation.settleAsync(costs);
    } catch (InvalidRequestException e) {
      remember(token.nonce(), own);
      throw e;
    }
  }

  /** Checks the signature and the expiry of a token, then calls {@code use} with the token. */
  private <T> CompletionStage<T> using(
      String text, Consumer<String> access, Function<Token, CompletionStage<T>> use) {
    Token token = Token.read(text, key);
    if (token == null) {
      return failed(
          Reason.UNKNOWN,
          "the reservation token was not signed with this server's key; give all servers of a fleet the same --token-key-file");
    }
    token.parts().forEach(part -> access.accept(part.name()));
    if (token.expiresMillis() <= nowMillis()) {
      return failed(
          Reason.EXPIRED, "the reservation has expired, and can no longer be cancelled or settled");
    }
    return waits(token.nonce()) ? waitsAlready() : use.apply(token);
  }

  private Duration left(Token token) {
    return Duration.ofMillis(token.expiresMillis() - nowMillis());
  }

  /**
   * Marks a token as used; fails if the token was already marked. A token that charged no bucket is
   * not marked in the store: only the server that made the reservation can settle it, and this
   * server removes the reservation at the first use.
   *
   * @param left the time until the token expires
   */
  private CompletionStage<Void> marked(Token token, Duration left) {
    long endMillis = endOfMark(token);
    List<String> limits = token.charged();
    marks.add(limits, nowMillis(), endMillis);
    return uses.spend(mark(token, left))
        .whenComplete(
            (first, failure) -> {
              if (failure != null || first.denied()) {
                marks.remove(limits, endMillis);
              }
            })
        .thenCompose(
            first ->
                first.allowed()
                    ? CompletableFuture.completedFuture(null)
                    : failed(Reason.USED, "the reservation was cancelled or settled already"));
  }

  /** Drops the settlements that still wait for the store. */
  @Override
  public void close() {
    settlements.close();
  }

  private static <T> CompletionStage<T> failed(Reason reason, String message) {
    return CompletableFuture.failedFuture(new TokenException(reason, message));
  }

  private long nowMillis() {
    return TimeUnit.NANOSECONDS.toMillis(time.nanos());
  }

  /** Thrown if a token cannot be cancelled or settled; no bucket was changed. */
  public static final class TokenException extends RuntimeException {

    private static final long serialVersionUID = 1;

    /** Why a token cannot be cancelled or settled. */
    public enum Reason {
      /** The token was not signed with the key of this server. */
      UNKNOWN,
      /** The reservation's token has expired. */
      EXPIRED,
      /** The token was cancelled or settled already. */
      USED
    }

    private final Reason reason;

    TokenException(Reason reason, String message) {
      super(message, null, false, false); // an answer to the client, not a fault of the server
      this.reason = reason;
    }

    public Reason reason() {
      return reason;
    }
  }

  /**
   * Counts the used tokens that this server has marked in the store. A token counts until the end
   * of the minute in which the store removes the token's mark. One limit can use at most as many
   * marks as are still free: the first limit half of them, the next one a quarter. So there is
   * always room for limits with few marks. Thread-safe.
   */
  private static final class Marks {

    private static final long MINUTE_MILLIS = TimeUnit.MINUTES.toMillis(1);
    private static final String ALL = ""; // stands for all limits together

    private final int most;

    @GuardedBy("this")
    private final TreeMap<Long, Map<String, Integer>> byMinute = new TreeMap<>();

    @GuardedBy("this")
    private final Map<String, Integer> counts = new HashMap<>();

    /** Makes a counter of at most {@code most} used tokens at a time. */
    Marks(int most) {
      this.most = most;
    }

    /**
     * Counts a used token.
     *
     * @param limits the limits that the token charged
     * @throws RefusedException if one of the limits has used its share of the marks
     */
    synchronized void add(List<String> limits, long nowMillis, long endMillis) {
      Map<Long, Map<String, Integer>> over = byMinute.headMap(nowMillis / MINUTE_MILLIS);
      over.values()
          .forEach(ended -> ended.forEach((limit, marks) -> change(counts, limit, -marks)));
      over.clear();
      for (String limit : limits) {
        if (counts.getOrDefault(limit, 0) >= most - counts.getOrDefault(ALL, 0)) {
          throw full(limit, nowMillis);
        }
      }
      change(limits, endMillis, 1);
    }

    /** Undoes {@link #add} for a mark that the store did not accept. */
    synchronized void remove(List<String> limits, long endMillis) {
      if (byMinute.containsKey(endMillis / MINUTE_MILLIS)) {
        change(limits, endMillis, -1);
      }
    }

    @GuardedBy("this")
    private void change(List<String> limits, long endMillis, int marks) {
      Map<String, Integer> minute =
          byMinute.computeIfAbsent(endMillis / MINUTE_MILLIS, end -> new HashMap<>());
      for (String limit : limits) {
        change(counts, limit, marks);
        change(minute, limit, marks);
      }
      change(counts, ALL, marks);
      change(minute, ALL, marks);
      if (minute.isEmpty()) {
        byMinute.remove(endMillis / MINUTE_MILLIS);
      }
    }

    private static void change(Map<String, Integer> counts, String limit, int marks) {
      counts.merge(limit, marks, (one, other) -> one + other == 0 ? null : one + other);
    }

    @GuardedBy("this")
    private RefusedException full(String limit, long nowMillis) {
      long end =
          byMinute.entrySet().stream()
              .filter(minute -> minute.getValue().containsKey(limit))
              .map(Map.Entry::getKey)
              .findFirst()
              .orElse(nowMillis / MINUTE_MILLIS);
      long fullMillis = (end + 1) * MINUTE_MILLIS - nowMillis;
      return RefusedException.tooManyRequests(
          "too many reservations of the limit %s were cancelled or settled on this server: the server keeps a mark for each until 5 minutes after the token's end; try again later, and reserve with a shorter expires"
              .formatted(limit),
          TimeUnit.MILLISECONDS.toSeconds(fullMillis + TimeUnit.SECONDS.toMillis(1) - 1));
    }
  }
}
