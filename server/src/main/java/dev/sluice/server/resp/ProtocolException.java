// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import java.io.Serial;

/** Thrown for bytes that are not a request: the start of the next one cannot be found. */
final class ProtocolException extends Exception {

  @Serial private static final long serialVersionUID = 1L;

  ProtocolException(String message) {
    super(message, null, false, false); // clients can cause many: no stack trace
  }
}
