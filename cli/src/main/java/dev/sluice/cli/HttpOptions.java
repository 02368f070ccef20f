// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.server.service.ServerConfig;
import dev.sluice.text.SafeText;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.ProxyHeader;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options about clients of the HTTP door: who they are, and whose requests are answered. */
final class HttpOptions {

  static final String USUAL_HEADER = "x-forwarded-for";

  private static final Pattern HOST = Pattern.compile("\\*|[A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+]");
  private static final Pattern ORIGIN =
      Pattern.compile("\\*|null|[a-zA-Z][a-zA-Z0-9+.-]*://[^/?#\\s]+");

  @Option(
      names = "--trusted-proxies",
      paramLabel = "RANGE",
      split = ",",
      description =
          "Addresses of proxies, such as 10.0.0.0/8, that are believed when they say for whom they"
              + " ask (X-Forwarded-For, -Method, -Host, -Uri). Repeatable, or with commas.")
  private List<String> trustedProxies = new ArrayList<>();

  @Option(
      names = "--proxy-header",
      paramLabel = "HEADER",
      description =
          "The header in which all trusted proxies name the client: x-forwarded-for (the default)"
              + " or forwarded (RFC 7239). The other one is not looked at.")
  private @Nullable String proxyHeader;

  @Option(
      names = "--host",
      paramLabel = "NAME",
      split = ",",
      description =
          "A name that clients use for this server, besides localhost and IP addresses; * allows"
              + " any. Requests for another Host are refused. Repeatable.")
  private List<String> hosts = new ArrayList<>();

  @Option(
      names = "--allow-origin",
      paramLabel = "ORIGIN",
      split = ",",
      description =
          "An origin, such as https://example.com, whose web pages may ask this server; * allows"
              + " any. Others are refused. Repeatable.")
  private List<String> origins = new ArrayList<>();

  @Option(names = "--request-log", description = "Log each request, with the client's address.")
  private boolean requestLog;

  /** What throws for a value that is wrong, each on its own. */
  List<Supplier<?>> each() {
    List<Supplier<?>> checks = new ArrayList<>();
    hosts.forEach(host -> checks.add(() -> host(host)));
    origins.forEach(origin -> checks.add(() -> origin(origin)));
    trustedProxies.forEach(proxy -> checks.add(() -> clientAddress(List.of(proxy))));
    checks.add(this::proxyHeader);
    return checks;
  }

  ServerConfig.Http http(InetSocketAddress address) {
    return new ServerConfig.Http(
        address,
        clientAddress(),
        hosts.stream().map(HttpOptions::host).collect(Collectors.toSet()),
        origins.stream().map(HttpOptions::origin).collect(Collectors.toSet()),
        requestLog);
  }

  private static String host(String text) {
    return one("--host", text, HOST, "a name such as sluice.example.com, without scheme and port");
  }

  private static String origin(String text) {
    return one("--allow-origin", text, ORIGIN, "an origin such as https://example.com");
  }

  /** A value of a list; there may be spaces around its commas. */
  private static String one(String option, String text, Pattern form, String expected) {
    String one = text.strip();
    if (!form.matcher(one).matches()) {
      throw new InputException(
          "%s: found %s, expected %s".formatted(option, SafeText.quote(one), expected));
    }
    return one;
  }

  private ProxyHeader proxyHeader() {
    String name = proxyHeader == null ? USUAL_HEADER : proxyHeader;
    ProxyHeader header =
        switch (name.toLowerCase(Locale.ROOT)) {
          case USUAL_HEADER -> ProxyHeader.X_FORWARDED_FOR;
          case "forwarded" -> ProxyHeader.FORWARDED;
          default ->
              throw new InputException(
                  "--proxy-header: found %s, expected x-forwarded-for or forwarded"
                      .formatted(SafeText.quote(name)));
        };
    if (proxyHeader != null && trustedProxies.isEmpty()) {
      throw new InputException("--proxy-header requires --trusted-proxies RANGE");
    }
    return header;
  }

  private ClientAddress clientAddress() {
    return trustedProxies.isEmpty() ? ClientAddress.direct() : clientAddress(trustedProxies);
  }

  private ClientAddress clientAddress(List<String> proxies) {
    ProxyHeader header = proxyHeader();
    try {
      return ClientAddress.behind(header, proxies.toArray(String[]::new));
    } catch (IllegalArgumentException e) {
      throw new InputException(
          "--trusted-proxies: " + String.valueOf(e.getMessage()).replace("trusted proxies: ", ""));
    }
  }
}
