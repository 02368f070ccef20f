// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.production;

import dev.sluice.proof.Client;
import dev.sluice.proof.Client.Act;
import dev.sluice.proof.Client.Outcome;
import dev.sluice.proof.Door;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.stream.Stream;

/**
 * The expected contents of the buckets that one client uses. The limit is so large that every
 * operation is allowed, and less than one token refills during an epoch. Every response must report
 * exactly the number of tokens that the ledger computes. Not thread-safe.
 *
 * <p>Each outage of the store starts a new epoch. A new epoch uses new buckets, since an outage can
 * delete the store's buckets. If an operation gets no decision, the store may or may not have
 * charged its buckets, so the ledger stops checking these buckets.
 */
final class Ledger {

  private static final int IDS = 500;
  private static final int PARTS = 3;
  private static final int MOST_COST = 3;
  private static final long UNKNOWN = -1;

  private final Door door;
  private final Random random;
  private final Map<String, Long> lacking = new HashMap<>();
  private int epoch;
  private long compared;

  Ledger(Door door) {
    this.door = door;
    // The random numbers only choose operations, so they may be predictable.
    this.random = new Random(door.name().hashCode());
  }

  /**
   * Requests one random operation, and compares the response with the expected number of tokens.
   *
   * @param now the number of the current epoch
   * @param follows whether to compare the response; false while the store can be unreachable
   * @return whether the operation was allowed
   * @throws IOException if the server does not respond, or responds with an unexpected number of
   *     tokens
   */
  boolean act(Client client, int now, boolean follows) throws IOException {
    if (now != epoch) {
      lacking.clear();
      epoch = now;
    }
    List<Act> acts = List.copyOf(client.acts());
    Act act = acts.get(random.nextInt(acts.size()));
    int cost = 1 + random.nextInt(MOST_COST);
    int first = random.nextInt(IDS);
    List<String> ids =
        Stream.iterate(first, n -> n + 1)
            .limit(act == Act.BATCH ? PARTS : 1)
            .map(n -> id(follows ? String.valueOf(now) : "away", n % IDS))
            .toList();
    if (act == Act.REFUND && lacking(ids.get(0)) < cost) {
      act = Act.SPEND; // a refund would exceed the burst
    }
    Outcome outcome = client.act(act, ids, cost);
    if (!follows) {
      return outcome.allowed();
    }
    if (!outcome.allowed()) {
      ids.forEach(id -> lacking.put(id, UNKNOWN));
      return false;
    }
    if (outcome.remaining().size() != ids.size()) {
      throw new IOException("unexpected response to %s of %s: %s".formatted(act, ids, outcome));
    }
    for (int i = 0; i < ids.size(); i++) {
      compare(act, ids.get(i), cost, outcome.remaining().get(i));
    }
    return true;
  }

  private String id(String when, int n) {
    return "192.0.2.%s:%s-%s".formatted(List.of(Door.values()).indexOf(door), when, n);
  }

  private long lacking(String id) {
    return Objects.requireNonNullElse(lacking.get(id), 0L);
  }

  private void compare(Act act, String id, int cost, long remaining) throws IOException {
    long lacked = lacking(id);
    if (lacked == UNKNOWN) {
      return;
    }
    long expected = Act.BURST - act.shown(lacked, cost);
    if (remaining != expected) {
      throw new IOException(
          "%s with the cost %s left %s tokens in the bucket of %s, expected %s"
              .formatted(act, cost, remaining, id, expected));
    }
    lacking.put(id, act.left(lacked, cost));
    compared++;
  }

  long compared() {
    return compared;
  }
}
