// SPDX-License-Identifier: Apache-2.0
package dev.sluice.servlet;

import dev.sluice.web.UnusableRequestException;
import dev.sluice.web.WebPath;
import dev.sluice.web.WebRequest;
import jakarta.servlet.http.Cookie;
import jakarta.servlet.http.HttpServletRequest;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.security.Principal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A servlet request as rules see it. As thread-safe as the servlet request. */
final class ServletWebRequest implements WebRequest {

  private final HttpServletRequest request;
  private final String path;

  ServletWebRequest(HttpServletRequest request) {
    this.request = request;
    // Decoded and normalized by the container, below the context: what it finds the servlet by.
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
   * The container's path comes first. Tomcat goes on to a welcome file before any filter runs, so
   * that a request for {@code /admin/} seems to ask for {@code /admin/index.html}: then the folder
   * is another path. Frameworks look for a handler by the URI as the client sent it, and so do its
   * readings. Some decode it as a whole, by the charset of the request.
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

  /** The charset by which Spring's older matcher decodes a path. */
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

  /** Whether the URI does not end as the path does, which names a file. */
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
    return Collections.list(request.getHeaders(name));
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
