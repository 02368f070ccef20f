// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import java.net.InetSocketAddress;
import java.nio.channels.UnsupportedAddressTypeException;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Parses and formats the addresses on which a server listens. */
public final class HostPort {

  private static final Pattern FORM =
      Pattern.compile("(?:(\\[[0-9A-Fa-f:.]+]|[^:\\[\\]]*):)?(\\d{1,5})");
  private static final int MAX_PORT = 65_535;

  private HostPort() {}

  /**
   * Parses an address. Without a host, the address is loopback, so that only an explicit host opens
   * a port to the network.
   *
   * @param text {@code host:port}, {@code [::1]:port}, {@code :port} or {@code port}
   * @return the address; a host name is resolved, which may block
   * @throws IllegalArgumentException if the text is not an address
   */
  public static InetSocketAddress parse(String text) {
    Matcher form = FORM.matcher(text);
    if (!form.matches() || Integer.parseInt(form.group(2)) > MAX_PORT) {
      throw new IllegalArgumentException(
          "found the address \"%s\", expected host:port, such as 127.0.0.1:8080, [::1]:8080 or"
                  .formatted(text)
              + " 0.0.0.0:0 (port 0 is any free one, 65535 the highest)");
    }
    String host = form.group(1);
    boolean none = host == null || host.isEmpty();
    InetSocketAddress address =
        new InetSocketAddress(none ? "127.0.0.1" : host, Integer.parseInt(form.group(2)));
    if (address.isUnresolved()) {
      throw new IllegalArgumentException(
          "found the address \"%s\", expected a host that can be looked up".formatted(text));
    }
    return address;
  }

  /** Formats an address as in a URL: {@code host:port}, an IPv6 host in brackets. */
  public static String format(InetSocketAddress address) {
    String host =
        address.getAddress() == null
            ? address.getHostString()
            : address.getAddress().getHostAddress();
    return (host.contains(":") ? "[" + host + "]" : host) + ":" + address.getPort();
  }

  /**
   * The server's host name in a request (RFC 9110, section 7.2). The host name is in lower case. An
   * IPv6 address is in brackets. A final dot of the host name is removed. Immutable.
   */
  record Authority(String host) {

    /** The placeholder for a request without a host name; no domain can have this name. */
    static final String MISSING = "no-host.invalid";

    private static final int LONGEST = 1 << 10;
    private static final Pattern FORM =
        Pattern.compile("(\\[[^\\[\\]]+\\]|[^\\[\\]:/?#@,\\s]+)(?::0*([0-9]{0,5}))?");
    private static final int LAST_PORT = 65_535;

    /** Parses a host with an optional port; returns null if the text is malformed. */
    static @Nullable Authority parse(String text) {
      Matcher parts = FORM.matcher(text);
      if (text.length() > LONGEST || !parts.matches() || !isPort(parts.group(2))) {
        return null;
      }
      String host = parts.group(1).toLowerCase(Locale.ROOT);
      return new Authority(host.endsWith(".") ? host.substring(0, host.length() - 1) : host);
    }

    /** Whether a port is valid. An empty port stands for the default port of the scheme. */
    private static boolean isPort(@Nullable String digits) {
      return digits == null || digits.isEmpty() || Integer.parseInt(digits) <= LAST_PORT;
    }

    /** Whether a request had no host name; Armeria adds the port to {@link #MISSING}. */
    static boolean isMissing(@Nullable String text) {
      return text == null || text.isEmpty() || text.startsWith(MISSING);
    }
  }

  /** Thrown if the server can't listen: the port is in use, or the address is another machine's. */
  public static final class AddressException extends RuntimeException {

    private static final long serialVersionUID = 1;

    private AddressException(String message, Throwable cause) {
      super(message, cause);
    }

    /** Makes an exception that explains why a port can't be opened and what to do. */
    public static AddressException of(InetSocketAddress address, Throwable failure) {
      Throwable cause = failure;
      while (cause.getCause() != null) {
        cause = cause.getCause();
      }
      String why = why(cause);
      return new AddressException(
          "can't listen on %s: %s%s".formatted(HostPort.format(address), why, advice(why)),
          failure);
    }

    /** Returns the exception's message, or the exception's name if there is no message. */
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
}
