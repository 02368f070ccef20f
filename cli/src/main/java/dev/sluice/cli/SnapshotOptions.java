// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.server.service.ServerConfig;
import dev.sluice.server.service.StoreAccess.Stores;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options that keep the buckets of the memory store over restarts. */
final class SnapshotOptions {

  static final String USUAL_INTERVAL = "1m";

  @Option(
      names = "--snapshot",
      paramLabel = "FILE",
      description =
          "Keep the buckets of the memory store over restarts: read from this file, which is saved"
              + " periodically and at shutdown. A crash loses what was charged since the last"
              + " save.")
  private @Nullable Path snapshot;

  @Option(
      names = "--snapshot-interval",
      paramLabel = "PERIOD",
      description = "How often to write it (" + USUAL_INTERVAL + ").")
  private @Nullable String snapshotInterval;

  /**
   * The snapshot, null without one.
   *
   * @param store the address of the store
   */
  ServerConfig.@Nullable Snapshot snapshot(String store) {
    String period = snapshotInterval == null ? USUAL_INTERVAL : snapshotInterval;
    Duration every = Periods.positive("--snapshot-interval", period);
    if (snapshot == null) {
      if (snapshotInterval != null) {
        throw new InputException("--snapshot-interval requires --snapshot FILE");
      }
      return null;
    }
    if (!store.equals(Stores.MEMORY)) {
      throw new InputException(
          "--snapshot works with the memory store only; %s persists its own buckets"
              .formatted(Stores.shown(store)));
    }
    return new ServerConfig.Snapshot(snapshot, every);
  }
}
