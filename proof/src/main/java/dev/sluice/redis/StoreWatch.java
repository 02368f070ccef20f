// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.remote.Breaker;
import dev.sluice.remote.Timing;
import dev.sluice.store.BucketStore;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A store's observer that checks the store's circuit breakers. A step of the {@link Plan} can make
 * the observer throw an exception, because a user's observer can throw, too. Not thread-safe.
 */
final class StoreWatch implements BucketStore.Observer {

  private static final int MOST_OPENINGS_A_MINUTE = 20;
  private static final long MINUTE_NANOS = 60_000_000_000L;

  private final int process;
  private final World world;
  private final Fleet fleet;
  private final SimulatedNetwork network;
  private final long timeoutNanos;
  private final BreakerJudge breakers;
  private final ConnectionJudge connects;
  private final List<Long> openings = new ArrayList<>();
  // the servers marked down; a database counts as down if either of its servers is in the set
  private final Set<SimulatedServer> down = new HashSet<>();
  private @Nullable Throwable nextThrown;

  /**
   * Creates an observer.
   *
   * @param connects receives the results of calls and the changes of circuit breakers
   * @param timeoutNanos the time-out of the store's calls
   */
  StoreWatch(
      World world,
      Timing timing,
      Fleet fleet,
      SimulatedNetwork network,
      ConnectionJudge connects,
      long timeoutNanos) {
    this.process = network.process();
    this.timeoutNanos = timeoutNanos;
    this.world = world;
    this.fleet = fleet;
    this.network = network;
    this.connects = connects;
    this.breakers = new BreakerJudge(timing);
  }

  private @Nullable SimulatedServer at(String address) {
    return fleet.named(address.split(":", 2)[0]);
  }

  void throwNext(Throwable thrown) {
    nextThrown = thrown;
  }

  @Override
  public void called(String server, Result result, int batches, int charges, long elapsed) {
    long mostNanos = elapsed + elapsed / 1_000; // the process's clock can be slow
    long start = world.now() - mostNanos;
    SimulatedServer at = at(server);
    // If a lock made a call fail, the breaker counts the call as answered, even after a time-out.
    boolean mayBeRefused = isDatabase() ? result != Result.ANSWERED : result == Result.TIMED_OUT;
    boolean counts =
        network.mastersSince() <= start && !(mayBeRefused && fleet.refusedSeveral(start));
    connects.called(server, result);
    boolean refused = result == Result.FAILED && at != null && at.refusedAll(start);
    require(breakers.called(server, result, refused, elapsed, counts));
    throwIfPlanned();
  }

  @Override
  public void refused(String server, Refusal why) {
    throwIfPlanned();
  }

  @Override
  public void deniedFromMemory() {
    throwIfPlanned();
  }

  @Override
  public void changed(String server, State state, String reason) {
    world.log(() -> "p" + process + " marks " + server + " " + state + ": " + reason);
    connects.changed(server, state);
    require(breakers.changed(server, state, reason));
    SimulatedServer at = at(server);
    if (state == State.UP && isDatabase()) {
      down.clear();
    } else if (at != null && state == State.UP) {
      down.remove(at);
    }
    if (state == State.DOWN) {
      if (at != null) {
        down.add(at);
      }
      gaveUp(server, at, reason);
    } else if (at != null && at.refusesCalls() && !reason.equals(Breaker.NO_PROBE)) {
      world.violated(
          () -> World.text("breaker: p%d marked up %s, which refuses all calls", process, server));
    }
    throwIfPlanned();
  }

  /** Returns whether the store has marked a server down, and so refuses calls to the server. */
  boolean isGivenUp(@Nullable SimulatedServer server) {
    return server != null && (isDatabase() ? !down.isEmpty() : down.contains(server));
  }

  private boolean isDatabase() {
    return fleet.topology == Fleet.Topology.DATABASE;
  }

  private void gaveUp(String server, @Nullable SimulatedServer at, String reason) {
    openings.add(world.now());
    long minute = world.now() - MINUTE_NANOS;
    long lately = openings.stream().filter(moment -> moment > minute).count();
    if (lately > MOST_OPENINGS_A_MINUTE) {
      world.violated(
          () ->
              World.text(
                  "breaker: p%d marked servers down %d times within a minute", process, lately));
    }
    long aWhile = 2 * timeoutNanos + breakers.failingNanos(server);
    boolean inTrouble =
        at == null
            || breakers.isOnTrial(server)
            || !at.isUp()
            || world.now() - at.lastTrouble() < aWhile
            || network.hadTroubleWith(at, aWhile);
    if (!inTrouble) {
      world.violated(
          () ->
              World.text(
                  "breaker: p%d marked %s down, though the server had no fault (%s)",
                  process, server, reason));
    }
  }

  private void require(@Nullable String wrong) {
    if (wrong != null) {
      world.violated(() -> "p" + process + ", " + wrong);
    }
  }

  private void throwIfPlanned() {
    Throwable thrown = nextThrown;
    nextThrown = null;
    if (thrown instanceof Error error) {
      throw error;
    } else if (thrown instanceof RuntimeException exception) {
      throw exception;
    }
  }
}
