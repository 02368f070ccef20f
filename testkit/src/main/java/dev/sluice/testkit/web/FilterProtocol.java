// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.web;

/** The protocols over which a filter is tested, each with a client that can abort. */
public enum FilterProtocol {
  /** HTTP/1.1, with a connection for each request. */
  HTTP_1_1 {
    @Override
    AbortingClient client(FilteredSite site) {
      return new Http1Client(site);
    }
  },
  /**
   * HTTP/2 in cleartext, with one connection. Its client needs {@code
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
