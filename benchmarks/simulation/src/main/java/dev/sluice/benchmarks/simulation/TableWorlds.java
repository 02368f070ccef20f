// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.simulation;

import java.lang.reflect.Constructor;

/** Makes worlds over one instrumented copy of the store's classes. For one thread. */
final class TableWorlds {

  static final String NAME = "dev.sluice.store.TableWorld";

  private final Sites sites = new Sites();
  private final Constructor<? extends World> constructor;

  TableWorlds() {
    try {
      constructor =
          Class.forName(NAME, true, new InstrumentingLoader(sites))
              .asSubclass(World.class)
              .getConstructor(Setup.class, Clock.class);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  World make(Setup setup, Clock clock) {
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
