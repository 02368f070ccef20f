// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server;

import java.time.Duration;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;

/** Waits for an event for so long that a test fails only if the event never comes. */
public final class Eventually {

  private Eventually() {}

  /**
   * Waits for at most a minute, and looks each 20 ms.
   *
   * @return what waits
   */
  public static ConditionFactory await() {
    return Awaitility.await().atMost(Duration.ofMinutes(1)).pollInterval(Duration.ofMillis(20));
  }
}
