// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.web;

/** A running server with an application behind the filter under test. */
public interface FilteredSite extends AutoCloseable {

  /**
   * Returns the port on which the server listens on the loopback interface.
   *
   * @return the port
   */
  int port();

  /**
   * Returns the path below which the server runs the application.
   *
   * @return for example {@code /app}, or an empty text for the root
   */
  String prefix();

  /** Stops the server. */
  @Override
  void close() throws Exception;
}
