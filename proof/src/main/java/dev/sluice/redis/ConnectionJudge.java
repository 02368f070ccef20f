// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.redis.Fleet.Topology;
import dev.sluice.store.BucketStore.Observer.Result;
import dev.sluice.store.BucketStore.Observer.State;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Checks two invariants. Only few calls wait for a slow connection. The circuit breaker records
 * each failed connection, even if all callers gave up. Not thread-safe.
 */
final class ConnectionJudge {

  private static final int PLACES = 2; // the most calls of one queue in flight
  private static final int MOST_REQUESTS = 128; // the most requests that can share one call

  /**
   * The largest number of completion stages that can wait for a connection without belonging to a
   * call, for example stages of probes.
   */
  private static final int FEW = 9;

  private final int process;
  private final World world;
  private final Topology topology;
  private final boolean goesApart; // whether a refused call can be repeated in parts
  private final Map<String, Integer> failures = new HashMap<>(); // by server
  // by server: the moment at which the server was marked up, MAX_VALUE while the server is down
  private final Map<String, Long> askedSince = new HashMap<>();
  private int allFailures;
  private @Nullable Calls calls;

  ConnectionJudge(int process, World world, Plan plan) {
    this.process = process;
    this.world = world;
    this.topology = plan.topology();
    this.goesApart = plan.has(Step.Kind.TRY_AGAIN);
  }

  /**
   * Sets the record of the process's calls. In a Cluster, each bucket can have a separate queue.
   */
  void watch(Calls made) {
    calls = made;
  }

  private int queues() {
    Calls made = calls;
    return made == null || topology != Topology.CLUSTER ? 1 : made.asked().size();
  }

  private boolean isClosing() {
    Calls made = calls;
    return made != null && made.isClosing();
  }

  private static String host(String server) {
    return server.split(":", 2)[0];
  }

  /** Records the result of a call, which the store has reported to its circuit breaker. */
  void called(String server, Result result) {
    if (result != Result.ANSWERED) {
      failures.merge(host(server), 1, Integer::sum);
      allFailures++;
    }
  }

  /** Records that the process marked a server down or up. */
  void changed(String server, State state) {
    askedSince.put(host(server), state == State.UP ? world.now() : Long.MAX_VALUE);
  }

  /** Records the start of an attempt to connect to a server or a Cluster. */
  Attempt begin(String server) {
    return new Attempt(server);
  }

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
     * Checks the number of completion stages that wait for the connection. Each waiting call must
     * occupy a slot of a queue, or must have timed out.
     */
    void waits(int stages) {
      int calls = PLACES * queues() + allFailures - allFailedBefore;
      int most = FEW + (goesApart ? MOST_REQUESTS : 1) * calls;
      if (stages > most) {
        world.violated(
            () ->
                World.text(
                    "p%d lets too many calls wait for a connection: %d calls to %s",
                    process, stages, server));
      }
    }

    /**
     * Checks that the circuit breaker recorded the failed connection. A call that the store split
     * and repeated is not checked, because the store reports the call only after its last part.
     *
     * @param calls whether calls waited for the connection
     */
    void failed(boolean calls) {
      // In the topologies SINGLE and RING, a process always connects to the same servers.
      boolean isOwn = topology == Topology.SINGLE || topology == Topology.RING;
      boolean isJudged = calls && isOwn && !goesApart && !isClosing();
      boolean wasAsked = askedSince.getOrDefault(server, Long.MIN_VALUE) < begun;
      if (isJudged && wasAsked && failures.getOrDefault(server, 0) == failedBefore) {
        world.violated(
            () ->
                World.text(
                    "breaker: p%d did not record a failed connection to %s", process, server));
      }
    }
  }
}
