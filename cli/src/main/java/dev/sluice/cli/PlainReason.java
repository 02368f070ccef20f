package dev.sluice.cli;

import java.util.regex.Pattern;

/** The message of a failure without the names of system calls and error numbers. Stateless. */
final class PlainReason {

  /** As the network library writes it: {@code finishConnect(..) failed with error(-111): }. */
  private static final Pattern SYSTEM_CALL =
      Pattern.compile("\\w+\\(\\.\\.\\) failed(?: with error\\(-?\\d+\\))?: ");

  private PlainReason() {}

  static String of(Throwable failure) {
    String message = SYSTEM_CALL.matcher(String.valueOf(failure.getMessage())).replaceAll("");
    return message.replace("Connection refused", "connection refused");
  }
}
