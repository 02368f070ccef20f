// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.web;

/**
 * An HTTP client that sends a request without waiting for the response, and can abort the request.
 */
interface AbortingClient extends AutoCloseable {

  /** Sends a GET request; {@code path} is relative to {@link FilteredSite#prefix}. */
  Exchange get(String path) throws Exception;

  /** Sends the header of a POST request. The body of the request never arrives. */
  Exchange postWithoutBody(String path) throws Exception;

  @Override
  void close() throws Exception;

  /** A request in flight. */
  interface Exchange {

    /**
     * Waits for the status of the response. Returns 0 if the server closes the stream or the
     * connection without a response.
     */
    int status() throws Exception;

    /** Aborts the request: resets the HTTP/2 stream or the HTTP/1.1 connection. */
    void abort() throws Exception;
  }
}
