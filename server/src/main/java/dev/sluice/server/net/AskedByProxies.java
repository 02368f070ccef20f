// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import com.linecorp.armeria.server.ServiceRequestContext;

/**
 * A service that proxies ask about the requests of others. What such a request carries is the other
 * one's. Its body is neither read nor waited for. Where the proxy is trusted, its {@code Host} and
 * {@code Origin} say nothing about this server.
 */
public interface AskedByProxies {

  /** Where they ask, by any method; the path of the original request may follow. */
  String PATH = "/v1/forward-auth";

  /**
   * Whether a request comes from a proxy that is believed. Never blocks.
   *
   * @param context the request
   * @return false for any other client
   */
  boolean isFromProxy(ServiceRequestContext context);
}
