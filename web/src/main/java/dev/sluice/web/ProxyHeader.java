// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.limit.IpAddress;
import org.jspecify.annotations.Nullable;

/**
 * The header in which the proxies in front of the application name the client. One of them, as most
 * proxies write one and let the other through as the client made it up.
 */
public enum ProxyHeader {
  /** RFC 7239: {@code Forwarded: for=192.0.2.60;proto=http, for="[2001:db8::1]:4711"}. */
  FORWARDED("Forwarded") {
    @Override
    @Nullable IpAddress address(String element) {
      return ForwardedNode.ofForwarded(element);
    }
  },
  /** {@code X-Forwarded-For: 192.0.2.60, 2001:db8::1}; ports are understood. */
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

  /** The address that an element of the header's list names, null where it names none. */
  abstract @Nullable IpAddress address(String element);
}
