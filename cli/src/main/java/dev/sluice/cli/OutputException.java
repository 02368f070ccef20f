// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import java.io.IOException;
import java.util.Locale;

/**
 * Standard output takes no more: the reader is gone, which is not an error, or the disk is full.
 */
final class OutputException extends RuntimeException {

  private static final long serialVersionUID = 1;

  OutputException(IOException cause) {
    super("can't write to standard output: " + cause.getMessage(), cause);
  }

  /** Whether the reader has what it wanted, as in {@code sluice replay … | head}. */
  boolean readerIsGone() {
    return String.valueOf(getMessage()).toLowerCase(Locale.ROOT).contains("pipe");
  }
}
