// SPDX-License-Identifier: Apache-2.0
package dev.sluice.examples.quickstart;

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
  private final Limit logins;

  HotPath(Limiter limiter) {
    this.limiter = limiter;
    logins = limiter.limit("LoginsPerIPAddress");
  }

  String oneByOne(String address) {
    return handle(logins, address);
  }

  // begin: handle
  static String handle(Limit logins, String address) {
    return logins.trySpend(address) ? "200" : "429"; // no object is made
  }

  // end: handle

  boolean[] manyAtOnce(List<String> addresses) {
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
    // Save the buckets each minute and at shutdown:
    store.save(snapshot);
    // end: snapshot
    return limiter;
  }
}
