// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import java.io.IOException;
import java.io.InputStream;

/**
 * A log that can be opened. The log can be compressed with gzip or zstd, whatever its file name.
 */
public interface LogSource {

  /** Returns the name of the file for messages, such as {@code access.log}. */
  String name();

  /** Opens the log. The reader calls this method once, and closes the stream. */
  InputStream open() throws IOException;
}
