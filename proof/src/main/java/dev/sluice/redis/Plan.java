// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.redis.Fleet.Topology;
import dev.sluice.redis.Step.Kind;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * The plan of one simulated run: the topology of its servers, its settings, and its timed steps. A
 * plan is made from a seed or read from a file. The plan's seed also decides how long messages and
 * timers take.
 *
 * @param settings the settings by name, such as the number of processes
 */
record Plan(long seed, Topology topology, Map<String, Integer> settings, List<Step> steps) {

  private static final String PROCESSES = "processes";
  private static final String LATENCY = "latencyMicros";
  static final String TIMEOUT = "timeoutMillis"; // 0: the default time-out
  // if the value is 1, the run continues after the steps until no process tracks any call
  static final String LINGERS = "lingers";
  private static final long MILLI = 1_000_000;
  private static final int PARTNERS = 4; // number of buckets that stay empty
  // Indexes of four limits of SimulatedLimits:
  private static final int EMPTY_FOR_LONG = 2; // refills one token an hour
  private static final int MAY_WAIT = 3; // lets callers wait for tokens
  private static final int SEVERAL = 4; // has several quotas
  private static final int SEVERAL_MAY_WAIT = 5; // has several quotas, and lets callers wait

  /** The kinds of calls that can use every limit with several quotas. */
  private static final Set<Kind> OF_ANY_LIMIT =
      EnumSet.of(
          Kind.SPEND,
          Kind.SPEND_UP_TO,
          Kind.SPEND_GIVEN_UP,
          Kind.SPEND_BLOCKING,
          Kind.CHECK,
          Kind.REFUND,
          Kind.RESET,
          Kind.RESERVE,
          Kind.RESERVE_TOGETHER,
          Kind.RESERVE_BLOCKING,
          Kind.PENALTY);

  /** The kinds of calls that can use the limit SEVERAL, but not the limit SEVERAL_MAY_WAIT. */
  private static final Set<Kind> OF_NO_WAITED =
      EnumSet.of(Kind.RESERVE_SETTLED, Kind.LEASE, Kind.LEASE_CLOSE);

  /**
   * Makes a plan from a seed. Some plans have no faults, or only one kind of fault, because a
   * violation is easier to explain in a simple plan.
   */
  static Plan random(long seed) {
    Dice dice = new Dice(seed);
    Topology topology =
        dice.one(
            Topology.SINGLE, Topology.SINGLE, Topology.RING, Topology.SENTINEL, Topology.CLUSTER);
    if (dice.fork(1).chance(20)) { // a fork keeps the plans of all other seeds
      topology = Topology.DATABASE;
    }
    int processes = 1 + dice.below(4);
    Map<String, Integer> settings = new TreeMap<>();
    settings.put(PROCESSES, processes);
    settings.put(LATENCY, dice.one(20, 100, 100, 500, 5_000));
    boolean sameLimits = dice.chance(50); // all processes have the same limits, and keep them
    settings.put("limitsDiffer", !sameLimits && dice.chance(60) ? 1 : 0);
    settings.put("onFailure", dice.below(4)); // 0: fail, 1: allow, 2: deny, 3: local
    settings.put("clocksDiffer", dice.below(2));
    boolean byClients = sameLimits && dice.chance(20) && topology != Topology.DATABASE;
    settings.put("clientClocks", byClients ? 1 : 0); // 1: buckets use the clocks of the processes
    settings.put("pacesDiffer", dice.below(2)); // 1: the clocks of the processes drift
    boolean waiting = dice.chance(40);
    settings.put("overtaking", dice.below(2)); // 1: a call can overtake an earlier call
    boolean leases = settings.get("onFailure") == 0 && !byClients && dice.chance(50);
    settings.put("leases", leases ? 1 : 0);
    if (settings.get("onFailure") < 3 && !leases && dice.chance(30)) {
      settings.put("onFailureOfB", 1 + dice.below(3)); // 1: fail, 2: allow, 3: deny
    } else if (!leases && dice.chance(40)) {
      settings.put("rulesDiffer", 1 + dice.below(3)); // each process has another failure rule
    }
    if (!waiting && dice.chance(30)) {
      settings.put("alike", 1); // the shared ids use the same slot of the denial memory
    }
    int millis = dice.one(300, 1_000, 3_000);
    Traffic traffic = Traffic.random(dice, millis * MILLI, settings.get(LATENCY) * 1_000L);
    List<Step> steps = new ArrayList<>();
    int calls = dice.one(20, 100, 400);
    // the chance, in percent, that the plan uses a kind of call or fault; with fewer kinds, steps
    // of two given kinds overlap more often
    int share = dice.one(10, 20, 40);
    Set<Kind> kinds = some(dice, CALLS, share);
    kinds.add(Kind.SPEND);
    if (sameLimits) {
      kinds.removeAll(EnumSet.of(Kind.LIMITS, Kind.OVERRIDES));
    }
    if (settings.get("leases") == 0) {
      kinds.removeAll(EnumSet.of(Kind.LEASE, Kind.LEASE_CLOSE));
    }
    if (byClients) { // a receipt needs a clock that the processes share
      kinds.remove(Kind.RESERVE_ELSEWHERE);
    }
    kinds.removeAll(WAITING);
    if (waiting) {
      kinds.add(Kind.ACQUIRE);
      kinds.addAll(some(dice, WAITING, 40));
    }
    boolean several = !byClients && dice.chance(40);
    for (int i = 0; i < calls; i++) {
      Kind kind = dice.one(kinds.toArray(Kind[]::new));
      Step step = call(dice, kind, processes, waiting, leases, traffic);
      steps.add(several ? ofSeveral(dice, step, waiting) : step);
    }
    if (topology == Topology.RING && dice.chance(30)) {
      observed(dice, steps, processes, millis * MILLI);
    }
    if (dice.chance(70)) {
      Set<Kind> wrong = some(dice, FAULTS, share);
      if (!byClients) {
        wrong.remove(Kind.PROCESS_CLOCK_STEP);
      }
      if (topology != Topology.CLUSTER) {
        wrong.remove(Kind.MOVE_SLOTS);
      }
      if (topology != Topology.SENTINEL) {
        wrong.remove(Kind.SENTINELS_FAIL);
      }
      if (topology == Topology.DATABASE) {
        wrong.add(Kind.LOCK_ROWS);
      } else if (topology != Topology.SENTINEL) {
        wrong.removeAll(EnumSet.of(Kind.FAIL_OVER, Kind.LAG));
      }
      int faults = wrong.isEmpty() ? 0 : dice.one(1, 3, 10);
      if (faults > 0 && dice.chance(20)) {
        settings.put("shortQueues", 1);
      }
      for (int i = 0; i < faults; i++) {
        Kind kind = dice.one(wrong.toArray(Kind[]::new));
        Step fault = fault(dice, kind, processes, topology.masters(), traffic);
        steps.add(fault);
        if (kind == Kind.CONNECT_SLOWLY) { // cuts the open connection, so that the process connects
          steps.add(Step.of(fault.at(), Kind.CUT, fault.process(), dice.below(3), 0));
        }
      }
    }
    int latency = settings.get(LATENCY);
    boolean inOrder =
        settings.get("overtaking") == 0
            && settings.get("clientClocks") == 0
            && topology != Topology.DATABASE;
    if (inOrder && latency <= 500 && dice.chance(20)) {
      for (int i = 0; i < 4; i++) {
        long at = dice.between(0, millis * MILLI);
        int process = dice.below(processes);
        unheard(dice, steps, at, process, dice.below(topology.masters()), latency);
      }
    }
    if (dice.chance(15)) {
      impatient(dice, steps, dice.between(0, millis * MILLI), processes, topology.masters());
    }
    steps.sort(Comparator.comparingLong(Step::at));
    // With a ring, a process tracks for an hour the buckets that DRAIN steps emptied.
    if (topology != Topology.RING && dice.chance(5)) {
      settings.put(LINGERS, 1);
    }
    if (dice.chance(40)) {
      settings.put(TIMEOUT, settings.get(LATENCY) > 500 ? 200 : dice.one(20, 50, 100));
    }
    return new Plan(seed, topology, Map.copyOf(settings), List.copyOf(steps));
  }

  /** Returns a call; at random, its limit is replaced by a limit with several quotas. */
  private static Step ofSeveral(Dice dice, Step step, boolean waiting) {
    boolean isWait = step.kind() == Kind.ACQUIRE || step.kind() == Kind.ACQUIRE_BLOCKING;
    boolean isOfAny = OF_ANY_LIMIT.contains(step.kind());
    if (!(isWait || isOfAny || OF_NO_WAITED.contains(step.kind())) || !dice.chance(60)) {
      return step;
    }
    boolean mayWait = isOfAny && waiting && dice.chance(50);
    return isWait ? step.and(1) : step.with(0, mayWait ? SEVERAL_MAY_WAIT : SEVERAL);
  }

  private static final Set<Kind> CALLS =
      EnumSet.of(
          Kind.SPEND,
          Kind.SPEND_UP_TO,
          Kind.SPEND_GIVEN_UP,
          Kind.SPEND_BLOCKING,
          Kind.CHECK,
          Kind.CHECK_BATCH,
          Kind.REFUND,
          Kind.RESET,
          Kind.BATCH,
          Kind.BATCH_GIVEN_UP,
          Kind.MIXED_BATCH,
          Kind.REFUND_BATCH,
          Kind.MIXED_REFUND,
          Kind.RESET_BATCH,
          Kind.RESERVE,
          Kind.RESERVE_TOGETHER,
          Kind.RESERVE_BATCH,
          Kind.RESERVE_BLOCKING,
          Kind.RESERVE_ELSEWHERE,
          Kind.RESERVE_SETTLED,
          Kind.LIMITS,
          Kind.OVERRIDES,
          Kind.PENALTY,
          Kind.LEASE,
          Kind.LEASE_CLOSE,
          Kind.ACQUIRE,
          Kind.ACQUIRE_BLOCKING,
          Kind.ACQUIRE_BATCH);

  private static final Set<Kind> WAITING =
      EnumSet.of(Kind.ACQUIRE, Kind.ACQUIRE_BLOCKING, Kind.ACQUIRE_BATCH);

  private static final Set<Kind> FAULTS = EnumSet.range(Kind.BLOCK, Kind.CLOCK_STEP);

  private static Set<Kind> some(Dice dice, Set<Kind> of, int percent) {
    Set<Kind> some = EnumSet.noneOf(Kind.class);
    for (Kind kind : of) {
      if (dice.chance(percent)) {
        some.add(kind);
      }
    }
    return some;
  }

  private static Step call(
      Dice dice, Kind kind, int processes, boolean waiting, boolean leases, Traffic traffic) {
    long at = traffic.moment();
    int process = dice.below(processes);
    int limit = waiting ? dice.one(0, 1, MAY_WAIT, MAY_WAIT) : dice.below(2);
    boolean mayBeFree = kind == Kind.MIXED_BATCH || kind == Kind.CHECK || kind == Kind.SPEND;
    boolean mayLower = kind == Kind.REFUND || kind == Kind.RESET || kind == Kind.CHECK;
    int id = mayLower && dice.chance(leases ? 40 : 10) ? 6 + dice.below(2) : traffic.id();
    int cost = mayBeFree && dice.chance(5) ? 0 : dice.one(1, 1, 1, 2, 3);
    return switch (kind) {
      case RESET ->
          dice.chance(30)
              ? Step.of(at, kind, process, EMPTY_FOR_LONG, id % 3)
              : Step.of(at, kind, process, limit, id);
      case BATCH, REFUND_BATCH -> Step.of(at, kind, process, id, 2 + dice.below(3), cost);
      case BATCH_GIVEN_UP ->
          Step.of(
              at,
              kind,
              process,
              id,
              2 + dice.below(3),
              cost,
              dice.one(0, 50, 1_000, 10_000, 100_000));
      case CHECK_BATCH, MIXED_BATCH, MIXED_REFUND ->
          Step.of(at, kind, process, id, 2 + dice.below(3), cost, dice.below(7));
      case RESET_BATCH -> Step.of(at, kind, process, id, 2 + dice.below(3), 1);
      case RESERVE ->
          Step.of(at, kind, process, limit, id, cost, dice.one(-2, -1, 0, 1, 5, 20, 100));
      case RESERVE_TOGETHER ->
          Step.of(
              at,
              kind,
              process,
              limit,
              id % 5,
              2 + dice.below(4),
              dice.one(0, 1, 5, 20, 100),
              dice.one(0, 0, 2, 6));
      case RESERVE_BATCH ->
          dice.chance(30)
              ? Step.of(
                  at,
                  kind,
                  process,
                  id,
                  2 + dice.below(3),
                  cost,
                  dice.one(0, 1, 5, 20, 100),
                  dice.below(7))
              : Step.of(at, kind, process, id, 2 + dice.below(3), cost, dice.one(0, 1, 5, 20, 100));
      case RESERVE_BLOCKING ->
          Step.of(at, kind, process, limit, id, cost, dice.one(0, 1, 5, 20, 100));
      case RESERVE_ELSEWHERE ->
          Step.of(
              at,
              kind,
              process,
              limit,
              id,
              cost,
              dice.one(0, 1, 5, 20, 100),
              dice.below(processes));
      case RESERVE_SETTLED ->
          Step.of(
              at,
              kind,
              process,
              dice.below(2),
              id % 5, // an id that several calls share, because a settlement can spend again
              dice.one(0, 1, 2, 3, 5),
              dice.one(0, 1, 5, 20, 100),
              dice.one(0, 1, 2, 4, 8, 1_000));
      case SPEND_GIVEN_UP ->
          Step.of(at, kind, process, limit, id, cost, dice.one(0, 50, 1_000, 10_000, 100_000));
      case SPEND_UP_TO -> Step.of(at, kind, process, limit, id, dice.one(1, 2, 3, 5, 1_000));
      case LIMITS -> Step.of(at, kind, process, dice.below(4));
      case OVERRIDES -> Step.of(at, kind, process, dice.below(3), dice.one(0, 2, 8, 30));
      case PENALTY ->
          Step.of(at, kind, process, limit, dice.one(0, 1, 2, 6), dice.one(0, 5, 50, 500));
      case LEASE -> Step.of(at, kind, process, limit % 2, dice.below(2), 1 + dice.below(4));
      case LEASE_CLOSE -> Step.of(at, kind, process, limit % 2, dice.below(2));
      case ACQUIRE, ACQUIRE_BLOCKING ->
          Step.of(at, kind, process, id % 6, cost, longestWait(dice), givingUp(dice));
      case ACQUIRE_BATCH ->
          Step.of(
              at,
              kind,
              process,
              id % 6,
              2 + dice.below(3),
              cost,
              longestWait(dice),
              givingUp(dice),
              dice.below(2));
      case SPEND, CHECK ->
          dice.chance(10)
              ? Step.of(at, kind, process, EMPTY_FOR_LONG, id % 3, 1)
              : Step.of(at, kind, process, limit, id, cost);
      default -> Step.of(at, kind, process, limit, id, cost);
    };
  }

  private static int longestWait(Dice dice) {
    return dice.one(0, 30, 100, 250, 600, 5_000);
  }

  private static int givingUp(Dice dice) {
    return dice.one(-1, -1, -1, 0, 50, 1_000, 20_000, 100_000);
  }

  /**
   * Adds checks of a bucket to the steps of the last process. During the checks, the first process
   * sends batches that need tokens of the checked bucket and of an empty bucket, so every batch is
   * denied.
   */
  private static void observed(Dice dice, List<Step> steps, int processes, long nanos) {
    for (int partner = 0; partner < PARTNERS; partner++) {
      steps.add(Step.of(0, Kind.DRAIN, 0, partner));
    }
    for (long at = 20 * MILLI; at < nanos; at += dice.between(MILLI, 40 * MILLI)) {
      steps.add(Step.of(at, Kind.DENIED_BATCH, 0, 0, dice.below(PARTNERS)));
    }
    for (long at = 0; at < nanos; at += dice.between(MILLI, 10 * MILLI)) {
      steps.add(Step.of(at, Kind.OBSERVE, processes - 1, 0));
    }
  }

  /**
   * Adds spends on a bucket: a spend that is denied, a spend whose caller cancels and whose answer
   * is lost, and several spends that need many tokens.
   */
  private static void unheard(
      Dice dice, List<Step> steps, long at, int process, int server, int latencyMicros) {
    int own = 3 + dice.below(2);
    steps.add(Step.of(at, Kind.SPEND, process, 1, own, 3));
    steps.add(Step.of(at + 20 * MILLI, Kind.SPEND, process, 1, own, 3));
    long then = at + dice.between(100 * MILLI, 250 * MILLI);
    // After so many microseconds, most requests have reached the server, but no answer has arrived.
    int micros = latencyMicros * (3 + dice.below(2)) / 2;
    steps.add(Step.of(then, Kind.SPEND_GIVEN_UP, process, 1, own, 1, micros));
    steps.add(Step.of(then + micros * 1_000L, Kind.CUT, process, server, dice.one(1, 3)));
    for (int again = 0; again < 4; again++) {
      long later = then + dice.between(2 * MILLI, 900 * MILLI);
      steps.add(Step.of(later, Kind.SPEND, process, 1, own, 3));
    }
  }

  /** Adds many callers that soon cancel their calls, while a connection is slow or refused. */
  private static void impatient(Dice dice, List<Step> steps, long at, int processes, int servers) {
    int process = dice.below(processes);
    int server = dice.below(servers);
    int millis = dice.one(20, 200, 700, 2_500);
    if (dice.chance(50)) {
      steps.add(Step.of(at, Kind.CONNECT_SLOWLY, process, millis));
      steps.add(Step.of(at, Kind.CUT, process, server, dice.below(2)));
    }
    if (dice.chance(40)) {
      steps.add(Step.of(at, Kind.KILL, process, server, 1, millis));
    }
    if (dice.chance(20)) {
      steps.add(Step.of(at, Kind.TRY_AGAIN, process, server, millis));
    }
    int calls = dice.one(10, 30, 60);
    for (int i = 0; i < calls; i++) {
      long then = at + dice.between(MILLI, millis * MILLI);
      int micros = dice.one(0, 50, 1_000);
      steps.add(
          Step.of(then, Kind.SPEND_GIVEN_UP, process, dice.below(2), dice.below(6), 1, micros));
    }
  }

  private static Step fault(Dice dice, Kind kind, int processes, int servers, Traffic traffic) {
    long at = traffic.moment();
    int process = dice.below(processes);
    int server = dice.below(servers);
    int millis = dice.one(1, 20, 200, 700, 2_500);
    return switch (kind) {
      case BLOCK, CONNECT_SLOWLY, SLOW_CALLS, SENTINELS_FAIL -> Step.of(at, kind, process, millis);
      case OBSERVER_THROWS, LIMITER_OBSERVER_THROWS -> Step.of(at, kind, process, dice.below(2));
      case CUT -> Step.of(at, kind, process, server, dice.below(4));
      case KILL -> Step.of(at, kind, process, server, dice.below(2), millis);
      case FORGET_SCRIPT, MOVE_SLOTS -> Step.of(at, kind, process, server);
      case FREEZE, OUT_OF_MEMORY, BUSY, CLUSTER_DOWN, TRY_AGAIN, LAG ->
          Step.of(at, kind, process, server, millis);
      case FAIL_OVER ->
          Step.of(at, kind, process, dice.one(60, Fleet.OLD_MASTER_LEARNS_MILLIS), dice.below(2));
      case LOCK_ROWS -> Step.of(at, kind, process, server, dice.below(4), millis);
      case PROCESS_CLOCK_STEP -> Step.of(at, kind, process, dice.one(-3_000, -40, 40, 3_000));
      case CLOCK_STEP -> Step.of(at, kind, process, server, dice.one(-3_000, -50, 50, 3_000));
      default -> Step.of(at, kind, process);
    };
  }

  int setting(String name) {
    return settings.getOrDefault(name, 0);
  }

  /** Returns the typical travel time of a message. */
  long latencyNanos() {
    return 1_000L * setting(LATENCY);
  }

  int processes() {
    return setting(PROCESSES);
  }

  /** Returns the names of the settings that the shrinker can set to 0. */
  List<String> switches() {
    return settings.keySet().stream()
        .filter(name -> !name.equals(PROCESSES) && !name.equals(LATENCY))
        .sorted()
        .toList();
  }

  Plan with(String setting, int value) {
    Map<String, Integer> changed = new TreeMap<>(settings);
    changed.put(setting, value);
    return new Plan(seed, topology, Map.copyOf(changed), steps);
  }

  /** Returns the plan without one process, whose steps the first remaining process runs. */
  Plan withoutProcess(int process) {
    List<Step> moved =
        steps.stream()
            .map(step -> step.by(step.process() == process ? 0 : lower(step.process(), process)))
            .toList();
    return with(PROCESSES, processes() - 1).withSteps(moved);
  }

  private static int lower(int process, int removed) {
    return process > removed ? process - 1 : process;
  }

  boolean has(Kind kind) {
    return steps.stream().anyMatch(step -> step.kind() == kind);
  }

  Plan withSteps(List<Step> fewer) {
    return new Plan(seed, topology, settings, List.copyOf(fewer));
  }

  /** Returns the plan as lines for {@link #parse}. */
  List<String> lines() {
    List<String> lines = new ArrayList<>();
    lines.add("seed " + seed);
    lines.add("topology " + topology.name().toLowerCase(Locale.ROOT));
    new TreeMap<>(settings).forEach((name, value) -> lines.add(name + " " + value));
    lines.add("");
    steps.forEach(step -> lines.add(step.toString()));
    return lines;
  }

  static Plan parse(List<String> lines) {
    long seed = 0;
    Topology topology = Topology.SINGLE;
    Map<String, Integer> settings = new TreeMap<>();
    List<Step> steps = new ArrayList<>();
    for (String line : lines) {
      if (line.isBlank() || line.startsWith("#")) {
        continue;
      }
      String[] words = line.split(" ", -1);
      if (Character.isDigit(line.charAt(0))) {
        steps.add(Step.parse(line));
      } else if (words[0].equals("seed")) {
        seed = Long.parseLong(words[1]);
      } else if (words[0].equals("topology")) {
        topology = Topology.valueOf(words[1].toUpperCase(Locale.ROOT));
      } else {
        settings.put(words[0], Integer.parseInt(words[1]));
      }
    }
    return new Plan(seed, topology, Map.copyOf(settings), List.copyOf(steps));
  }
}
