// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

import dev.sluice.proof.memory.History.Schedule;
import dev.sluice.proof.memory.Op.Part;
import dev.sluice.proof.memory.Op.Verb;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/** Generates random histories for the simulator. Only one thread can use a generator. */
final class Generator {

  private static final List<Verb> ACTS =
      List.of(
          Verb.SPEND,
          Verb.SPEND,
          Verb.SPEND,
          Verb.SPEND,
          Verb.SPEND_ONLY,
          Verb.SPEND_UP_TO,
          Verb.CHECK,
          Verb.REFUND,
          Verb.RESET);
  private static final long MILLI = 1_000_000;

  private final Random random;
  private List<Verb> acts = ACTS;
  private int tickOdds; // on average, one in this many calls moves the clock
  private boolean brimful; // whether calls first fill the store, completely or nearly
  // Whether the clock moves so far that the store's upkeep runs while tokens refill.
  private boolean slow;

  Generator(Random random) {
    this.random = random;
  }

  /**
   * Returns a history without thread changes. The scheduler chooses the thread changes during the
   * run. Half of the histories use only two or three kinds of operations, so that calls of these
   * kinds often overlap. In each history, the clock moves at a different rate.
   */
  History next() {
    acts = random.nextBoolean() ? ACTS : someActs();
    boolean back = random.nextInt(8) == 0;
    // A crowded history has so many keys that lines of slots in the store's table become full, and
    // the store must move buckets.
    boolean crowded = random.nextInt(4) == 0;
    brimful = random.nextInt(3) == 0 && !back;
    int keys = crowded ? 18 + random.nextInt(7) : (brimful ? 2 : 1) + random.nextInt(5);
    boolean bounded = random.nextInt(2) == 0 && !back;
    int fewest = crowded ? keys / 2 : 1;
    long bound = bounded ? fewest + random.nextInt(keys - fewest + 2) : 1_000;
    bound = brimful ? fewest + random.nextInt(keys - fewest) : bound;
    tickOdds = back ? 3 : 2 + random.nextInt(8);
    slow = random.nextInt(brimful ? 2 : 8) == 0;
    int burst = (1 + random.nextInt(4)) * (slow ? 1_000 : 1);
    Setup setup = new Setup(bound, keys, burst, back ? 1_000 * MILLI : 0);
    boolean snapshots = random.nextInt(16) == 0 && !back && !crowded;
    int threads = 2 + random.nextInt(3);
    // Whether the table is crowded when the threads start (0) or becomes crowded later (1).
    int crowding = random.nextInt(2);
    List<Op> filling = brimful ? filled(setup) : List.of();
    List<List<Op>> all = new ArrayList<>();
    for (int i = 0; i <= threads; i++) {
      List<Op> ops = new ArrayList<>();
      if (brimful && i < 2) { // these calls fill the store before or while the threads run
        int alone = crowded && crowding == 1 ? 1 : filling.size();
        ops.addAll(i == 0 ? filling.subList(0, alone) : filling.subList(alone, filling.size()));
      } else if (crowded && i == crowding) {
        ops.addAll(many(setup));
      }
      int count = i == 0 ? random.nextInt(back ? 12 : 5) : 1 + random.nextInt(4);
      for (int n = 0; n < count; n++) {
        ops.add(op(setup, snapshots && i == 1 && n == 0));
      }
      all.add(ops);
    }
    return new History(setup, all, new Schedule(random.nextBoolean(), List.of()));
  }

  private List<Verb> someActs() {
    List<Verb> some = new ArrayList<>(List.of(Verb.SPEND));
    for (int i = 1 + random.nextInt(2); i > 0; i--) {
      some.add(ACTS.get(random.nextInt(ACTS.size())));
    }
    return some;
  }

  private Op op(Setup setup, boolean snapshot) {
    if (snapshot) {
      return Op.snapshot();
    }
    if (random.nextInt(tickOdds) == 0) {
      return Op.tick(tick(setup));
    }
    if (brimful && setup.keys() > 1 && random.nextInt(4) == 0) {
      return exchange(setup);
    }
    int size =
        random.nextInt(3) == 0
            ? 2 + random.nextInt(3)
            : 1; // two of three calls use only one bucket
    List<Part> parts = new ArrayList<>();
    List<Integer> keys = new ArrayList<>();
    boolean twice = random.nextInt(100) == 0;
    for (int i = 0; i < size; i++) {
      int key = random.nextInt(setup.keys());
      if (twice || !keys.contains(key)) {
        keys.add(key);
        Verb act = acts.get(random.nextInt(acts.size()));
        int cost = act == Verb.RESET ? 0 : random.nextInt(setup.burst() + 1);
        if (act == Verb.SPEND_UP_TO) {
          return Op.charge(List.of(new Part(act, key, Math.max(cost, 1))));
        }
        parts.add(new Part(act, key, cost));
      }
    }
    return Op.charge(parts);
  }

  /**
   * Returns a batch that resets or refunds one bucket. In two of three cases, the batch also spends
   * from a second bucket, which may not exist yet.
   */
  private Op exchange(Setup setup) {
    int dying = random.nextInt(setup.keys());
    int born = (dying + 1 + random.nextInt(setup.keys() - 1)) % setup.keys();
    Part death =
        random.nextBoolean()
            ? new Part(Verb.RESET, dying, 0)
            : new Part(Verb.REFUND, dying, setup.burst());
    if (random.nextInt(3) == 0) {
      return Op.charge(List.of(death));
    }
    Part birth = new Part(Verb.SPEND, born, 1 + random.nextInt(setup.burst()));
    return Op.charge(random.nextBoolean() ? List.of(death, birth) : List.of(birth, death));
  }

  /**
   * Returns up to four batches that spend from most keys, so that segments of the store's table
   * split.
   */
  private List<Op> many(Setup setup) {
    int most = 1 + random.nextInt(4);
    List<List<Part>> batches = new ArrayList<>();
    for (int i = 0; i < most; i++) {
      batches.add(new ArrayList<>());
    }
    for (int key = 0; key < setup.keys(); key++) {
      if (random.nextInt(4) > 0) {
        int cost = 1 + random.nextInt(setup.burst());
        batches.get(random.nextInt(most)).add(new Part(Verb.SPEND, key, cost));
      }
    }
    return batches.stream().filter(parts -> !parts.isEmpty()).map(Op::charge).toList();
  }

  /**
   * Returns calls that create as many buckets as the store can hold, or one bucket less. Some
   * buckets soon refill completely, so that a call that needs a new bucket can replace a full
   * bucket.
   */
  private List<Op> filled(Setup setup) {
    List<Integer> keys = new ArrayList<>();
    for (int key = 0; key < setup.keys(); key++) {
      keys.add(key);
    }
    Collections.shuffle(keys, random);
    int missing = random.nextBoolean() && setup.bound() > 1 ? 1 : 0;
    List<Integer> live = keys.subList(0, (int) setup.bound() - missing);
    int alone = Math.min(1 + random.nextInt(3), live.size());
    List<Op> ops = new ArrayList<>();
    for (int key : live.subList(0, alone)) {
      int cost = random.nextBoolean() ? 1 : 1 + random.nextInt(setup.burst());
      ops.add(Op.charge(List.of(new Part(Verb.SPEND, key, cost))));
    }
    List<Part> others = new ArrayList<>();
    for (int key : live.subList(alone, live.size())) {
      others.add(new Part(Verb.SPEND, key, random.nextInt(8) == 0 ? 1 : setup.burst()));
    }
    if (!others.isEmpty()) {
      ops.add(Op.charge(others));
    }
    if (slow || random.nextBoolean()) {
      ops.add(Op.tick(slow ? tickOfUpkeep() : Setup.TOKEN_NANOS));
    }
    return ops;
  }

  /**
   * Returns a step of the clock that is long enough for the store's upkeep to run and for some
   * buckets to refill completely.
   */
  private long tickOfUpkeep() {
    return MILLI + random.nextInt((int) MILLI);
  }

  private long tick(Setup setup) {
    if (slow && setup.keptNanos() == 0 && random.nextInt(4) > 0) {
      return tickOfUpkeep();
    }
    long forward =
        switch (random.nextInt(4)) {
          case 0 -> 1 + random.nextInt(2_000);
          case 1 -> Setup.TOKEN_NANOS;
          case 2 -> 2 * MILLI; // after this step, the store's upkeep runs
          default -> setup.burst() * Setup.TOKEN_NANOS;
        };
    return setup.keptNanos() > 0 && random.nextBoolean() ? -forward : forward;
  }
}
