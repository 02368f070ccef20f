// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.redis.Fleet.Topology;
import dev.sluice.store.BucketStore.Observer.Result;
import dev.sluice.store.BucketStore.Observer.State;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Judges the invariant that few calls wait for a slow connection, and that the circuit breakers
 * learn of each failed connection, whatever the callers do. For one thread.
 */
final class ConnectionJudge {

  private static final int PLACES = 2; // the places for calls in a queue
  private static final int MOST_REQUESTS = 128; // the most requests that share a call

  /** The stages that lead to a connection, a probe every half second, and a ping. */
  private static final int FEW = 9;

  private final int process;
  private final World world;
  private final Topology topology;
  private final boolean goesApart; // a call may be refused as a whole and repeated in parts
  private final Map<String, Integer> failures = new HashMap<>(); // by server
  private final Map<String, Long> askedSince = new HashMap<>(); // by server; never if marked down
  private int allFailures;
  private @Nullable Calls calls;

  ConnectionJudge(int process, World world, Plan plan) {
    this.process = process;
    this.world = world;
    this.topology = plan.topology();
    this.goesApart = plan.has(Step.Kind.TRY_AGAIN);
  }

  /** Sets the calls, which count the queues: in a Cluster, each bucket may have its own. */
  void watch(Calls made) {
    calls = made;
  }

  private int queues() {
    Calls made = calls;
    return made == null || topology != Topology.CLUSTER ? 1 : made.asked().size();
  }

  /** Returns whether the store is being closed, when calls end differently. */
  private boolean isClosing() {
    Calls made = calls;
    return made != null && made.isClosing();
  }

  private static String host(String server) {
    return server.split(":", 2)[0];
  }

  /** Records a call that has ended and was reported to the circuit breaker. */
  void called(String server, Result result) {
    if (result != Result.ANSWERED) {
      failures.merge(host(server), 1, Integer::sum);
      allFailures++;
    }
  }

  /** Records that a server was marked down (only probes go there), or up. */
  void changed(String server, State state) {
    askedSince.put(host(server), state == State.UP ? world.now() : Long.MAX_VALUE);
  }

  /** Starts to watch an attempt to connect to a server, or to a Cluster. */
  Attempt begin(String server) {
    return new Attempt(server);
  }

  /** An attempt to connect. */
  final class Attempt {
    private final String server;
    private final long begun = world.now();
    private final int failedBefore;
    private final int allFailedBefore = allFailures;

    private Attempt(String server) {
      this.server = server;
      this.failedBefore = failures.getOrDefault(server, 0);
    }

    /**
     * Checks how many stages wait for the connection; each call among them has a place or timed
     * out.
     */
    void waits(int stages) {
      int calls = PLACES * queues() + allFailures - allFailedBefore;
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
     * Records that the connection failed and the waiting calls were completed. A call in parts is
     * reported when its last part has ended.
     *
     * @param calls whether calls waited for the connection
     */
    void failed(boolean calls) {
      // The servers have fixed names.
      boolean isOwn = topology == Topology.SINGLE || topology == Topology.RING;
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
