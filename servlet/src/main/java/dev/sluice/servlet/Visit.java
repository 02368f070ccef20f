package dev.sluice.servlet;

import dev.sluice.limit.IpAddress;
import jakarta.servlet.http.HttpServletRequest;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A request as the rules see it; what costs something to find out is found out once. */
final class Visit {

  private final HttpServletRequest request;
  private final ClientAddress client;
  private final List<String> path;
  private final boolean welcomed;
  private boolean addressKnown;
  private @Nullable IpAddress address;

  Visit(HttpServletRequest request, ClientAddress client) {
    this.request = request;
    this.client = client;
    // Decoded and normalized by the container, below the context: what it finds the servlet by.
    String info = request.getPathInfo();
    String found = request.getServletPath() + (info == null ? "" : info);
    this.path = PathPattern.segments(found);
    this.welcomed = !found.endsWith("/") && !asksForTheLastOf(path, request.getRequestURI());
  }

  /** Whether a URI ends as the path does, which the container may have made longer. */
  private static boolean asksForTheLastOf(List<String> path, String uri) {
    String asked = uri.substring(uri.lastIndexOf('/') + 1);
    return path.isEmpty() || path.get(path.size() - 1).equals(PathPattern.decoded(asked));
  }

  HttpServletRequest request() {
    return request;
  }

  /** The path's segments, below the context. */
  List<String> path() {
    return path;
  }

  /**
   * Each path by which a rule may know the request. Tomcat goes on to a welcome file before any
   * filter runs, so that who asks for {@code /admin/} seems to ask for {@code /admin/index.html}:
   * then the folder is the second one.
   */
  List<List<String>> paths() {
    return welcomed ? List.of(path, path.subList(0, path.size() - 1)) : List.of(path);
  }

  /** The client's address, not grouped; null where the connection has none. */
  @Nullable IpAddress address() {
    if (!addressKnown) {
      address = client.find(request);
      addressKnown = true;
    }
    return address;
  }

  /** The client's address, grouped; null where the connection has none. */
  @Nullable IpAddress groupedAddress() {
    IpAddress found = address();
    return found == null ? null : client.grouped(found);
  }
}
