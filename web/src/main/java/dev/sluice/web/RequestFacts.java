// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.limit.IpAddress;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A request with the values that rules derive from it, each computed once. For code that matches
 * requests by {@link PathPattern}, {@link VaryBy} and {@link AddressRange} itself, as the server's
 * rule book does. Not thread-safe; for one request. Never blocks.
 */
public final class RequestFacts {

  private final WebRequest request;
  private final ClientAddress client;
  private @Nullable List<List<String>> paths;
  private @Nullable List<RequestFacts> readings;
  private boolean addressKnown;
  private @Nullable IpAddress address;

  /**
   * Starts to look at a request.
   *
   * @param request the request
   * @param client how the client's address is found
   */
  public RequestFacts(WebRequest request, ClientAddress client) {
    this.request = request;
    this.client = client;
  }

  private RequestFacts(RequestFacts facts, List<String> path) {
    this(facts.request, facts.client);
    this.paths = List.of(path);
    this.addressKnown = facts.addressKnown;
    this.address = facts.address;
  }

  /**
   * Returns the request.
   *
   * @return the request
   */
  public WebRequest request() {
    return request;
  }

  /**
   * The request by each path by which the application may know it, as if that were the only one.
   */
  List<RequestFacts> readings() {
    List<RequestFacts> each = readings;
    if (each == null) {
      each =
          paths().size() == 1
              ? List.of(this)
              : paths().stream().map(path -> new RequestFacts(this, path)).toList();
      readings = each;
    }
    return each;
  }

  /** The segments of the request's path, of the first one where there are several. */
  List<String> path() {
    return paths().get(0);
  }

  /** The segments of each path by which a rule may know the request. */
  List<List<String>> paths() {
    List<List<String>> segments = paths;
    if (segments == null) {
      segments = request.paths().stream().map(PathPattern::segments).toList();
      paths = segments;
    }
    return segments;
  }

  /**
   * Returns the first segment of each path by which a rule may know the request. A pattern with a
   * {@linkplain PathPattern#leadingSegment() leading segment} that is not among them does not match
   * it.
   *
   * @return the segments, each once; none for the path {@code /}
   */
  public List<String> leadingSegments() {
    return paths().stream()
        .filter(path -> !path.isEmpty())
        .map(path -> path.get(0))
        .distinct()
        .toList();
  }

  /**
   * Returns the client's address, not grouped.
   *
   * @return the address, null if the connection has none
   */
  public @Nullable IpAddress address() {
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

  /**
   * Returns the cost that a header of the request says. 0 counts as 1: a header is the client's,
   * and a client must not choose to be charged nothing.
   *
   * @param header the header's name
   * @param otherwise tokens for a request without the header
   * @return tokens; at least 1 where the header is there
   * @throws UnusableRequestException if the header is there twice, or is not a whole number
   */
  public long cost(String header, long otherwise) {
    List<String> values = request.headers(header);
    if (values.isEmpty()) {
      return otherwise;
    }
    String text = values.get(0).strip();
    if (values.size() > 1 || !text.matches("[0-9]{1,18}")) {
      throw new UnusableRequestException(
          "send the cost in header %s once, as a whole number".formatted(header));
    }
    return Math.max(1, Long.parseLong(text));
  }
}
