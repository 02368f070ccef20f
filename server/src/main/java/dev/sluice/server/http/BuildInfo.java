// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;

/** Which build of Sluice runs, and on which Java. Stateless. */
final class BuildInfo {

  private BuildInfo() {}

  /** The version of Sluice; {@code development} outside of its jar. */
  static String version() {
    String version = BuildInfo.class.getPackage().getImplementationVersion();
    return version == null ? "development" : version;
  }

  static void bind(MeterRegistry registry) {
    Gauge.builder("sluice.build.info", () -> 1)
        .description("1, with the version of Sluice and of Java as labels")
        .tag("version", version())
        .tag("java", Runtime.version().toString())
        .register(registry);
  }
}
