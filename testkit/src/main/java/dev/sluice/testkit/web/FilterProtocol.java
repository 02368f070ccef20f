// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.web;

/** The HTTP version with which the tests of a filter send requests. */
public enum FilterProtocol {
  /** HTTP/1.1, with a separate connection for each request. */
  HTTP_1_1 {
    @Override
    AbortingClient client(FilteredSite site) {
      return new Http1Client(site);
    }
  },
  /**
   * HTTP/2 without TLS, with one connection. Requires {@code
   * org.eclipse.jetty.http2:jetty-http2-client} on the class path.
   */
  HTTP_2 {
    @Override
    AbortingClient client(FilteredSite site) throws Exception {
      return new Http2Client(site);
    }
  };

  abstract AbortingClient client(FilteredSite site) throws Exception;
}
