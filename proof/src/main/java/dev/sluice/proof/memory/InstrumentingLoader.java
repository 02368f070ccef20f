// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

import dev.sluice.proof.memory.Instrumenter.Sites;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

/**
 * Loads an instrumented copy of the store's package. The parent loader loads all other classes.
 * Thread-safe.
 */
final class InstrumentingLoader extends ClassLoader {

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
      if (!name.startsWith(
          InstrumentedStores.NAME)) { // the simulator's own classes are not instrumented
        bytes = instrumenter.instrument(bytes);
      }
      return defineClass(name, bytes, 0, bytes.length);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
