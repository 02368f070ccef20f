// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import dev.sluice.server.access.Access;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.base.Generations.Kind;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Starts access control and the audit log. Stateless. */
final class Control {

  private Control() {}

  /**
   * Opens the audit log, and says how it ends.
   *
   * @param files have the tokens, where there are any
   */
  static Access access(
      ServerConfig config, LoadedFiles files, MeterRegistry meters, Started started) {
    ServerConfig.Control settings = config.control();
    AuditLog audit = audit(settings.auditLog(), meters);
    started.add(audit::close);
    Access access =
        settings.tokens() == null
            ? Access.open(
                audit,
                meters,
                settings.requestsPerAddress(),
                config.doors().adminsAnywhere(settings))
            : Access.of(files.of(Kind.TOKENS), audit, meters, settings.requestsPerAddress());
    started.add(access::close);
    return access;
  }

  private static AuditLog audit(@Nullable String target, MeterRegistry meters) {
    if (target == null) {
      return AuditLog.none();
    }
    if (target.equals("-")) {
      return AuditLog.of(System.err, meters);
    }
    try {
      return AuditLog.of(Path.of(target), meters);
    } catch (IOException e) {
      throw new ConfigException(
          "audit-log",
          "%s: cannot be written (%s); name a file in a folder where the server may write"
              .formatted(target, reason(e)),
          e);
    }
  }

  /** The system's exceptions have a path for a message. */
  private static String reason(IOException e) {
    return e instanceof FileSystemException ? e.toString() : String.valueOf(e.getMessage());
  }
}
