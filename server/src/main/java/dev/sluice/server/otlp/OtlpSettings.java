// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.otlp;

import dev.sluice.internal.text.Durations;
import java.net.URI;
import java.time.Duration;
import java.util.Map;
import java.util.TreeSet;

/**
 * The settings for sending metrics and traces to an OTLP receiver. Immutable.
 *
 * @param receiver the base of the receiver's URLs, such as {@code http://collector:4318}
 * @param interval how often metrics are sent, more than zero and at most 292 years
 * @param traced the share, from 0 to 1, of traced requests among the requests whose client sends no
 *     trace
 * @param headers the headers of each message to the receiver, such as a header with a key; never
 *     logged
 * @param attributes the resource attributes of the sender, in addition to {@code service.name}
 */
public record OtlpSettings(
    URI receiver,
    Duration interval,
    double traced,
    Map<String, String> headers,
    Map<String, String> attributes) {

  /**
   * Checks the settings.
   *
   * @param receiver the base of the receiver's URLs, with the scheme http or https, and a host
   * @throws IllegalArgumentException if a value is out of range; if the URL has no host, or
   *     contains a query or a password
   */
  public OtlpSettings {
    boolean isHttp = "http".equals(receiver.getScheme()) || "https".equals(receiver.getScheme());
    if (!isHttp || receiver.getHost() == null || receiver.getRawQuery() != null) {
      throw new IllegalArgumentException(
          "found %s, expected a URL such as http://collector:4318".formatted(shown(receiver)));
    }
    if (receiver.getRawUserInfo() != null) {
      throw new IllegalArgumentException(
          "found a password in the URL; send it as a header, which is not logged");
    }
    interval = Durations.positive("interval", interval);
    if (!(traced >= 0 && traced <= 1)) {
      throw new IllegalArgumentException("found " + traced + ", expected 0 to 1");
    }
    headers = Map.copyOf(headers);
    attributes = Map.copyOf(attributes);
  }

  /**
   * Returns a text for logs. The text contains only the names of the headers, since header values
   * can be secret keys.
   */
  @Override
  public String toString() {
    return "OtlpSettings[receiver=%s, interval=%s, traced=%s, headers=%s, attributes=%s]"
        .formatted(receiver, interval, traced, new TreeSet<>(headers.keySet()), attributes);
  }

  private static String shown(URI receiver) {
    return receiver.toString().replaceAll("//.*@", "//…@");
  }

  /** Returns the receiver's URL for a path such as {@code v1/metrics}. */
  String endpoint(String path) {
    String base = receiver.toString();
    return base.endsWith("/") ? base + path : base + "/" + path;
  }
}
