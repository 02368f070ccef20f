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

  /**
   * An HTTP client that sends a request without waiting for the response, and can abort the
   * request.
   */
  interface AbortingClient extends AutoCloseable {

    /** Sends a GET request for a path below the application's prefix. */
    Exchange get(String path) throws Exception;

    /** Sends the header of a POST request whose body never arrives. */
    Exchange postWithoutBody(String path) throws Exception;

    @Override
    void close() throws Exception;

    /** A request in flight. */
    interface Exchange {

      /**
       * Waits for the status of the response. Returns 0 if the server ends the exchange without a
       * response.
       */
      int status() throws Exception;

      /** Aborts the request: resets the stream, or the connection with HTTP/1.1. */
      void abort() throws Exception;
    }
  }
}
