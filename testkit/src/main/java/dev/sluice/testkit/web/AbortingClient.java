// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.web;

interface AbortingClient extends AutoCloseable {

  /** Sends a GET for a path below the application's prefix. */
  Exchange get(String path) throws Exception;

  Exchange postWithoutBody(String path) throws Exception;

  @Override
  void close() throws Exception;

  /** A request in flight. */
  interface Exchange {

    int status() throws Exception;

    void abort() throws Exception;
  }
}
