// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;

/** Which build of Sluice runs, and on which Java. Stateless. */
public final class BuildInfo {

  private BuildInfo() {}

  /**
   * Returns the version of Sluice.
   *
   * @return the version; {@code development} outside of its jar
   */
  public static String version() {
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
