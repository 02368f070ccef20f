// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import dev.sluice.Limiter;
import dev.sluice.server.net.ConnectionBudget;
import dev.sluice.server.reservation.Reservations;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/** The commands of the Redis door, as a client is told of them. */
public final class CommandNames {

  private CommandNames() {}

  /** The names, in capitals. */
  public static Set<String> of(Limiter limiter, Reservations reservations) {
    RespServer server =
        RespServer.builder(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), limiter, reservations)
            .start(ConnectionBudget.usual());
    Set<String> names = new TreeSet<>();
    try (RespClient client = new RespClient(server.address())) {
      for (Object command : (List<?>) client.call("COMMAND")) {
        names.add(String.valueOf(((List<?>) command).get(0)).toUpperCase(java.util.Locale.ROOT));
      }
    } finally {
      Thread.currentThread().interrupt(); // so that nobody waits for clients
      server.close();
      var unused = Thread.interrupted();
    }
    return names;
  }
}
