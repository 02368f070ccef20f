// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

import dev.sluice.proof.memory.InstrumentedStore.Clock;
import dev.sluice.proof.memory.Instrumenter.Sites;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.reflect.Constructor;

/**
 * Creates stores from an instrumented copy of the store's classes. Only one thread can use this
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

  /**
   * Loads an instrumented copy of the classes in the store's package. The parent class loader loads
   * the classes of all other packages. Thread-safe.
   */
  private static final class InstrumentingLoader extends ClassLoader {

    private static final String PACKAGE = "dev.sluice.store.";

    private final Instrumenter instrumenter;

    static {
      boolean unused = registerAsParallelCapable();
    }

    InstrumentingLoader(Sites sites) {
      super(InstrumentingLoader.class.getClassLoader());
      this.instrumenter = new Instrumenter(sites);
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (!name.startsWith(PACKAGE)) {
        return super.loadClass(name, resolve);
      }
      synchronized (getClassLoadingLock(name)) {
        Class<?> known = findLoadedClass(name);
        return known != null ? known : define(name);
      }
    }

    private Class<?> define(String name) throws ClassNotFoundException {
      try (InputStream in = getResourceAsStream(name.replace('.', '/') + ".class")) {
        if (in == null) {
          throw new ClassNotFoundException(name);
        }
        byte[] bytes = in.readAllBytes();
        // The simulator's own class in this package is not part of the tested store, so it needs no
        // instrumentation.
        if (!name.startsWith(InstrumentedStores.NAME)) {
          bytes = instrumenter.instrument(bytes);
        }
        return defineClass(name, bytes, 0, bytes.length);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
