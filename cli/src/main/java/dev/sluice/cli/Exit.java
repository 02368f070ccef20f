// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import org.jspecify.annotations.Nullable;

/** The exit codes of all commands. */
final class Exit {

  static final int DONE = 0;
  static final int NO = 1;
  static final int BROKEN_INPUT = 2;
  static final int UNREACHABLE = 3;

  /** An internal error; EX_SOFTWARE in sysexits.h. */
  static final int BUG = 70;

  static final int OUT_OF_MEMORY = 71;

  private Exit() {}

  /** Thrown to end a command with an exit code and a message for its user. */
  static class ExitException extends RuntimeException {

    private static final long serialVersionUID = 1;

    private final int code;

    ExitException(int code, String message, @Nullable Throwable cause) {
      super(message, cause);
      this.code = code;
    }

    int code() {
      return code;
    }
  }
}
