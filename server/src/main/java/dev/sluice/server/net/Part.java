// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import com.linecorp.armeria.server.ServerBuilder;

/**
 * Something that answers on the server's port, or lives as long as the server does.
 *
 * <p>A part that has something to start and stop adds a server listener; one that only answers adds
 * routes. Parts don't know each other.
 */
@FunctionalInterface
public interface Part {

  /**
   * Adds the part to a server that is being built. Must not block.
   *
   * @param server takes routes and listeners
   */
  void addTo(ServerBuilder server);

  /**
   * Adds what a request meets after the server's own checks, and before its body is read. Must not
   * block.
   *
   * @param decorators takes them
   */
  default void addLast(Decorators decorators) {}

  /**
   * Adds what a request meets first, before the server's own checks and bounds: how a part's
   * protocol tells what the server refuses. Must not block.
   *
   * @param decorators takes them
   */
  default void addFirst(Decorators decorators) {}
}
