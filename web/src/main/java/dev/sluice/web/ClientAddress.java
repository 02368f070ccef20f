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
 * trusted proxy: that is the client. Everything left of it was written by the client, and is
 * ignored. If a trusted proxy names no address ({@code unknown}, an obfuscated id, nothing), the
 * address of the last trusted proxy is used for all its clients.
 *
 * <p>IPv6 addresses are grouped by their first 64 bits, as one subscriber has at least that many;
 * an IPv4-mapped IPv6 address is the IPv4 address.
 *
 * <p>Immutable and thread-safe; looks nothing up.
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
   * Returns a resolver that takes the connection's peer and trusts no header.
   *
   * @return the default
   */
  public static ClientAddress direct() {
    return DIRECT;
  }

  /**
   * Returns a resolver that finds the client behind a chain of trusted proxies.
   *
   * @param header the header that they write, all of them
   * @param trustedProxies their addresses or ranges of addresses, such as {@code 10.0.0.0/8}; at
   *     least one
   * @return a way to find the client
   * @throws IllegalArgumentException for a text that is neither an address nor a range
   */
  public static ClientAddress behind(ProxyHeader header, String... trustedProxies) {
    if (trustedProxies.length == 0) {
      throw new IllegalArgumentException(
          "no trusted proxy given; name at least one, or use direct()");
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
   * @param bits how many of the first bits count, 1 to 128; 128 for every address on its own
   * @return a new way to find the client
   * @throws IllegalArgumentException for a number out of its range
   */
  public ClientAddress groupIpv6By(int bits) {
    if (bits < 1 || bits > 128) {
      throw new IllegalArgumentException("bits: found " + bits + ", expected 1 to 128");
    }
    return new ClientAddress(header, trusted, bits);
  }

  /**
   * Returns the client's address, not grouped.
   *
   * @param request the request
   * @return the address, null if the connection has none (a Unix socket, for example)
   */
  public @Nullable IpAddress find(WebRequest request) {
    return find(request, false);
  }

  /**
   * Returns the client's address, not grouped, if trusted proxies name it. For a server that
   * proxies ask about their requests: there a proxy's own address would stand for all clients.
   *
   * @param request the request
   * @return the address; null if the peer is not a trusted proxy, or one of the proxies up to the
   *     client names no address
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

  /** Returns the address of the client's group: itself, or the lowest one of its IPv6 range. */
  IpAddress grouped(IpAddress address) {
    return address.isIpv4() ? address : address.prefix(ipv6Prefix);
  }

  /**
   * Returns whether an address that opened a connection is a trusted proxy's, whose headers are
   * believed.
   *
   * @param peer the address as text, null if the connection has none
   * @return false without trusted proxies
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

  /**
   * Containers write the zone of a link-local peer, {@code fe80::1%eth0}. It is not the client's.
   */
  private static String withoutZone(String peer) {
    int zone = peer.indexOf('%');
    boolean bracketed = peer.startsWith("[") && peer.endsWith("]");
    return zone < 0 ? peer : peer.substring(0, zone) + (bracketed ? "]" : "");
  }
}
