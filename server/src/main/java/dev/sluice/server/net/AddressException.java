// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import java.net.InetSocketAddress;
import java.nio.channels.UnsupportedAddressTypeException;

/** An address on which the server can't listen: the port is taken, or not this machine's. */
public final class AddressException extends RuntimeException {

  private static final long serialVersionUID = 1;

  private AddressException(String message, Throwable cause) {
    super(message, cause);
  }

  /**
   * Says why a port can't be opened, and what to do.
   *
   * @param address where it should listen
   * @param failure what the network said; its first cause counts
   * @return the exception
   */
  public static AddressException of(InetSocketAddress address, Throwable failure) {
    Throwable cause = failure;
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    String why = why(cause);
    return new AddressException(
        "can't listen on %s: %s%s".formatted(HostPort.format(address), why, advice(why)), failure);
  }

  /** The network's own words, where it has any. */
  private static String why(Throwable cause) {
    if (cause instanceof UnsupportedAddressTypeException) {
      return "this JVM has no IPv6";
    }
    String message = cause.getMessage();
    return message == null ? cause.getClass().getSimpleName() : message;
  }

  private static String advice(String why) {
    if (why.contains("in use")) {
      return "; another process has the port: stop it, or choose another one (port 0 is any free one)";
    }
    return why.contains("ermission")
        ? "; ports below 1024 are reserved: choose a higher one"
        : "; expected an address of this machine";
  }
}
