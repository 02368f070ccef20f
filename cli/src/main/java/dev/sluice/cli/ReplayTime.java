// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.store.TimeSource;

/** The recording's clock: stands at the act that is being replayed. For one thread. */
final class ReplayTime implements TimeSource {

  private long nowNanos;

  void set(long newNowNanos) {
    this.nowNanos = newNowNanos;
  }

  @Override
  public long nanos() {
    return nowNanos;
  }
}
