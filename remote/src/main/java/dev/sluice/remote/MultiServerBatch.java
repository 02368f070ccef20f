// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.gcra.Gcra;
import dev.sluice.internal.async.Stages;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.BucketStore.Tentative;
import dev.sluice.store.StoreException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/*
 * A batch over several servers is charged all or nothing without a lock.
 *
 * Each server decides on its part atomically, and takes the tokens that it grants. If all servers
 * grant their parts, the batch is done after one parallel round trip. If one server denies or
 * fails, the tokens of all granted parts are refunded, except tokens that have already refilled
 * (Charge.untilNanos), so a bucket never receives more than was taken. Other refunds to the same
 * bucket reduce what a part can refund, so the limiter, which knows all refunds, computes the
 * refund of each part (Tentative). Until the refund arrives, concurrent callers can be denied for
 * lack of the refunded tokens, but never receive more tokens than the limit allows. If the refund
 * fails too, the tokens stay spent.
 *
 * If the batch has charges that can be denied, a charge that cannot be undone (a refund, a reset)
 * waits until the batch is decided. A waiting charge is sent as a check in the first round trip,
 * and is charged in a second round trip.
 */

/**
 * One batch over the queues of several servers. The batch is used once, by one thread at a time.
 */
final class MultiServerBatch {

  /**
   * Computes each refund as if there were no other refunds, which is correct only if no other
   * caller refunds tokens to the batch's buckets.
   */
  static final Tentative ALONE = Alone::new;

  private final List<Charge> charges;
  private final List<@Nullable Reading> known;
  private final BiFunction<RequestQueue, List<Charge>, Request> send;
  private final BiFunction<RequestQueue, List<Charge>, Request> giveBack;
  private final Tentative tentative;
  private final Tentative.@Nullable Part[] followers;
  private final List<Part> parts = new ArrayList<>();
  private final Reading[] readings;
  private final CompletableFuture<List<Reading>> verdict = new CompletableFuture<>();
  private boolean denied;
  private CompletableFuture<Void> settled = CompletableFuture.completedFuture(null);

  /** The charges for one queue; {@code places} are the indexes of these charges in the batch. */
  private record Part(
      RequestQueue queue, List<Integer> places, List<Charge> asked, Request answer) {

    /** Returns why this part of the batch failed; null if the part did not fail. */
    @Nullable Throwable failure() {
      return answer.isCompletedExceptionally() ? Failures.of(answer) : null;
    }
  }

  /**
   * Creates a batch.
   *
   * @param known for each charge that is certainly denied, the remembered state of its bucket,
   *     otherwise null; one remembered state denies the batch, and all other buckets are only read
   * @param tentative tracks the tokens that the parts of the batch take
   * @param send sends a part of the batch to the queue of its server
   * @param giveBack sends refunds to their queue, with a separate time-out, since the batch's
   *     time-out can already have expired
   */
  MultiServerBatch(
      List<Charge> charges,
      List<@Nullable Reading> known,
      Tentative tentative,
      BiFunction<RequestQueue, List<Charge>, Request> send,
      BiFunction<RequestQueue, List<Charge>, Request> giveBack) {
    this.charges = charges;
    this.known = known;
    this.tentative = tentative;
    this.followers = new Tentative.Part[charges.size()];
    this.send = send;
    this.giveBack = giveBack;
    this.readings = new Reading[charges.size()];
  }

  /**
   * Sends each queue its part of the batch. If one part of the batch fails, refunds the granted
   * parts; the future then fails with the first failure.
   */
  CompletableFuture<List<Reading>> charge(List<RequestQueue> queues) {
    Map<RequestQueue, List<Integer>> places = new LinkedHashMap<>();
    boolean isDenied = false;
    for (int i = 0; i < charges.size(); i++) {
      Reading reading = known.get(i);
      if (reading == null) {
        places.computeIfAbsent(queues.get(i), queue -> new ArrayList<>()).add(i);
      } else {
        readings[i] = reading;
        isDenied = true;
      }
    }
    this.denied = isDenied;
    boolean votes = charges.stream().anyMatch(c -> c.op().votes() && c.incrementNanos() > 0);
    try {
      places.forEach(
          (queue, at) -> {
            List<Charge> asked =
                at.stream()
                    .map(charges::get)
                    .map(c -> denied ? looking(c) : votes ? undoable(c) : c)
                    .toList();
            for (int i = 0; i < asked.size(); i++) {
              if (spends(asked.get(i))) {
                followers[at.get(i)] = tentative.begin(asked.get(i));
              }
            }
            parts.add(new Part(queue, at, asked, send.apply(queue, asked)));
          });
    } catch (Throwable e) { // the parts that were already sent stay spent
      keepTheRest();
      throw e;
    }
    settled =
        all(parts)
            .whenComplete(
                (done, failure) -> settleOrFail(failure == null ? null : Stages.cause(failure)));
    Stages.onEnd(verdict, (readings, failure) -> withdraw(failure));
    return verdict;
  }

  /**
   * Returns a future that is done when no request of the batch is in flight any more. A caller's
   * cancellation does not complete this future.
   */
  CompletableFuture<Void> over() {
    return CompletableFuture.allOf(settled, verdict);
  }

  /** Drops a batch's unsent parts after the caller gave up; tokens of sent parts are refunded. */
  private void withdraw(@Nullable Throwable failure) {
    if (failure != null) {
      parts.forEach(part -> part.answer.withdraw());
    }
  }

  private static Charge looking(Charge charge) {
    return new Charge(
        charge.key(), Op.CHECK, charge.incrementNanos(), charge.offsetNanos(), Effect.NO_END);
  }

  private static Charge undoable(Charge charge) {
    return charge.op() == Op.REFUND || charge.op() == Op.RESET
        ? new Charge(charge.key(), Op.CHECK, 0, charge.offsetNanos(), Effect.NO_END)
        : charge;
  }

  private static CompletableFuture<Void> all(List<Part> parts) {
    return CompletableFuture.allOf(
        parts.stream().map(Part::answer).toArray(CompletableFuture[]::new));
  }

  /**
   * Completes the batch, or refunds its tokens if a part was denied or failed. Passes every
   * exception to the caller; after an exception, tokens not yet refunded stay spent.
   */
  private void settleOrFail(@Nullable Throwable failure) {
    try {
      settle(failure);
    } catch (Throwable e) {
      verdict.completeExceptionally(e);
      keepTheRest();
    }
  }

  private void settle(@Nullable Throwable failure) {
    boolean passes = failure == null && !denied;
    for (Part part : parts) {
      passes &= passes(part);
    }
    if (!passes) {
      parts.forEach(this::giveBack);
    }
    keepTheRest();
    if (failure != null) {
      verdict.completeExceptionally(told(failure));
      return;
    }
    parts.forEach(this::read);
    if (passes) {
      second();
    } else {
      verdict.complete(List.of(readings));
    }
  }

  /**
   * Returns the failure that the caller receives. If a part of the batch took or possibly took
   * tokens, the failure reports an unknown outcome, since the refund of these tokens can be late or
   * fail.
   */
  private Throwable told(Throwable failure) {
    Throwable told = failure;
    ChargeOutcome charged = ChargeOutcome.NOTHING;
    for (Part part : parts) {
      Throwable its = part.failure();
      if (!ChargeOutcome.writes(part.asked) || (its == null && !passes(part))) {
        continue; // this part took no tokens
      }
      if (its == null || !ChargeOutcome.isNothing(its)) {
        charged = ChargeOutcome.UNKNOWN;
        told = its == null ? told : its;
      }
    }
    return charged.said(told);
  }

  private void read(Part part) {
    List<Reading> answer = part.answer.join();
    for (int i = 0; i < answer.size(); i++) {
      readings[part.places.get(i)] = answer.get(i);
    }
  }

  private static boolean passes(Part part) {
    if (part.answer.isCompletedExceptionally()) {
      return false;
    }
    List<Reading> answer = part.answer.join();
    for (int i = 0; i < answer.size(); i++) {
      if (!part.asked.get(i).passes(answer.get(i).nowNanos(), answer.get(i).tatNanos())) {
        return false;
      }
    }
    return true;
  }

  /**
   * Refunds the tokens of a batch's part. No caller waits for the refund. The refund precedes this
   * process's next requests in the queue, so a denied batch does not affect these requests.
   */
  private void giveBack(Part part) {
    if (!passes(part)) {
      return; // a denied part took no tokens; whether a failed part took tokens is unknown
    }
    List<Reading> answer = part.answer.join();
    List<Charge> refunds = new ArrayList<>();
    List<Tentative.Part> refunded = new ArrayList<>();
    for (int i = 0; i < answer.size(); i++) {
      Charge taken = part.asked.get(i);
      Reading found = answer.get(i);
      Tentative.Part follower = followers[part.places.get(i)];
      long ahead = Gcra.aheadNanos(found.nowNanos(), found.tatNanos());
      boolean fits = Gcra.roomNanos(ahead, taken.incrementNanos(), taken.offsetNanos()) >= 0;
      if (follower != null && fits) {
        followers[part.places.get(i)] = null;
        Charge refund = follower.giveBack(found);
        if (refund != null) {
          refunds.add(refund);
          refunded.add(follower);
        }
      }
    }
    if (!refunds.isEmpty()) {
      Stages.onEnd(
          giveBack.apply(part.queue, refunds),
          (readings, failure) -> {
            for (int i = 0; i < refunded.size(); i++) {
              refunded.get(i).gaveBack(failure == null ? readings.get(i) : null);
            }
          });
    }
  }

  private static boolean spends(Charge charge) {
    boolean spends = charge.op() == Op.SPEND || charge.op() == Op.SPEND_ONLY;
    return spends && charge.incrementNanos() > 0;
  }

  /** Notifies the limiter of charges that stay spent or were not made. */
  private void keepTheRest() {
    for (int i = 0; i < followers.length; i++) {
      Tentative.Part follower = followers[i];
      followers[i] = null;
      if (follower != null) {
        follower.kept();
      }
    }
  }

  /**
   * Sends the charges that waited for the batch's decision. The charges' readings (time and TAT)
   * replace the readings before the decision.
   */
  private void second() {
    List<Part> late = new ArrayList<>();
    for (Part part : parts) {
      List<Integer> places = new ArrayList<>();
      for (int i = 0; i < part.places.size(); i++) {
        if (!part.asked.get(i).equals(charges.get(part.places.get(i)))) {
          places.add(part.places.get(i));
        }
      }
      if (!places.isEmpty()) {
        List<Charge> rest = places.stream().map(charges::get).toList();
        late.add(new Part(part.queue, places, rest, send.apply(part.queue, rest)));
      }
    }
    Stages.onEnd(
        all(late),
        (done, failure) -> {
          try {
            secondDone(late, failure);
          } catch (Throwable e) {
            verdict.completeExceptionally(e);
          }
        });
  }

  private void secondDone(List<Part> late, @Nullable Throwable failure) {
    if (failure == null) {
      late.forEach(this::read);
      verdict.complete(List.of(readings));
    } else {
      verdict.completeExceptionally(
          new StoreException(
              "the batch was spent, but a part of its refunds or resets failed", failure));
    }
  }

  /** Refunds the tokens of one charge that have not refilled since the charge. */
  private record Alone(Charge charge) implements Tentative.Part {

    @Override
    public Charge giveBack(Reading found) {
      long aheadNanos = Gcra.aheadNanos(found.nowNanos(), found.tatNanos());
      long untilNanos = found.nowNanos() + aheadNanos + charge.incrementNanos();
      return new Charge(
          charge.key(), Op.REFUND, charge.incrementNanos(), charge.offsetNanos(), untilNanos);
    }

    @Override
    public void gaveBack(@Nullable Reading found) {}

    @Override
    public void kept() {}
  }
}
