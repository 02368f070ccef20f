// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import org.jspecify.annotations.Nullable;

/** The defaults of options of a server that depend on other options. Stateless. */
final class DependentDefaults {

  private DependentDefaults() {}

  /**
   * Returns what holds where an option is not set.
   *
   * @param key of an option that has no value
   * @return null for an option that is off, or that has no effect without another one
   */
  static @Nullable String of(String key, Settings settings) {
    return switch (key) {
      case "otlp-interval" -> settings.has("--otlp") ? OtlpOptions.USUAL_INTERVAL : null;
      case "otlp-traced" -> settings.has("--otlp") ? OtlpOptions.USUAL_SHARE : null;
      case "overrides-interval" ->
          settings.has("--overrides-db") ? OverrideTableOptions.USUAL_INTERVAL : null;
      case "requests-per-address" -> AccessOptions.perAddress(settings.has("--tokens"));
      case "rls-overrides" ->
          DoorOptions.usualRlsOverrides(
              settings.has("--tokens"), settings.isOn("--open") || settings.isOn("--insecure"));
      case "proxy-header" -> settings.has("--trusted-proxies") ? HttpOptions.USUAL_HEADER : null;
      case "snapshot-interval" ->
          settings.has("--snapshot") ? SnapshotOptions.USUAL_INTERVAL : null;
      case "tls-client-auth" -> settings.has("--tls-client-ca") ? TlsOptions.USUAL_AUTH : null;
      default -> null;
    };
  }
}
