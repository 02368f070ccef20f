// SPDX-License-Identifier: Apache-2.0
package dev.sluice.examples.quickstart;

import dev.sluice.Decision;
import dev.sluice.Lease;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.limit.Limits;
import dev.sluice.store.MemoryStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The code of docs/memory-store.md: limits where each nanosecond counts. */
final class HotPath {

  private final Limiter limiter;

  HotPath(Limiter limiter) {
    this.limiter = limiter;
  }

  String oneByOne(String address) {
    // begin: handle
    Limit logins = limiter.limit("LoginsPerIPAddress");
    if (!logins.trySpend(address)) { // no object is made
      return "429";
    }
    Decision second = logins.spend(address); // three small objects: the decision and its parts
    // end: handle
    return second.allowed() ? "200" : "429 in " + second.retryIn().toSeconds() + " s";
  }

  boolean[] manyAtOnce(List<String> addresses) {
    Limit logins = limiter.limit("LoginsPerIPAddress");
    // begin: each
    boolean[] spent = logins.trySpendEach(addresses);
    // end: each
    return spent;
  }

  int leased(int calls) {
    int allowed = 0;
    // begin: lease
    try (Lease lease = limiter.lease("LoginsPerIPAddress", "192.0.2.1", 4)) {
      for (int i = 0; i < calls; i++) {
        allowed += lease.trySpend() ? 1 : 0;
      }
    }
    // end: lease
    return allowed;
  }

  static Limiter afterARestart(Limits limits, Path snapshot) throws IOException {
    // begin: snapshot
    MemoryStore store =
        Files.exists(snapshot)
            ? MemoryStore.builder().restore(snapshot)
            : MemoryStore.builder().build();
    Limiter limiter = Limiter.of(limits, store);
    // … and once a minute, and at the end
    store.save(snapshot);
    // end: snapshot
    return limiter;
  }
}
