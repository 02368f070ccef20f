package dev.sluice.server.resp;

import java.io.Serial;

/** Bytes that are no request: nobody can say where the next one would begin. */
final class ProtocolException extends Exception {

  @Serial private static final long serialVersionUID = 1L;

  ProtocolException(String message) {
    super(message, null, false, false); // clients can cause many: no stack trace
  }
}
