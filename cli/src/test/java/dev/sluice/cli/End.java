// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.server.service.Service;

/**
 * The end of a server, as a resource behind it. An interrupted thread gives load balancers and idle
 * clients no time to notice that the server ends.
 */
record End(Service service) implements AutoCloseable {

  @Override
  public void close() {
    Thread.currentThread().interrupt();
    try {
      service.close();
    } finally {
      var unused = Thread.interrupted();
    }
  }
}
