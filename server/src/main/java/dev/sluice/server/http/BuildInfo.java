package dev.sluice.server.http;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;

/** Which build of Sluice runs, and on which Java. Stateless. */
final class BuildInfo {

  private BuildInfo() {}

  static void bind(MeterRegistry registry) {
    String version = BuildInfo.class.getPackage().getImplementationVersion();
    Gauge.builder("sluice.build.info", () -> 1)
        .description("1, with the version of Sluice and of Java as labels")
        .tag("version", version == null ? "development" : version)
        .tag("java", Runtime.version().toString())
        .register(registry);
  }
}
