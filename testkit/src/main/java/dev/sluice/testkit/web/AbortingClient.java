// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.web;

/** A client that sends without waiting, and can abort a request. */
interface AbortingClient extends AutoCloseable {

  /** Sends a GET for a path below the application's prefix. */
  Exchange get(String path) throws Exception;

  /** Sends the head of a POST whose body never arrives. */
  Exchange postWithoutBody(String path) throws Exception;

  @Override
  void close() throws Exception;

  /** A request in flight. */
  interface Exchange {

    /** Waits for the response's status; 0 if the server ends the exchange without a response. */
    int status() throws Exception;

    /** Aborts: resets the stream, or with HTTP/1.1 the connection. */
    void abort() throws Exception;
  }
}
