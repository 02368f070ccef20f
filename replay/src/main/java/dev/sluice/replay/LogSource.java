// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import java.io.IOException;
import java.io.InputStream;

/** A log to read. It may be compressed with gzip or zstd, whatever its name. */
public interface LogSource {

  /** Returns the name of the file, for messages, such as {@code access.log}. */
  String name();

  /** Opens the log, which the reader closes. Called once. */
  InputStream open() throws IOException;
}
