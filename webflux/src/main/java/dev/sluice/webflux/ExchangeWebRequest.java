// SPDX-License-Identifier: Apache-2.0
package dev.sluice.webflux;

import dev.sluice.web.WebPath;
import dev.sluice.web.WebRequest;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpCookie;
import org.springframework.http.HttpHeaders;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.web.server.ServerWebExchange;

/** The data of a WebFlux exchange that rules read. This class is as thread-safe as the exchange. */
final class ExchangeWebRequest implements WebRequest {

  private final ServerWebExchange exchange;
  private final ServerHttpRequest request;
  private final @Nullable String user;

  ExchangeWebRequest(ServerWebExchange exchange, @Nullable String user) {
    this.exchange = exchange;
    this.request = exchange.getRequest();
    this.user = user;
  }

  @Override
  public String method() {
    return request.getMethod().name();
  }

  @Override
  public String path() {
    return paths().get(0);
  }

  /** Returns the paths by which Spring can find a handler, with each segment decoded separately. */
  @Override
  public List<String> paths() {
    return WebPath.readings(request.getPath().pathWithinApplication().value());
  }

  @Override
  public List<String> headers(String name) {
    HttpHeaders headers = request.getHeaders();
    if (headers.getFirst(name) == null) {
      return name.equalsIgnoreCase("Host") ? authority() : List.of();
    }
    // Uses only methods with the same signature in Spring 6.2 and 7. If the client sent a header's
    // name in several spellings, headerSet contains each spelling, with all values.
    for (Map.Entry<String, List<String>> header : headers.headerSet()) {
      if (header.getKey().equalsIgnoreCase(name)) {
        return List.copyOf(header.getValue());
      }
    }
    return List.of();
  }

  /**
   * Returns the host of a request over HTTP/2, which Jetty and Tomcat show only in the URI.
   * Spring's ForwardedHeaderTransformer replaces this host by the client's X-Forwarded-Host.
   */
  private List<String> authority() {
    String authority = request.getURI().getRawAuthority();
    return authority == null ? List.of() : List.of(authority);
  }

  @Override
  public Iterable<String> headerNames() {
    return request.getHeaders().headerSet().stream().map(Map.Entry::getKey).toList();
  }

  @Override
  public List<String> cookies(String name) {
    List<HttpCookie> cookies = request.getCookies().get(name);
    return cookies == null ? List.of() : cookies.stream().map(HttpCookie::getValue).toList();
  }

  @Override
  public @Nullable String query() {
    return request.getURI().getRawQuery();
  }

  @Override
  public @Nullable String peer() {
    InetSocketAddress remote = request.getRemoteAddress();
    if (remote == null) {
      return null;
    }
    InetAddress address = remote.getAddress();
    return address == null ? remote.getHostString() : address.getHostAddress();
  }

  @Override
  public @Nullable String user() {
    return user;
  }

  @Override
  public <T> T unwrap(Class<T> type) {
    return type.isInstance(exchange) ? type.cast(exchange) : WebRequest.super.unwrap(type);
  }
}
