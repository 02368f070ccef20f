// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.internal.text.SafeText;
import dev.sluice.server.otlp.Otlp.OtlpSettings;
import java.net.URI;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of a server that sends metrics and traces to OpenTelemetry. */
final class OtlpOptions {

  private static final String RECEIVER = "--otlp";
  private static final String HEADERS = "--otlp-headers-file";
  private static final String INTERVAL = "--otlp-interval";
  private static final String TRACED = "--otlp-traced";
  static final String USUAL_INTERVAL = "1m";
  static final String USUAL_SHARE = "0";

  @Option(
      names = RECEIVER,
      paramLabel = "URL",
      description =
          "Send metrics and traces to this receiver of OTLP over HTTP, such as"
              + " http://collector:4318. GET /metrics stays available. If not given, nothing is"
              + " sent.")
  private @Nullable String receiver;

  @Option(
      names = HEADERS,
      paramLabel = "FILE",
      description =
          "A file with one line of headers for the OTLP receiver, NAME=VALUE,NAME=VALUE; or set"
              + " SLUICE_OTLP_HEADERS.")
  private @Nullable Path headers;

  @Option(
      names = INTERVAL,
      paramLabel = "PERIOD",
      description = "How often metrics are sent (" + USUAL_INTERVAL + ").")
  private @Nullable String interval;

  @Option(
      names = TRACED,
      paramLabel = "SHARE",
      description =
          "The share, 0 to 1, of requests without a trace context that are also traced"
              + " ("
              + USUAL_SHARE
              + ": only requests with a trace context are traced).")
  private @Nullable String traced;

  /** Returns the checks of these options; a check throws if its option has a wrong value. */
  List<Supplier<?>> each() {
    return List.of(this::every, this::share);
  }

  private Duration every() {
    return Quantities.positive(INTERVAL, interval == null ? USUAL_INTERVAL : interval);
  }

  /** Returns the settings, or null if no metrics and traces are sent. */
  @Nullable OtlpSettings settings(Map<String, String> environment) {
    Duration every = every();
    double share = share();
    if (receiver == null) {
      if (headers != null || interval != null || traced != null) {
        String option = headers != null ? HEADERS : interval != null ? INTERVAL : TRACED;
        throw new InputException(option + " requires " + RECEIVER + " URL");
      }
      return null;
    }
    String secret = InputFiles.secret(HEADERS, headers, "SLUICE_OTLP_HEADERS");
    String place = headers == null ? "SLUICE_OTLP_HEADERS" : HEADERS;
    try {
      return new OtlpSettings(
          uri(receiver),
          every,
          share,
          secret == null ? Map.of() : pairs(place, secret),
          attributes(environment));
    } catch (IllegalArgumentException e) {
      throw new InputException(RECEIVER + ": " + e.getMessage());
    }
  }

  private static URI uri(String text) {
    try {
      return URI.create(text);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "found %s, expected a URL such as http://collector:4318"
              .formatted(OtlpSettings.shown(text)));
    }
  }

  private double share() {
    String text = traced == null ? USUAL_SHARE : traced;
    try {
      double share = Double.parseDouble(text);
      if (share >= 0 && share <= 1) {
        return share;
      }
    } catch (NumberFormatException e) {
      // A text that is not a number is reported by the exception below.
    }
    throw new InputException(
        "%s: found %s, expected a number from 0 to 1".formatted(TRACED, SafeText.quote(text)));
  }

  /** Returns the resource attributes in OpenTelemetry's variables, which platforms can set. */
  private static Map<String, String> attributes(Map<String, String> environment) {
    String list = environment.getOrDefault("OTEL_RESOURCE_ATTRIBUTES", "");
    Map<String, String> all =
        new LinkedHashMap<>(list.isBlank() ? Map.of() : pairs("OTEL_RESOURCE_ATTRIBUTES", list));
    String name = environment.getOrDefault("OTEL_SERVICE_NAME", "");
    if (!name.isBlank()) {
      all.put("service.name", name);
    }
    return all;
  }

  /**
   * Parses the pairs of an OpenTelemetry variable, whose values are percent-encoded. Error messages
   * never show the values of the variable, since the values can be secret.
   */
  private static Map<String, String> pairs(String place, String text) {
    Map<String, String> pairs = new LinkedHashMap<>();
    for (String pair : text.split(",", -1)) {
      int equals = pair.indexOf('=');
      String name = equals < 0 ? "" : pair.substring(0, equals).strip();
      if (name.isEmpty()) {
        throw new InputException(place + ": expected NAME=VALUE,NAME=VALUE");
      }
      String value = pair.substring(equals + 1).strip();
      try {
        pairs.put(name, URLDecoder.decode(value.replace("+", "%2B"), StandardCharsets.UTF_8));
      } catch (IllegalArgumentException e) {
        throw new InputException(place + ": a \"%\" must be followed by two hexadecimal digits");
      }
    }
    return pairs;
  }
}
