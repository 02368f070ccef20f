// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.limit.IpAddress;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Finds the client's address, also behind proxies.
 *
 * <p>The header of a trusted proxy is read from the right, up to the first address that is not a
 * trusted proxy: that address is the client. All text to the left of the client's address can be
 * forged, and is ignored. If a trusted proxy sends no address (but {@code unknown}, an obfuscated
 * id, or no header), the address of this proxy is used for all of its clients.
 *
 * <p>IPv6 addresses are grouped by their first 64 bits, since a provider assigns each customer at
 * least a /64 range. All addresses of NAT64 ({@code 64:ff9b::/96}) have the same first 64 bits, so
 * all IPv4 clients behind such a translator are one client. An IPv4-mapped IPv6 address is read as
 * the IPv4 address.
 *
 * <p>Immutable and thread-safe; does no DNS look-up.
 */
public final class ClientAddress {

  private static final int SUBSCRIBER_BITS = 64;
  private static final ClientAddress DIRECT = new ClientAddress(null, List.of(), SUBSCRIBER_BITS);

  private final @Nullable ProxyHeader header;
  private final List<AddressRange> trusted;
  private final int ipv6Prefix;

  private ClientAddress(@Nullable ProxyHeader header, List<AddressRange> trusted, int ipv6Prefix) {
    this.header = header;
    this.trusted = trusted;
    this.ipv6Prefix = ipv6Prefix;
  }

  /**
   * Returns a resolver that uses the connection's address and trusts no header.
   *
   * @return the default resolver
   */
  public static ClientAddress direct() {
    return DIRECT;
  }

  /**
   * Returns a resolver that finds the client behind a chain of trusted proxies.
   *
   * @param header the header that all trusted proxies write
   * @param trustedProxies the proxies' addresses or ranges of addresses, such as {@code
   *     10.0.0.0/8}; at least one
   * @return the resolver
   * @throws IllegalArgumentException if a text is neither an address nor a range
   */
  public static ClientAddress behind(ProxyHeader header, String... trustedProxies) {
    if (trustedProxies.length == 0) {
      throw new IllegalArgumentException(
          "there is no trusted proxy; add at least one, or use direct()");
    }
    return new ClientAddress(
        header, Stream.of(trustedProxies).map(ClientAddress::trusted).toList(), SUBSCRIBER_BITS);
  }

  private static AddressRange trusted(String text) {
    try {
      return AddressRange.parse(text);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("trusted proxies: " + e.getMessage(), e);
    }
  }

  /**
   * Returns this resolver with another grouping of IPv6 addresses.
   *
   * @param bits the number of bits in a group's prefix, 1 to 128
   * @return a new resolver
   * @throws IllegalArgumentException if the number is out of range
   */
  public ClientAddress groupIpv6By(int bits) {
    if (bits < 1 || bits > 128) {
      throw new IllegalArgumentException("bits: found " + bits + ", expected 1 to 128");
    }
    return new ClientAddress(header, trusted, bits);
  }

  /**
   * Returns the client's full address, without grouping IPv6 addresses.
   *
   * @param request the request
   * @return the address, null if the connection has none, for example a Unix socket
   */
  public @Nullable IpAddress find(WebRequest request) {
    return find(request, false);
  }

  /**
   * Returns the client's full address, without grouping IPv6 addresses, but only if trusted proxies
   * send the address. Use this method in a server whose callers are proxies: a proxy's own address
   * would stand for all clients of the proxy.
   *
   * @param request the request
   * @return the address; null if the connection does not come from a trusted proxy, or if a proxy
   *     between this server and the client sends no address
   */
  public @Nullable IpAddress findNamed(WebRequest request) {
    return find(request, true);
  }

  private @Nullable IpAddress find(WebRequest request, boolean named) {
    IpAddress peer = parsed(request.peer());
    if (header == null || peer == null || !isTrusted(peer)) {
      return named ? null : peer;
    }
    IpAddress address = named ? null : peer;
    RightToLeft elements = new RightToLeft(request.headers(header.header()));
    for (String element = elements.next(); element != null; element = elements.next()) {
      IpAddress hop = header.address(element);
      if (hop == null) {
        return named ? null : address;
      }
      address = hop;
      if (!isTrusted(hop)) {
        return hop;
      }
    }
    return address;
  }

  /** Returns the lowest address of an IPv6 client's range; returns an IPv4 address unchanged. */
  IpAddress grouped(IpAddress address) {
    return address.isIpv4() ? address : address.prefix(ipv6Prefix);
  }

  /**
   * Returns whether an address that opened a connection belongs to a trusted proxy.
   *
   * @param peer the address as text, null if the connection has none
   * @return false if there are no trusted proxies
   */
  public boolean trusts(@Nullable String peer) {
    if (header == null) {
      return false;
    }
    IpAddress address = parsed(peer);
    return address != null && isTrusted(address);
  }

  private static @Nullable IpAddress parsed(@Nullable String peer) {
    return peer == null ? null : ForwardedNode.address(withoutZone(peer));
  }

  private boolean isTrusted(IpAddress address) {
    for (AddressRange range : trusted) {
      if (range.contains(address)) {
        return true;
      }
    }
    return false;
  }

  /** Removes a link-local address's zone, such as {@code fe80::1%eth0}. */
  private static String withoutZone(String peer) {
    int zone = peer.indexOf('%');
    boolean bracketed = peer.startsWith("[") && peer.endsWith("]");
    return zone < 0 ? peer : peer.substring(0, zone) + (bracketed ? "]" : "");
  }
}
