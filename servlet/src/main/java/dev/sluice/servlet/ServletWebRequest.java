// SPDX-License-Identifier: Apache-2.0
package dev.sluice.servlet;

import dev.sluice.web.UnusableRequestException;
import dev.sluice.web.WebPath;
import dev.sluice.web.WebRequest;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletRequestWrapper;
import jakarta.servlet.http.Cookie;
import jakarta.servlet.http.HttpServletRequest;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.security.Principal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The data of a servlet request that rules read. This class is as thread-safe as the request. */
final class ServletWebRequest implements WebRequest {

  private static final Pattern PORT = Pattern.compile(":[0-9]*$");

  private final HttpServletRequest request;
  private final String path;

  ServletWebRequest(HttpServletRequest request) {
    this.request = request;
    // The container finds the servlet by this path: decoded, normalized, without the context path.
    String info = request.getPathInfo();
    this.path = request.getServletPath() + (info == null ? "" : info);
  }

  @Override
  public String method() {
    return request.getMethod();
  }

  @Override
  public String path() {
    return path;
  }

  /**
   * Returns all paths by which the container or a framework can find a handler. The first path in
   * the list is the path by which the container finds the servlet. Tomcat maps {@code /admin/} to
   * the welcome file {@code /admin/index.html} before any filter runs; in this case, the folder is
   * a second path. Frameworks use the URI as the client sent it. Some frameworks decode the whole
   * URI by the charset of the request, so the list also contains the URI decoded by this charset.
   */
  @Override
  public List<String> paths() {
    String sent = belowTheContext(request.getRequestURI());
    List<String> readings = WebPath.readings(sent.isEmpty() ? "/" : sent);
    List<String> paths = new ArrayList<>(List.of(path));
    if (wasMadeLonger()) {
      paths.add(path.substring(0, lastSegmentStart()));
    }
    paths.addAll(readings);
    if (sent.indexOf('%') >= 0 || sent.indexOf('+') >= 0) {
      paths.addAll(WebPath.readingsIn(charset(), sent));
    }
    return paths;
  }

  /** Returns the charset with which Spring's older path matcher decodes a path. */
  private Charset charset() {
    String name = request.getCharacterEncoding();
    try {
      return name == null ? StandardCharsets.ISO_8859_1 : Charset.forName(name);
    } catch (IllegalArgumentException e) {
      throw new UnusableRequestException("the charset of the request is unknown");
    }
  }

  private String belowTheContext(String uri) {
    String context = request.getContextPath();
    return uri.startsWith(context) ? uri.substring(context.length()) : uri;
  }

  /**
   * Whether the container appended a welcome file, so that the path and the URI end differently.
   */
  private boolean wasMadeLonger() {
    if (path.isEmpty() || path.endsWith("/")) {
      return false;
    }
    String uri = request.getRequestURI();
    String asked = WebPath.decodedSegment(uri.substring(uri.lastIndexOf('/') + 1));
    return !path.substring(lastSegmentStart()).equals(asked);
  }

  private int lastSegmentStart() {
    return path.lastIndexOf('/') + 1;
  }

  @Override
  public List<String> headers(String name) {
    List<String> sent = Collections.list(request.getHeaders(name));
    return name.equalsIgnoreCase("Host") && hasAuthority() ? withAuthority(sent) : sent;
  }

  private boolean hasAuthority() {
    String protocol = request.getProtocol(); // null behind some serverless adapters
    return protocol != null && (protocol.startsWith("HTTP/2") || protocol.startsWith("HTTP/3"));
  }

  /**
   * Returns the host of a request over HTTP/2 or HTTP/3. Clients send this host as {@code
   * :authority}, which Jetty and Tomcat keep out of the headers. If the client also sent another
   * host in the header, as old versions of Tomcat allow, both are returned, so that the request is
   * refused.
   */
  private List<String> withAuthority(List<String> sent) {
    // Asks the container, since Spring's ForwardedHeaderFilter shows the X-Forwarded-Host instead.
    ServletRequest ofContainer = request;
    while (ofContainer instanceof ServletRequestWrapper wrapper) {
      ofContainer = wrapper.getRequest();
    }
    String name = ofContainer.getServerName();
    if (name == null) {
      return sent;
    }
    boolean lacksBrackets = name.indexOf(':') >= 0 && !name.startsWith("["); // as in Undertow
    String authority = lacksBrackets ? "[" + name + "]" : name;
    boolean isSame =
        sent.stream()
            .allMatch(host -> authority.equalsIgnoreCase(PORT.matcher(host).replaceFirst("")));
    return isSame
        ? List.of(authority)
        : Stream.concat(sent.stream(), Stream.of(authority)).toList();
  }

  @Override
  public @Nullable Iterable<String> headerNames() {
    Enumeration<String> names = request.getHeaderNames();
    return names == null ? null : Collections.list(names);
  }

  @Override
  public List<String> cookies(String name) {
    Cookie[] cookies = request.getCookies();
    if (cookies == null) {
      return List.of();
    }
    List<String> values = new ArrayList<>();
    for (Cookie cookie : cookies) {
      if (cookie.getName().equals(name)) {
        values.add(cookie.getValue());
      }
    }
    return values;
  }

  @Override
  public @Nullable String query() {
    return request.getQueryString();
  }

  @Override
  public @Nullable String peer() {
    return request.getRemoteAddr();
  }

  @Override
  public @Nullable String user() {
    Principal principal = request.getUserPrincipal();
    return principal == null ? null : principal.getName();
  }

  @Override
  public <T> T unwrap(Class<T> type) {
    return type.isInstance(request) ? type.cast(request) : WebRequest.super.unwrap(type);
  }
}
