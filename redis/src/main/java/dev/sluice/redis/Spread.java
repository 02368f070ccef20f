// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.async.Stages;
import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.gcra.Gcra;
import dev.sluice.store.BucketStore.Tentative;
import dev.sluice.store.Charge;
import dev.sluice.store.Reading;
import dev.sluice.store.StoreException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/*
 * A batch over several servers, all or nothing without a lock.
 *
 * Each server decides on its part at one moment, and takes what it grants. If all grant, that was
 * it: one round trip, side by side. If one denies or fails, what the others took is given back, at
 * most what has not been refilled since (Charge.untilNanos), so a bucket never gets more than
 * was taken. What else is given back on that bucket counts as well: the caller of the store follows
 * each part, and says what to give back (Tentative). Between the two a concurrent observer may see
 * tokens missing that come back a moment later, and be denied for it; it never sees a token too
 * many. If giving back fails too, the tokens stay spent: the error is on the strict side.
 *
 * Where the batch has charges that vote, a charge that cannot be taken back (a refund, a reset)
 * waits for their verdict. It is a check at first, and is charged in a second round.
 */

/** One batch over several lanes. Used once, by one thread after the other. */
final class Spread {

  /** Follows nothing: right where nobody else gives back on these buckets. */
  static final Tentative ALONE = Alone::new;

  private final List<Charge> charges;
  private final List<@Nullable Reading> known;
  private final BiFunction<Lane, List<Charge>, Request> send;
  private final BiFunction<Lane, List<Charge>, Request> giveBack;
  private final Tentative tentative;
  private final Tentative.@Nullable Part[] followers;
  private final List<Part> parts = new ArrayList<>();
  private final Reading[] readings;
  private final CompletableFuture<List<Reading>> verdict = new CompletableFuture<>();
  private boolean denied;
  private CompletableFuture<Void> settled = CompletableFuture.completedFuture(null);

  /** The charges of one lane, by their places in the batch. */
  private record Part(Lane lane, List<Integer> places, List<Charge> asked, Request answer) {

    /** Why it failed, null where it was answered. */
    @Nullable Throwable failure() {
      return answer.isCompletedExceptionally() ? Failures.of(answer) : null;
    }
  }

  /**
   * A batch.
   *
   * @param known what is known already to be denied, null for the others: then the batch is denied,
   *     and only looks at the others
   * @param tentative follows what the parts take
   * @param send how a part gets to its lane
   * @param giveBack how refunds do that nobody waits for: with a time-out of their own, since that
   *     of the batch may be over
   */
  Spread(
      List<Charge> charges,
      List<@Nullable Reading> known,
      Tentative tentative,
      BiFunction<Lane, List<Charge>, Request> send,
      BiFunction<Lane, List<Charge>, Request> giveBack) {
    this.charges = charges;
    this.known = known;
    this.tentative = tentative;
    this.followers = new Tentative.Part[charges.size()];
    this.send = send;
    this.giveBack = giveBack;
    this.readings = new Reading[charges.size()];
  }

  /** Sends each lane its part; fails with the first part's failure, after giving back. */
  CompletableFuture<List<Reading>> charge(List<Lane> lanes) {
    Map<Lane, List<Integer>> places = new LinkedHashMap<>();
    boolean isDenied = false;
    for (int i = 0; i < charges.size(); i++) {
      Reading reading = known.get(i);
      if (reading == null) {
        places.computeIfAbsent(lanes.get(i), lane -> new ArrayList<>()).add(i);
      } else {
        readings[i] = reading;
        isDenied = true;
      }
    }
    this.denied = isDenied;
    boolean votes = charges.stream().anyMatch(c -> c.op().votes() && c.incrementNanos() > 0);
    try {
      places.forEach(
          (lane, at) -> {
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
            parts.add(new Part(lane, at, asked, send.apply(lane, asked)));
          });
    } catch (Throwable e) { // what was sent stays spent
      keepTheRest();
      throw e;
    }
    settled = all(parts).whenComplete((done, failure) -> settleOrFail(Failures.cause(failure)));
    Stages.onEnd(verdict, (readings, failure) -> withdraw(failure));
    return verdict;
  }

  /**
   * Done when nothing is under way any more, even if the caller that waited for the verdict gave
   * up.
   */
  CompletableFuture<Void> over() {
    return CompletableFuture.allOf(settled, verdict);
  }

  /**
   * The caller gave up: parts that were not sent yet are dropped, and what the sent parts take is
   * given back.
   */
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

  /** What is thrown reaches the caller, and what was not given back by then stays spent. */
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
   * The failure that says most of what is not known. What was taken is perhaps given back too late,
   * or never, so nobody can say then that nothing was charged.
   */
  private Throwable told(Throwable failure) {
    Throwable told = failure;
    Charged charged = Charged.NOTHING;
    for (Part part : parts) {
      Throwable its = part.failure();
      if (!Charged.writes(part.asked) || (its == null && !passes(part))) {
        continue; // took nothing
      }
      if (its == null || !Charged.isNothing(its)) {
        charged = Charged.UNKNOWN;
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
   * Nobody waits for it: it stands in the lane's queue before whatever this process sends next, so
   * a denied batch leaves no trace for those who come after it here.
   */
  private void giveBack(Part part) {
    if (!passes(part)) {
      return; // a part that denied took nothing; of one that failed nobody knows
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
          giveBack.apply(part.lane, refunds),
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

  /** Tells the followers of charges that stay spent, or were not made. */
  private void keepTheRest() {
    for (int i = 0; i < followers.length; i++) {
      Tentative.Part follower = followers[i];
      followers[i] = null;
      if (follower != null) {
        follower.kept();
      }
    }
  }

  /** Charges what had to wait, and reads again what was found there. */
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
        late.add(new Part(part.lane, places, rest, send.apply(part.lane, rest)));
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

  /** Gives back what has not been refilled since. */
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
