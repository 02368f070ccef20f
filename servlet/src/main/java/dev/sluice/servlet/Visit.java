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
  private boolean addressKnown;
  private @Nullable IpAddress address;

  Visit(HttpServletRequest request, ClientAddress client) {
    this.request = request;
    this.client = client;
    // Decoded and normalized by the container, below the context: what it finds the servlet by.
    String info = request.getPathInfo();
    this.path = PathPattern.segments(request.getServletPath() + (info == null ? "" : info));
  }

  HttpServletRequest request() {
    return request;
  }

  /** The path's segments, below the context. */
  List<String> path() {
    return path;
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
