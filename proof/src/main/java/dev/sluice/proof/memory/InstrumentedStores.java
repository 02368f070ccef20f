// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

import dev.sluice.proof.memory.InstrumentedStore.Clock;
import dev.sluice.proof.memory.Instrumenter.Sites;
import java.lang.reflect.Constructor;

/**
 * Creates stores from one instrumented copy of the store's classes. Only one thread can use this
 * object.
 */
final class InstrumentedStores {

  static final String NAME = "dev.sluice.store.InstrumentedTable";

  private final Sites sites = new Sites();
  private final Constructor<? extends InstrumentedStore> constructor;

  InstrumentedStores() {
    try {
      constructor =
          Class.forName(NAME, true, new InstrumentingLoader(sites))
              .asSubclass(InstrumentedStore.class)
              .getConstructor(Setup.class, Clock.class);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  InstrumentedStore make(Setup setup, Clock clock) {
    try {
      return constructor.newInstance(setup, clock);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  Sites sites() {
    return sites;
  }
}
