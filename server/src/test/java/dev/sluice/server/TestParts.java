// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server;

import dev.sluice.Limiter;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.base.Generations;
import dev.sluice.server.http.HttpPart;
import dev.sluice.server.reservation.Reservations;
import dev.sluice.server.reservation.TokenKey;
import dev.sluice.server.stats.Denials;
import dev.sluice.store.BucketStore;

/** Parts of a single server without audit log and watched files. */
public final class TestParts {

  private TestParts() {}

  public static HttpPart http(Limiter limiter, BucketStore store) {
    return new HttpPart(
        limiter,
        store,
        new Reservations(limiter, store, TokenKey.random()),
        store::ping,
        AuditLog.none(),
        new Generations(),
        Denials.none());
  }
}
