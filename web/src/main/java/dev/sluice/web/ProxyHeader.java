// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.limit.IpAddress;
import org.jspecify.annotations.Nullable;

/**
 * The header in which the proxies in front of the application send the client's address. Only one
 * header can be chosen: most proxies write only one of these headers, and pass the other header on
 * as the client sent it, so the client could forge the other header.
 */
public enum ProxyHeader {
  /** RFC 7239: {@code Forwarded: for=192.0.2.60;proto=http, for="[2001:db8::1]:4711"}. */
  FORWARDED("Forwarded") {
    @Override
    @Nullable IpAddress address(String element) {
      return ForwardedNode.ofForwarded(element);
    }
  },
  /** {@code X-Forwarded-For: 192.0.2.60, 2001:db8::1}; ports are ignored. */
  X_FORWARDED_FOR("X-Forwarded-For") {
    @Override
    @Nullable IpAddress address(String element) {
      return ForwardedNode.address(element);
    }
  };

  private final String header;

  ProxyHeader(String header) {
    this.header = header;
  }

  String header() {
    return header;
  }

  /** Returns the address in an element of the header's list, null if the element has no address. */
  abstract @Nullable IpAddress address(String element);
}
