// SPDX-License-Identifier: Apache-2.0
package dev.sluice.webflux;

import java.io.IOException;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import org.springframework.web.util.DisconnectedClientHelper;

/** How exchanges end. */
final class Endings {

  private static final int MOST_CAUSES = 20;

  private Endings() {}

  /**
   * Whether a failure is one of the connection, or cannot be told from one: then the 500 that
   * follows is not what the application found out.
   */
  static boolean isOfTheConnection(Throwable failure) {
    return DisconnectedClientHelper.isClientDisconnectedException(failure)
        || Stream.iterate(failure, cause -> cause != null, Throwable::getCause)
            .limit(MOST_CAUSES)
            .anyMatch(cause -> cause instanceof IOException || cause instanceof TimeoutException);
  }
}
