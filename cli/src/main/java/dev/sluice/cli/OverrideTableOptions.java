// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.server.service.ServerConfig;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options that name a database with overrides, which a server reads periodically. */
final class OverrideTableOptions {

  static final String USUAL_INTERVAL = "30s";

  @Option(
      names = "--overrides-db",
      paramLabel = "URL",
      description =
          "A PostgreSQL database with a table of overrides, which win over those of the file; read"
              + " periodically.")
  private @Nullable String overridesDb;

  @Option(
      names = "--db-password-file",
      paramLabel = "FILE",
      description =
          "A file with that database's password; or set SLUICE_DB_PASSWORD, or use ~/.pgpass.")
  private @Nullable Path dbPassword;

  @Option(
      names = "--overrides-interval",
      paramLabel = "PERIOD",
      description = "How often to read that table (" + USUAL_INTERVAL + ").")
  private @Nullable String overridesInterval;

  boolean isSet() {
    return overridesDb != null;
  }

  /** The table, null without a database. Reads the file with the password. */
  ServerConfig.@Nullable Table table() {
    String period = overridesInterval == null ? USUAL_INTERVAL : overridesInterval;
    Duration every = Periods.positive("--overrides-interval", period);
    if (overridesDb == null && (overridesInterval != null || dbPassword != null)) {
      throw new InputException(
          "%s requires --overrides-db URL"
              .formatted(dbPassword == null ? "--overrides-interval" : "--db-password-file"));
    }
    return overridesDb == null
        ? null
        : new ServerConfig.Table(
            DatabaseOptions.source(overridesDb, DatabaseOptions.password(dbPassword)), every);
  }
}
