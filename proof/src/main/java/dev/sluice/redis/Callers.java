// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.AsyncLimiter;
import dev.sluice.Decision;
import dev.sluice.Insides;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Reservation;
import dev.sluice.Reservation.Costs;
import dev.sluice.Reservation.Receipt;
import dev.sluice.Reservation.Settlement;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.async.Stages;
import dev.sluice.redis.Reference.Granted;
import dev.sluice.redis.World.Actor;
import dev.sluice.store.StoreException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.IntSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** The callers of one process, which call the process's limiter and react to its answers. */
final class Callers {

  /** The longest time until a settlement ends, if its server is unavailable at first. */
  private static final long SETTLED_LATEST_NANOS = 12_000_000_000L;

  private static final long LOOKS_AGAIN_NANOS = 20_000_000;

  private static final long LONGEST_WAIT_MILLIS = 5_000;
  // The final checks make a call on each bucket, so more buckets would make every run longer.
  private static final int MOST_LOOKED_AFTER = 8;
  static final int CLOSED_AT_ONCE = -1;
  static final int NEVER_CLOSED = -2;

  private final Calls calls;
  private final World world;
  private final IntSupplier lostSettlements;
  private final Fleet fleet;
  private final Reference reference;
  private final Limiter limiter;
  private final AsyncLimiter async;
  private final SimulatedWaiting waiting;
  private final long latencyNanos;
  private final List<Held> neverClosed = new ArrayList<>();
  private final Map<String, Limit> limits = new HashMap<>(); // applications reuse a Limit, too

  Callers(
      Calls calls,
      Limiter limiter,
      SimulatedWaiting waiting,
      long latencyNanos,
      IntSupplier lostSettlements) {
    this.lostSettlements = lostSettlements;
    this.waiting = waiting;
    this.calls = calls;
    this.world = calls.world;
    this.fleet = calls.fleet;
    this.reference = calls.reference;
    this.limiter = limiter;
    this.async = limiter.async();
    this.latencyNanos = latencyNanos;
  }

  private Actor actor(String role) {
    return new Actor("p" + calls.process + "." + role);
  }

  private static long nanos(Instant instant) {
    return instant.getEpochSecond() * 1_000_000_000L + instant.getNano();
  }

  // Calls and their answers

  private <T> @Nullable CompletionStage<T> call(
      Operation operation, Supplier<CompletionStage<T>> call) {
    try {
      return call.get();
    } catch (Throwable e) {
      operation.end("threw");
      world.violated(() -> operation + " threw instead of returning a failed stage: " + e);
      return null;
    }
  }

  /**
   * Makes a call and passes its answer to an action. If the call fails, the {@link Operation}
   * records the failure.
   */
  private <T> void whenAnswered(
      Operation operation, Supplier<CompletionStage<T>> asked, Consumer<T> then) {
    CompletionStage<T> stage = call(operation, asked);
    if (stage != null) {
      onEnd(
          operation,
          stage,
          (answer, failure) -> {
            if (failure == null) {
              then.accept(answer);
            } else {
              operation.failed(failure);
            }
            calls.goOn(operation);
          });
    }
  }

  /**
   * Runs an action when a {@link CompletionStage} ends. Reports an exception of the action as a
   * violation, because the {@code CompletionStage} would hide the exception.
   */
  private <T> void onEnd(
      Operation operation,
      CompletionStage<T> stage,
      BiConsumer<? super T, ? super @Nullable Throwable> action) {
    Stages.onEnd(
        stage,
        (answer, failure) -> {
          try {
            action.accept(answer, failure);
          } catch (Throwable e) {
            world.violated(() -> operation + " was answered, but a check threw " + World.text(e));
          }
        });
  }

  /** Runs a blocking call. The {@link Operation} records an exception of the call. */
  private void blocking(Operation operation, Runnable call) {
    try {
      call.run();
    } catch (StoreException e) {
      operation.failed(e);
    } catch (Throwable e) {
      operation.threw(e);
    }
  }

  // Spends and checks

  void spend(Transaction transaction) {
    Operation operation = calls.begin("spend", List.of(transaction));
    whenAnswered(
        operation,
        () -> async.spend(List.of(transaction)),
        decision -> {
          operation.decided(decision, true);
          if (decision.denied() && isOwn(transaction) && !decision.degraded()) {
            obey(operation, transaction, decision);
          }
        });
  }

  /** Spends up to {@code most} tokens. */
  void spendUpTo(Transaction transaction, long most) {
    Operation operation = calls.begin("spend", List.of(transaction));
    whenAnswered(
        operation,
        () -> async.spendUpTo(transaction, most),
        decision -> {
          operation.took(decision, most);
          if (decision.denied() && isOwn(transaction) && !decision.degraded()) {
            obey(operation, transaction, decision); // here, retryIn is the wait for one token
          }
        });
  }

  /** Spends, and cancels the call after {@code nanos}, as a caller with its own time-out does. */
  void spendAndGiveUp(List<Transaction> transactions, long nanos) {
    transactions.forEach(one -> calls.giveUpOn(one.bucketKey()));
    Operation operation = calls.begin("spend", transactions);
    CompletionStage<Decision> stage = call(operation, () -> async.spend(transactions));
    if (stage == null) {
      return;
    }
    onEnd(
        operation,
        stage,
        (decision, failure) -> {
          if (failure == null) {
            operation.decided(decision, true);
          } else {
            operation.failed(failure);
          }
        });
    world.after(
        nanos,
        actor("impatient"),
        () -> {
          if (transactions.size() == 1 && !stage.toCompletableFuture().isDone()) {
            givesUpSpend(operation, transactions.get(0).bucketKey());
          }
          giveUp(stage);
        });
  }

  /**
   * Records that the only caller of a spend stops waiting, so the process must forget its denials
   * of the bucket.
   */
  private void givesUpSpend(Operation operation, String key) {
    if (!operation.isAlone()) {
      return;
    }
    long made = reference.spentBefore(calls.process, key, world.now());
    if (made > operation.start()) {
      calls.forgot(key, made);
    }
    // A spend that found a debt can still forgive the debt, although its caller has gone.
    if (!calls.conditions.debtsAppear()) {
      calls.takesBack(operation, key);
    }
  }

  private static void giveUp(CompletionStage<?> stage) {
    stage.toCompletableFuture().cancel(false);
  }

  private static boolean isOwn(Transaction transaction) {
    return transaction.id().startsWith("p");
  }

  void batch(List<Transaction> transactions) {
    Operation operation = calls.begin("spend", transactions);
    whenAnswered(
        operation, () -> async.spend(transactions), decision -> operation.decided(decision, true));
  }

  void spendBlocking(Transaction transaction) {
    boolean waited =
        world.blocking(
            () -> {
              Operation operation = calls.begin("blocking spend", List.of(transaction));
              blocking(operation, () -> operation.decided(spent(transaction), true));
            });
    if (!waited) {
      spend(transaction);
    }
  }

  /** Spends with the two synchronous methods for a single bucket, alternately. */
  private Decision spent(Transaction transaction) {
    return calls.number() % 2 == 0
        ? limiter.spend(List.of(transaction))
        : limits
            .computeIfAbsent(transaction.name().name(), limiter::limit)
            .spend(transaction.id(), transaction.cost());
  }

  void check(List<Transaction> transactions) {
    Operation operation = calls.begin("check", transactions);
    whenAnswered(
        operation, () -> async.check(transactions), decision -> operation.decided(decision, false));
  }

  /**
   * Checks a denied transaction again after {@code retryIn}. The store must allow this check if the
   * bucket has not changed since the denial.
   */
  private void obey(Operation denied, Transaction transaction, Decision decision) {
    String key = transaction.bucketKey();
    SimulatedServer server = reference.serverOf(key);
    if (server == null
        || transaction.quotas().size() > 1
        || calls.conditions.clientClocks()
        || decision.retryIn().toMillis() > LONGEST_WAIT_MILLIS
        || fleet.clocksWereStepped()
        || reference.tatNanos(key) != nanos(decision.tat())) { // another call changed the TAT
      return;
    }
    long version = reference.version(key);
    long due = nanos(decision.decidedAt()) + decision.retryInNanos();
    world.at(
        server.clock.whenItShows(due) + 1_000 + calls.conditions.driftNanos(),
        actor("patient"),
        () -> {
          if (isUntouched(key, version)) {
            requireLetIn(denied, transaction, decision, version);
          }
        });
  }

  private boolean isUntouched(String key, long version) {
    return reference.version(key) == version
        && !fleet.clocksWereStepped()
        && !fleet.failedOverLately(); // a failover can change the bucket
  }

  private void requireLetIn(
      Operation denied, Transaction transaction, Decision decision, long version) {
    Operation again = calls.begin("check after the wait", List.of(transaction));
    whenAnswered(
        again,
        () -> async.check(List.of(transaction)),
        answer -> {
          again.end(answer);
          boolean undisturbed = isUntouched(transaction.bucketKey(), version);
          if (answer.denied() && !answer.degraded() && undisturbed) {
            world.violated(
                () ->
                    World.text(
                        "%s was denied again, after its caller had waited for retryIn (%s): %s",
                        denied, decision.retryIn(), answer));
          }
        });
  }

  // Callers that wait

  /**
   * Acquires tokens, and waits for them if necessary.
   *
   * @param longest the longest wait
   * @param nanos the time after which the caller gives up, negative for never
   */
  void acquire(List<Transaction> transactions, Duration longest, long nanos) {
    Operation operation = calls.begin("acquire", transactions, waitNanos(longest));
    CompletionStage<Decision> stage = call(operation, () -> async.acquire(transactions, longest));
    if (stage == null) {
      return;
    }
    onEnd(
        operation,
        stage,
        (decision, failure) -> {
          if (failure == null) {
            operation.passed(decision);
          } else {
            operation.failed(failure);
          }
          calls.goOn(operation);
        });
    if (nanos >= 0) {
      world.after(
          nanos,
          actor("impatient"),
          () -> {
            if (!stage.toCompletableFuture().isDone()) {
              givesUp(operation);
              giveUp(stage);
            }
          });
    }
  }

  /** Acquires tokens on the caller's thread. A caller gives up by an interrupt of its thread. */
  void acquireBlocking(List<Transaction> transactions, Duration longest, long nanos) {
    boolean waited =
        world.blocking(
            () -> {
              Operation operation =
                  calls.begin("blocking acquire", transactions, waitNanos(longest));
              waiting.interruptAt(nanos < 0 ? Long.MAX_VALUE : world.now() + nanos);
              try {
                operation.passed(limiter.acquire(transactions, longest));
              } catch (InterruptedException e) {
                operation.end("interrupted");
                givesUp(operation);
              } catch (StoreException e) {
                operation.failed(e);
              } catch (Throwable e) {
                operation.threw(e);
              } finally {
                waiting.interruptAt(Long.MAX_VALUE);
              }
            });
    if (!waited) {
      acquire(transactions, longest, nanos);
    }
  }

  private static long waitNanos(Duration longest) {
    Duration most = SimulatedLimits.W.longestWait();
    return (longest.compareTo(most) < 0 ? longest : most).toNanos();
  }

  /**
   * Records that a caller gives up. When the store has answered the caller's spend, the limiter
   * returns the spent tokens.
   */
  private void givesUp(Operation asked) {
    calls.waitGivenUp();
    List<Transaction> transactions = asked.transactions();
    long nanos =
        calls.conditions.hasFaults()
            ? calls.conditions.timeoutNanos()
            : 2 * calls.afewMessages(); // first for the spend, then for the withdrawal
    for (Transaction one : transactions) {
      reference.lines().leaves(one.bucketKey(), asked.start(), nanos);
    }
    Operation operation = calls.begin("give up", transactions);
    world.after(
        nanos,
        actor("observer"),
        () -> {
          operation.end("done");
          transactions.forEach(one -> reference.lines().left(one.bucketKey()));
          transactions.forEach(one -> requireNothingLost(operation, one.bucketKey()));
        });
  }

  private void requireNothingLost(Operation operation, String key) {
    if (calls.conditions.processes() == 1
        && !calls.conditions.hasFaults()
        && !calls.conditions.clientClocks()
        && reference.lines().isCalm(key)
        && !reference.lines().mayStayTaken(key)) {
      reference.requireNothingLost(operation, key);
    }
  }

  // Calls that return tokens

  void refund(List<Transaction> transactions) {
    Operation operation = calls.begin("refund", transactions);
    whenAnswered(operation, () -> async.refund(transactions), operation::refunded);
  }

  void reset(List<Transaction> transactions) {
    Operation operation = calls.begin("reset", transactions);
    whenAnswered(operation, () -> async.reset(transactions), done -> operation.wasReset());
  }

  /** A reservation, and the operation that made the reservation. */
  record Held(Operation made, Reservation reservation) {}

  /**
   * Reserves tokens, and cancels the reservation later.
   *
   * @param millis the time until the cancellation, or {@link #CLOSED_AT_ONCE}, or {@link
   *     #NEVER_CLOSED}
   * @param cancel cancels the reservation
   */
  void reserve(List<Transaction> transactions, int millis, Consumer<Held> cancel) {
    Operation operation = calls.begin("reserve", transactions);
    whenAnswered(
        operation,
        () -> async.reserve(transactions),
        reservation -> {
          operation.decided(reservation.decision(), true);
          if (millis == CLOSED_AT_ONCE) {
            reservation.close();
            cancelOnceMore(reservation); // the reservation is closed, so its tokens stay spent
          } else if (millis == NEVER_CLOSED) {
            neverClosed.add(new Held(operation, reservation));
          } else {
            world.after(
                millis * 1_000_000L,
                actor("holder"),
                () -> cancel.accept(new Held(operation, reservation)));
          }
        });
  }

  void reserve(List<Transaction> transactions, int millis) {
    reserve(transactions, millis, this::cancel);
  }

  /**
   * Makes one reservation of a series. If calls can overtake each other, the reservations are
   * cancelled in an order that differs from the order of the calls.
   *
   * @param number the number of this reservation, from 0
   * @param again the number of reservations whose callers spend again soon after the cancellation
   */
  void reserveOneOfSeveral(Transaction transaction, int millis, int number, int again) {
    long shuffled = (calls.number() * 7L + number * 5L) % 11 * (latencyNanos / 4);
    long later = calls.conditions.callsOvertake() ? shuffled : 0;
    reserve(
        List.of(transaction),
        millis,
        held ->
            world.after(
                later,
                actor("holder"),
                () -> {
                  cancel(held);
                  if (number < again) {
                    long soon = (calls.number() * 3L + number * 7L) % 13 * (latencyNanos / 4);
                    world.after(soon, actor("holder"), () -> spend(transaction));
                  }
                }));
  }

  void cancel(Held held) {
    Operation operation = calls.begin("cancel", held.made.transactions());
    var granted = held.made.granted().values();
    granted.forEach(reference::cancelled);
    if (held.reservation.decision().degraded()) {
      held.made.transactions().forEach(calls.local::cancelled);
    }
    whenAnswered(
        operation,
        held.reservation::cancelAsync,
        done -> {
          operation.end("done");
          operation.requireGivenBack(held.made, granted);
        });
    cancelOnceMore(held.reservation);
    held.reservation.close(); // a try-with-resources block also closes after a cancellation
  }

  /**
   * Settles a reservation of one limit at the given true cost, and checks the reported settlement.
   * The reported tokens must add up to the true cost, and a server must have charged the tokens
   * beyond the reservation. A settlement that waits for a server must later reach the server, or be
   * reported as lost.
   */
  void settle(Held held, long cost) {
    if (held.reservation.decision().degraded()) {
      held.reservation.close(); // LocalReference cannot cancel a part of a spend
      return;
    }
    List<Transaction> buckets = held.made.transactions();
    String limit = buckets.get(0).name().name();
    long tokens = buckets.get(0).cost();
    long begin = world.now();
    int lostBefore = lostSettlements.getAsInt();
    List<@Nullable Long> askedBefore = askedAt(buckets);
    Operation operation = calls.begin("settle", buckets, SETTLED_LATEST_NANOS);
    if (cost < tokens) {
      held.made.granted().values().forEach(spend -> reference.settled(spend, cost, tokens));
    }
    whenAnswered(
        operation,
        () -> held.reservation.settleAsync(Costs.of(limit, cost).allowZero()),
        settlement -> {
          if (settlement.waiting()) {
            endOnceSettled(
                operation,
                settlement,
                () -> {
                  List<@Nullable Long> askedNow = askedAt(buckets);
                  boolean isForgotten =
                      IntStream.range(0, buckets.size())
                          .anyMatch(i -> Objects.equals(askedBefore.get(i), askedNow.get(i)));
                  if (cost > tokens && lostSettlements.getAsInt() == lostBefore && isForgotten) {
                    world.violated(() -> operation + " waited for a server, but was never sent");
                  }
                });
            return;
          }
          operation.end(settlement);
          if (settlement.settled() == held.reservation.denied()) {
            String wrong = settlement.settled() ? " settled a denied" : " did not settle a granted";
            world.violated(() -> operation + wrong + " reservation: " + settlement);
          }
          // A settlement has no part for an unlimited bucket, and no part for a bucket that could
          // not be read.
          boolean isWhole =
              !calls.conditions.limitsChange()
                  && (cost > tokens || !calls.conditions.callsMayFail());
          if (settlement.settled() && isWhole && settlement.parts().size() != buckets.size()) {
            world.violated(() -> operation + " must have one part for each bucket: " + settlement);
          }
          for (Settlement.Part part : settlement.parts()) {
            requireSettled(operation, bucketOf(part, buckets), cost, part, begin);
          }
        });
    cancelOnceMore(held.reservation);
    held.reservation.close();
  }

  /** Returns the server's time of this process's latest charge, for each bucket. */
  private List<@Nullable Long> askedAt(List<Transaction> buckets) {
    List<@Nullable Long> asked = new ArrayList<>();
    buckets.forEach(one -> asked.add(reference.askedAt(calls.process, one.bucketKey())));
    return asked;
  }

  /** Returns the transaction whose quota equals the quota of {@code part} of a settlement. */
  private static Transaction bucketOf(Settlement.Part part, List<Transaction> buckets) {
    return buckets.stream()
        .filter(one -> Objects.equals(one.quota(), part.transaction().quota()))
        .findFirst()
        .orElse(buckets.get(0));
  }

  /** Ends an operation as soon as none of the limiter's settlements waits for a server. */
  private void endOnceSettled(Operation operation, Settlement settlement, Runnable then) {
    if (Insides.settlesLater(limiter)) {
      world.after(
          LOOKS_AGAIN_NANOS, actor("observer"), () -> endOnceSettled(operation, settlement, then));
    } else {
      operation.end(settlement);
      then.run();
    }
  }

  private void requireSettled(
      Operation operation, Transaction one, long cost, Settlement.Part part, long begin) {
    long tokens = one.cost();
    boolean givesBack = cost < tokens;
    long more = part.charged() - tokens;
    boolean isRight =
        givesBack
            ? part.cut() == 0
                && part.charged() >= cost
                && part.charged() + part.givenBack() == tokens
            : part.givenBack() == 0 && more >= 0 && part.charged() + part.cut() == cost;
    Quota quota = Objects.requireNonNull(one.quota());
    if (!isRight
        || (more > 0
            && !reference.wasSpentSince(
                calls.process, one.bucketKey(), quota.incrementNanos(more), begin))) {
      world.violated(
          () ->
              World.text(
                  "%s at the cost %d reports tokens that do not add up or were not charged: %s",
                  operation, cost, part));
    }
  }

  /** Reserves tokens, and lets another process cancel the reservation by its receipt. */
  void reserveFor(Callers elsewhere, Transaction transaction, int millis) {
    Operation operation = calls.begin("reserve", List.of(transaction));
    whenAnswered(
        operation,
        () -> async.reserve(List.of(transaction)),
        reservation -> {
          operation.decided(reservation.decision(), true);
          Receipt receipt = reservation.receipt();
          reservation.close();
          world.after(
              millis * 1_000_000L,
              elsewhere.actor("holder"),
              () -> elsewhere.cancel(operation, receipt));
        });
  }

  private void cancel(Operation made, Receipt receipt) {
    Operation operation = calls.begin("receipt", made.transactions());
    var granted = made.granted().values();
    granted.forEach(reference::cancelled);
    receipt.parts().forEach(part -> reference.cancelsElsewhere(calls.process, part, granted));
    whenAnswered(
        operation,
        () -> async.cancel(receipt),
        done -> {
          operation.end("done");
          operation.requireGivenBack(made, granted);
        });
  }

  /** Cancels a settled reservation once more, which must not refund any token. */
  private static void cancelOnceMore(Reservation settled) {
    var unused = settled.cancelAsync();
  }

  /** Cancels a part of a reservation on the caller's thread. */
  void cancelSome(Held held, Predicate<Transaction> which) {
    if (!world.blocking(() -> waitForCancel(held, which))) {
      held.reservation.close();
    }
  }

  private void waitForCancel(Held held, Predicate<Transaction> which) {
    List<Transaction> some = held.made.transactions().stream().filter(which).toList();
    Operation operation = calls.begin("blocking cancel", some);
    List<Granted> cancelled = new ArrayList<>();
    held.made
        .granted()
        .forEach(
            (transaction, granted) -> {
              if (which.test(transaction)) {
                reference.cancelled(granted);
                cancelled.add(granted);
              }
            });
    if (held.reservation.decision().degraded()) {
      some.forEach(calls.local::cancelled);
    }
    blocking(
        operation,
        () -> {
          held.reservation.cancel(which);
          operation.end("done");
          operation.requireGivenBack(held.made, cancelled);
        });
  }

  // The end of the run

  /**
   * Makes further reservations on the buckets of unclosed reservations. With each further
   * reservation, the limiter forgets up to two old reservations whose tokens have refilled.
   *
   * @param open the number of reservations that the limiter tracks
   * @return false if this run does not allow further reservations
   */
  boolean reserveAgain(int open) {
    List<Transaction> again =
        neverClosed.stream()
            .flatMap(held -> held.made.granted().keySet().stream())
            .map(one -> one.withCost(1))
            .distinct()
            .toList();
    if (open > MOST_LOOKED_AFTER
        || calls.conditions.hasFaults() // the limiter tracks a failed refund for a long time
        || again.stream().anyMatch(one -> Reference.isFresh(one.bucketKey()))) {
      return false;
    }
    for (Transaction one : again) {
      for (int i = 0; i < 2 * open + 2; i++) { // also enough for reservations in flight
        calls.nextStep();
        reserve(List.of(one), CLOSED_AT_ONCE);
      }
    }
    return true;
  }

  void closeAll() {
    neverClosed.forEach(held -> held.reservation.close());
    neverClosed.clear();
  }

  /** Receives the result of a call. */
  interface Outcome {
    void of(Operation operation, @Nullable Decision decision, @Nullable Throwable failure);
  }

  void ask(String verb, Transaction transaction, Outcome outcome) {
    Operation operation = calls.begin(verb, List.of(transaction));
    CompletionStage<Decision> stage = call(operation, () -> async.spend(List.of(transaction)));
    if (stage != null) {
      onEnd(operation, stage, (decision, failure) -> outcome.of(operation, decision, failure));
    }
  }
}
