// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;

/** Marks a thread that delivers a store's responses, and so must never wait for a response. */
public interface StoreThread {

  /**
   * Returns a factory of daemon threads named {@code sluice-KIND-ROLE-1} and so on.
   *
   * @param kind the kind of the store, such as {@code redis}
   */
  static ThreadFactory factory(String kind, String role) {
    AtomicInteger number = new AtomicInteger();
    return target ->
        new OfStore(target, "sluice-" + kind + "-" + role + "-" + number.incrementAndGet());
  }

  /** A plain thread that is marked as a thread of a store. */
  final class OfStore extends Thread implements StoreThread {

    private OfStore(Runnable target, String name) {
      super(target, name);
      setDaemon(true);
    }
  }
}
