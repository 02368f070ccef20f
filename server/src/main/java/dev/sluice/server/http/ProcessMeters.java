// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.micrometer.core.instrument.binder.jvm.ClassLoaderMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmGcMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmThreadMetrics;
import io.micrometer.core.instrument.binder.system.FileDescriptorMetrics;
import io.micrometer.core.instrument.binder.system.ProcessorMetrics;
import io.micrometer.core.instrument.binder.system.UptimeMetrics;
import java.util.List;

/** The meters of the process and its JVM, under Micrometer's usual names. Thread-safe. */
final class ProcessMeters implements AutoCloseable {

  private final JvmGcMetrics collections;

  private ProcessMeters(JvmGcMetrics collections) {
    this.collections = collections;
  }

  /** Binds them; to be closed, since those of the garbage collector listen to the JVM. */
  static ProcessMeters bind(MeterRegistry registry) {
    JvmGcMetrics collections = new JvmGcMetrics();
    List<MeterBinder> all =
        List.of(
            new UptimeMetrics(),
            new ProcessorMetrics(),
            new FileDescriptorMetrics(),
            new JvmMemoryMetrics(),
            new JvmThreadMetrics(),
            new ClassLoaderMetrics(),
            collections);
    all.forEach(meters -> meters.bindTo(registry));
    return new ProcessMeters(collections);
  }

  @Override
  public void close() {
    collections.close();
  }
}
