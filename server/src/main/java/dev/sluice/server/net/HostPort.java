// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import java.net.InetSocketAddress;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Addresses to listen on, as a command line writes them. Pure and thread-safe. */
public final class HostPort {

  private static final Pattern FORM =
      Pattern.compile("(?:(\\[[0-9A-Fa-f:.]+]|[^:\\[\\]]*):)?(\\d{1,5})");
  private static final int MAX_PORT = 65_535;

  private HostPort() {}

  /**
   * Reads an address; without a host it is loopback, so that nothing is opened to a network unless
   * somebody asks for it.
   *
   * @param text {@code host:port}, {@code [::1]:port}, {@code :port} or {@code port}
   * @return the address; a host is looked up, which may block
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

  /**
   * Writes an address as it stands in a URL.
   *
   * @param address the address
   * @return {@code host:port}, an IPv6 host in brackets
   */
  public static String format(InetSocketAddress address) {
    String host =
        address.getAddress() == null
            ? address.getHostString()
            : address.getAddress().getHostAddress();
    return (host.contains(":") ? "[" + host + "]" : host) + ":" + address.getPort();
  }
}
