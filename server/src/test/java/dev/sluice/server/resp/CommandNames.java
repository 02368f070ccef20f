// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import dev.sluice.Limiter;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.access.NeedsTable;
import dev.sluice.server.reservation.Reservations;
import dev.sluice.server.stats.Denials;
import java.util.Map;
import java.util.TreeMap;

/** The commands of the Redis door, for tests of other packages. */
public final class CommandNames {

  private CommandNames() {}

  /** What a caller needs for each command. */
  public static Map<String, String> needs(Limiter limiter, Reservations reservations) {
    ConnectionCommands connection = new ConnectionCommands("test", () -> "");
    Map<String, String> needs = new TreeMap<>();
    for (Command command :
        RespServer.commands(limiter, AuditLog.none(), Denials.none(), reservations, connection)) {
      needs.put(command.name(), NeedsTable.word(command.need()));
    }
    return needs;
  }
}
