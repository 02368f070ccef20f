// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.redis.Fleet.Topology;
import dev.sluice.redis.RedisObserver.Result;
import dev.sluice.redis.RedisObserver.State;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Judges what a process makes of connections that are slow to come or fail, whatever its callers
 * do. Few calls may wait for one, and its circuit breakers must hear of each failure. For one
 * thread.
 */
final class ConnectWatch {

  private static final int PLACES = 2; // of calls in a lane
  private static final int MOST_REQUESTS = 128; // that share a call

  /** The stages that lead to a connection, the probes of half a second each, and a ping. */
  private static final int FEW = 9;

  private final int process;
  private final World world;
  private final Topology topology;
  private final boolean goesApart; // a call may be refused whole, and is repeated in parts
  private final Map<String, Integer> failures = new HashMap<>(); // by server
  private final Map<String, Long> askedSince = new HashMap<>(); // by server, if it was marked down
  private int allFailures;
  private @Nullable Calls calls;

  ConnectWatch(int process, World world, Plan plan) {
    this.process = process;
    this.world = world;
    this.topology = plan.topology();
    this.goesApart = plan.has(Step.Kind.TRY_AGAIN);
  }

  /** Learns what is asked for: in a Cluster, each bucket may have a lane of its own. */
  void watch(Calls made) {
    calls = made;
  }

  private int lanes() {
    Calls made = calls;
    return made == null || topology != Topology.CLUSTER ? 1 : made.asked().size();
  }

  /** Returns whether the store is being closed: its calls end in another way then. */
  private boolean isClosing() {
    Calls made = calls;
    return made != null && made.isClosing();
  }

  private static String host(String server) {
    return server.split(":", 2)[0];
  }

  /** A call has ended, and its circuit breaker knows how. */
  void called(String server, Result result) {
    if (result != Result.ANSWERED) {
      failures.merge(host(server), 1, Integer::sum);
      allFailures++;
    }
  }

  /** A server was marked down, so that only probes go there, or is asked again. */
  void changed(String server, State state) {
    askedSince.put(host(server), state == State.UP ? world.now() : Long.MAX_VALUE);
  }

  /** Begins to watch a connection that is being made to a server, or to a Cluster. */
  Attempt begin(String server) {
    return new Attempt(server);
  }

  /** A connection that is being made. */
  final class Attempt {
    private final String server;
    private final long begun = world.now();
    private final int failedBefore;
    private final int allFailedBefore = allFailures;

    private Attempt(String server) {
      this.server = server;
      this.failedBefore = failures.getOrDefault(server, 0);
    }

    /** So many stages wait for it; the calls among them have places, or have timed out. */
    void waits(int stages) {
      int calls = PLACES * lanes() + allFailures - allFailedBefore;
      int most = FEW + (goesApart ? MOST_REQUESTS : 1) * calls;
      if (stages > most) {
        world.violated(
            () ->
                World.text(
                    "p%d lets %d calls wait for a connection to %s, more than it has places for",
                    process, stages, server));
      }
    }

    /**
     * It has failed, and those that waited for it know. A call in parts tells when the last of them
     * has ended.
     *
     * @param calls whether calls did
     */
    void failed(boolean calls) {
      boolean isOwn = topology == Topology.SINGLE || topology == Topology.RING; // each by its name
      boolean isJudged = calls && isOwn && !goesApart && !isClosing();
      boolean wasAsked = askedSince.getOrDefault(server, Long.MIN_VALUE) < begun;
      if (isJudged && wasAsked && failures.getOrDefault(server, 0) == failedBefore) {
        world.violated(
            () ->
                World.text(
                    "breaker: p%d did not hear that the connection to %s failed", process, server));
      }
    }
  }
}
