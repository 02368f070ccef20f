// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.redis.World.Actor;
import io.lettuce.core.cluster.SlotHash;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * All simulated servers of one run: one Redis server, a ring, a master with a replica and
 * Sentinels, a Cluster, or a PostgreSQL primary with a replica.
 */
final class Fleet {

  /** The time of the servers' clocks at the start: a day in 2026, in whole microseconds. */
  static final long START_NANOS = 1_780_000_000_000_000_000L;

  private static final int SLOTS = 16_384;
  // with SENTINEL FAILOVER, the time until the old master becomes a replica
  static final int OLD_MASTER_LEARNS_MILLIS = 11_000;
  private static final long FAILOVER_REMEMBERED_NANOS = 13_000_000_000L;
  private static final long LAG_NANOS = 1_000_000;
  static final long CLOCK_STEP_REMEMBERED_NANOS = 3_000_000_000L;
  // The clocks of a ring's servers can differ most, because no two servers have the same bucket.
  private static final long MOST_APART_NANOS = 5_000_000_000L;
  static final long MOST_SKEW_NANOS = 50_000_000;
  static final long MOST_DRIFT_PPM = 100;
  // the largest drift of a process's clock, by the error of its oscillator and by NTP
  static final long MOST_PACE_PPM = 600;

  final Topology topology;
  private final World world;
  private final Reference reference;
  private final boolean clocksDiffer;
  private final long apartPpm; // relative drift between a server's clock and a process's clock
  private final List<SimulatedServer> masters = new ArrayList<>();
  private final List<SimulatedServer> replicas = new ArrayList<>();
  private final int[] masterOfSlot = new int[SLOTS];
  private long failedOver = Long.MIN_VALUE / 2;
  private long clockStepped = Long.MIN_VALUE / 2;
  private long sentinelsBack = Long.MIN_VALUE / 2;
  private @Nullable SimulatedServer oldMaster;

  /** The kinds of Redis deployments, and PostgreSQL. */
  enum Topology {
    SINGLE("redis://s0:1"),
    RING("redis-ring://s0:1,s1:1,s2:1"),
    SENTINEL("redis-sentinel://s0:1#m"),
    CLUSTER("redis-cluster://s0:1,s1:1,s2:1"),
    DATABASE("PostgreSQL");

    final String uri;

    Topology(String uri) {
      this.uri = uri;
    }

    boolean isSeveralServers() {
      return this == RING || this == CLUSTER;
    }

    int masters() {
      return this == RING || this == CLUSTER ? 3 : 1;
    }
  }

  Fleet(
      Topology topology,
      World world,
      Reference reference,
      Dice dice,
      boolean clocksDiffer,
      long apartPpm) {
    this.apartPpm = apartPpm;
    this.topology = topology;
    this.world = world;
    this.reference = reference;
    this.clocksDiffer = clocksDiffer;
    for (int i = 0; i < topology.masters(); i++) {
      masters.add(server("s" + i, dice.fork(i)));
    }
    boolean hasReplica = topology == Topology.SENTINEL || topology == Topology.DATABASE;
    for (int i = 0; hasReplica && i < 1; i++) {
      SimulatedServer replica = server("r" + i, dice.fork(10 + i));
      replica.follow(masters.get(i), LAG_NANOS);
      replicas.add(replica);
    }
    for (int slot = 0; slot < SLOTS; slot++) {
      masterOfSlot[slot] = slot * topology.masters() / SLOTS;
    }
    if (topology == Topology.CLUSTER) {
      masters.forEach(master -> master.redirect(key -> moved(master, SlotHash.getSlot(key))));
    }
  }

  private @Nullable String moved(SimulatedServer asked, int slot) {
    SimulatedServer owner = masterOfSlot(slot);
    return owner == asked ? null : "MOVED " + slot + " " + owner + ":1";
  }

  private SimulatedServer server(String name, Dice dice) {
    Dice ofClock = dice.fork(1);
    long mostNanos = topology == Topology.RING ? MOST_APART_NANOS : MOST_SKEW_NANOS;
    long offsetNanos = clocksDiffer ? ofClock.between(-mostNanos, mostNanos) : 0;
    long driftPpm = clocksDiffer ? ofClock.between(-MOST_DRIFT_PPM, MOST_DRIFT_PPM) : 0;
    SimulatedClock clock = new SimulatedClock(world, START_NANOS + offsetNanos, driftPpm);
    SimulatedServer server = new SimulatedServer(name, world, clock, reference, dice);
    if (topology == Topology.DATABASE) {
      server.beDatabase();
    }
    return server;
  }

  List<SimulatedServer> masters() {
    return masters;
  }

  SimulatedServer master(int index) {
    return masters.get(index % masters.size());
  }

  /**
   * Returns whether a server may have refused a multi-key call, or a call because of another user's
   * lock, since a given moment.
   */
  boolean refusedSeveral(long since) {
    SimulatedServer old = oldMaster;
    return (old != null && old.refusedSeveral(since))
        || Stream.concat(masters.stream(), replicas.stream())
            .anyMatch(server -> server.refusedSeveral(since));
  }

  /**
   * Returns the server for a new database connection; after a failover, sometimes the old primary.
   */
  SimulatedServer host(Dice dice) {
    SimulatedServer old = oldMaster;
    return old != null && dice.chance(20) ? old : masters.get(0);
  }

  /** Returns the server with a name such as {@code s1}; null if there is none. */
  @Nullable SimulatedServer named(String name) {
    if (name.equals(Topology.DATABASE.uri)) {
      return masters.get(0);
    }
    return Stream.concat(masters.stream(), replicas.stream())
        .filter(server -> server.name.equals(name))
        .findFirst()
        .orElse(oldMaster != null && oldMaster.name.equals(name) ? oldMaster : null);
  }

  SimulatedServer masterOfSlot(int slot) {
    return masters.get(masterOfSlot[slot]);
  }

  int[] slots() {
    return masterOfSlot.clone();
  }

  /** Moves half of a master's slots to the next master of the Cluster. */
  void moveSlots(int from) {
    int to = (from + 1) % masters.size();
    SimulatedServer source = masters.get(from);
    Set<Integer> moving = new HashSet<>();
    for (int slot = 0; slot < SLOTS; slot++) {
      if (masterOfSlot[slot] == from && slot % 2 == 0) {
        moving.add(slot);
        masterOfSlot[slot] = to;
      }
    }
    world.log(() -> "slots move from " + source + ": " + moving.size());
    clockChanges(source, masters.get(to).clock.nanos() - source.clock.nanos());
    Predicate<String> moves =
        key -> moving.contains(SlotHash.getSlot(key.getBytes(StandardCharsets.UTF_8)));
    source.migrate(masters.get(to), keys -> keys.keySet().removeIf(moves.negate()));
    reference.moved(source, masters.get(to), moves);
  }

  /**
   * Makes the replica the master, as {@code SENTINEL FAILOVER} does. The Sentinels report the new
   * master at once. The old master becomes a replica after a delay; the old primary of a database
   * becomes a replica at once.
   *
   * @param learnsNanos the time until the old master becomes a replica
   * @param clientsStay whether clients stay connected to the old master and receive {@code
   *     READONLY}, as after {@code REPLICAOF}
   */
  void failOver(long learnsNanos, boolean clientsStay) {
    if (replicas.isEmpty()) {
      return;
    }
    SimulatedServer old = masters.get(0);
    SimulatedServer fresh = replicas.remove(0);
    world.log(() -> "failover from " + old + " to " + fresh);
    fresh.promote();
    fresh.tookOverFrom(old);
    clockChanges(old, fresh.clock.nanos() - old.clock.nanos());
    masters.set(0, fresh);
    failedOver = world.now();
    oldMaster = old;
    Runnable learns =
        () -> {
          old.demote(fresh, clientsStay);
          old.follow(fresh, LAG_NANOS);
          replicas.add(old);
        };
    if (topology == Topology.DATABASE) {
      learns.run();
    } else {
      world.after(learnsNanos, new Actor("sentinel"), learns);
    }
  }

  /** Records that the clock of a server's buckets jumps by {@code nanos}. */
  void clockChanges(SimulatedServer server, long nanos) {
    if (nanos != 0) {
      clockStepped = world.now();
      reference.clockChanged(server, nanos);
    }
  }

  /** Returns the largest drift between a server's and a process's clock within {@code nanos}. */
  long driftNanos(long nanos) {
    return (nanos / 1_000_000 + 1) * apartPpm;
  }

  /** Returns whether a server's clock stepped so recently that answers may show the old time. */
  boolean clocksWereStepped() {
    return world.now() - clockStepped < CLOCK_STEP_REMEMBERED_NANOS;
  }

  boolean failedOverLately() {
    return world.now() - failedOver < FAILOVER_REMEMBERED_NANOS;
  }

  /** Returns whether a server was replaced as master by a failover and is not a replica yet. */
  boolean wasReplaced(SimulatedServer server) {
    return server == oldMaster && !server.isReplica();
  }

  /** Makes all Sentinels unavailable for {@code nanos}. */
  void sentinelsFail(long nanos) {
    world.log(() -> "fault: no Sentinel answers");
    sentinelsBack = Math.max(sentinelsBack, world.now() + nanos);
  }

  /** Returns the moment from which Sentinels answer again. */
  long sentinelsBack() {
    return sentinelsBack;
  }

  /** Returns whether the Sentinels have reported {@code server} as replaced for {@code nanos}. */
  boolean replacedSince(SimulatedServer server, long nanos) {
    return server == oldMaster && world.now() - Math.max(failedOver, sentinelsBack) > nanos;
  }
}
