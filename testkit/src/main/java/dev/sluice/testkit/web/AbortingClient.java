// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.web;

/** A client that sends without waiting, and can break off. */
interface AbortingClient extends AutoCloseable {

  /** Sends a GET for a path below the application's prefix. */
  Exchange get(String path) throws Exception;

  /** Sends the head of a POST whose body never comes. */
  Exchange postWithoutBody(String path) throws Exception;

  @Override
  void close() throws Exception;

  /** A request under way. */
  interface Exchange {

    /** Waits for the response's status; 0 where the server ends the exchange without one. */
    int status() throws Exception;

    /** Breaks off: resets the stream, or with HTTP/1.1 the connection. */
    void abort() throws Exception;
  }
}
