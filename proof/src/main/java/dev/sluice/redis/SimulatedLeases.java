// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.Insides;
import dev.sluice.Lease;
import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.redis.Reference.Granted;
import dev.sluice.store.StoreException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;

/** The leases of one process, whose callers take one token at a time. Not thread-safe. */
final class SimulatedLeases {

  private static final int TOKENS = 3;

  private final Calls calls;
  private final World world;
  private final Limiter limiter;
  private final LongSupplier ticker;
  private final Map<String, Leased> leases = new LinkedHashMap<>();

  SimulatedLeases(Calls calls, Limiter limiter, LongSupplier ticker) {
    this.calls = calls;
    this.world = calls.world;
    this.limiter = limiter;
    this.ticker = ticker;
  }

  /** A lease, and its latest spend on each bucket. */
  private static final class Leased {
    private final Transaction token;
    private final Lease lease;
    private final Map<String, Granted> taken = new HashMap<>(); // by bucket key

    Leased(Transaction token, Lease lease) {
      this.token = token;
      this.lease = lease;
    }
  }

  void spend(String limit, String id, int tokens) {
    if (!world.blocking(() -> waitForTokens(limit, id, tokens))) {
      world.log(() -> "p" + calls.process + " skips the lease of " + id + ": another caller waits");
    }
  }

  private Leased lease(String limit, String id) {
    return leases.computeIfAbsent(
        limit + " " + id,
        name ->
            new Leased(
                limiter.transaction(limit, id), Insides.lease(limiter, limit, id, TOKENS, ticker)));
  }

  private void waitForTokens(String limit, String id, int tokens) {
    Leased leased = lease(limit, id);
    for (int i = 0; i < tokens; i++) {
      Transaction one = limiter.transaction(limit, id);
      Operation operation = calls.begin("lease", List.of(one));
      List<Before> before =
          operation.transactions().stream()
              .map(part -> Before.of(calls.reference, part.bucketKey()))
              .toList();
      try {
        boolean spent = leased.lease.trySpend();
        operation.end(spent ? "allowed" : "denied");
        operation.transactions().forEach(part -> handedOut(operation, leased, part, spent));
        if (!spent) {
          requireDenied(operation, before);
        }
      } catch (StoreException e) {
        operation.failed(e);
      } catch (Throwable e) {
        operation.threw(e);
      }
    }
  }

  private void handedOut(Operation operation, Leased leased, Transaction one, boolean spent) {
    Reference reference = calls.reference;
    if (spent && operation.isStillPenalized(one, reference.nowNanos(one.bucketKey()))) {
      world.violated(() -> operation + " handed out a token in spite of a penalty");
    }
    Granted fresh = reference.takenSince(calls.process, one.bucketKey(), operation.start());
    Granted taken = fresh == null ? leased.taken.get(one.bucketKey()) : fresh;
    Quota quota = one.quota();
    if (fresh != null) {
      leased.taken.put(one.bucketKey(), fresh);
    }
    if (spent && taken != null && quota != null) {
      reference.handedOut(operation, taken, quota.intervalNanos(), fresh != null);
    }
  }

  /**
   * The state of a bucket before a call.
   *
   * @param version the number of changes of the bucket's TAT
   * @param nowNanos the time of the bucket's clock
   */
  private record Before(long version, long nowNanos) {

    static Before of(Reference reference, String key) {
      return new Before(reference.version(key), reference.nowNanos(key));
    }
  }

  /** Checks a lease's denial: at least one bucket of the lease must have had no token. */
  private void requireDenied(Operation operation, List<Before> before) {
    Conditions conditions = calls.conditions;
    boolean isPlain =
        !(conditions.hasFaults()
            || conditions.debtsAppear()
            || conditions.clientClocks()
            || conditions.callsOvertake());
    boolean hadRoom = isPlain;
    for (int i = 0; i < before.size(); i++) {
      hadRoom &= hadRoom(operation, operation.transactions().get(i), before.get(i));
    }
    if (hadRoom) {
      world.violated(() -> operation + " was denied, though its buckets always had tokens");
    }
  }

  private boolean hadRoom(Operation operation, Transaction one, Before before) {
    Reference reference = calls.reference;
    String key = one.bucketKey();
    Quota quota = one.quota();
    // A lease that was denied sends no call until retryIn has passed since the denial arrived.
    long since = operation.start() - calls.conditions.driftNanos() - calls.roundTrip();
    return quota != null
        && reference.version(key) == before.version
        // The lease may remember a denial from before another process's refund.
        && !reference.wasLoosened(key, since - Conditions.DENIALS_NANOS)
        // A penalty can end while the answer is in flight.
        && !operation.isPenalized(one, before.nowNanos)
        && !operation.isPenalized(one, reference.nowNanos(key))
        && !reference.denied(key, quota.intervalNanos(), quota.offsetNanos(), since);
  }

  void close(String limit, String id) {
    Leased leased = leases.get(limit + " " + id);
    if (leased != null) {
      close(leased);
    }
  }

  private void close(Leased leased) {
    world.blocking(
        () -> {
          Operation operation = calls.begin("close the lease", List.of(leased.token));
          try {
            leased.lease.close();
            operation.end("done");
          } catch (StoreException e) {
            operation.failed(e);
          }
        });
  }

  void closeAll() {
    leases.values().forEach(this::close);
  }
}
