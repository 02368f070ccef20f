// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.server.net.AnyMethod;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.PlainRequest;
import dev.sluice.web.UnusableRequestException;
import dev.sluice.web.WebRequest;
import dev.sluice.wire.WireException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/*
 * A proxy describes its client's request in the headers X-Forwarded-Method, -Host, -Uri and -For.
 * Other headers are ignored: nginx forwards the client's headers, so a client could describe
 * another request in a header that the proxy does not overwrite. Envoy works differently: it
 * appends the original path to this server's path, and keeps the method and the host. With Envoy,
 * the client can set X-Forwarded-Method, -Uri and -Host.
 */
/** The request that a proxy's client has sent to the proxy. Not thread-safe. */
final class AskedRequest implements WebRequest {

  static final String METHOD = "X-Forwarded-Method";
  static final String URI = "X-Forwarded-Uri";
  private static final String HOST = "X-Forwarded-Host";

  /**
   * Headers that change the path for Django on Daphne, for gunicorn, and for Yii, which runs on PHP
   * and cannot distinguish "-" from "_". Most proxies forward these headers from their clients to
   * the application.
   */
  private static final List<String> CHANGE_THE_PATH =
      List.of(
          "Daphne-Root-Path",
          "SCRIPT_NAME",
          "X-Rewrite-Url",
          "X_Rewrite_Url",
          "X-Rewrite_Url",
          "X_Rewrite-Url");

  private static final String BEHIND = ForwardAuthResource.PATH + "/";

  private final HttpRequest request;
  private final String raw;
  private final String peer;
  private final ClientAddress clientAddress;
  private final boolean trusted;
  private final @Nullable String pathBehind;
  private @Nullable PlainRequest original;
  private @Nullable PlainRequest client;

  private AskedRequest(
      HttpRequest request,
      String raw,
      String peer,
      ClientAddress clientAddress,
      @Nullable String pathBehind) {
    this.request = request;
    this.raw = raw;
    this.peer = peer;
    this.clientAddress = clientAddress;
    this.trusted = clientAddress.trusts(peer);
    this.pathBehind = pathBehind;
  }

  static AskedRequest of(ServiceRequestContext context, HttpRequest request, ClientAddress client) {
    String raw = String.valueOf(context.routingContext().requestTarget().rawPath());
    boolean behind = raw.startsWith(BEHIND);
    return new AskedRequest(
        request,
        raw,
        peerOf(context),
        client,
        behind ? raw.substring(ForwardAuthResource.PATH.length()) : null);
  }

  /** Returns the IP address of the proxy or client that opened the connection. */
  static String peerOf(ServiceRequestContext context) {
    return context.remoteAddress().getAddress().getHostAddress();
  }

  /** Returns the query, which the proxy or the client wrote; null for none. */
  @Nullable String writtenQuery() {
    return queryOf(raw);
  }

  /** Returns the query of the proxy's configuration; refuses a query of the client. */
  @Nullable String ownQuery() {
    String query = writtenQuery();
    for (String uri : request.headers().getAll(URI)) {
      if (query != null && !query.isEmpty() && query.equals(queryOf(uri))) {
        throw new WireException(
            null,
            "found the original request's query, expected only the query in the proxy's configuration;"
                + " stop the proxy from appending the original query");
      }
    }
    return query;
  }

  private static @Nullable String queryOf(String target) {
    int question = target.indexOf('?');
    return question < 0 ? null : target.substring(question + 1);
  }

  boolean isTrusted() {
    return trusted;
  }

  /** Whether the proxy appended the client's path, so that the query is the client's query. */
  boolean isPathBehind() {
    return pathBehind != null;
  }

  /**
   * Returns the original method and target; refuses a proxy that is not trusted, and a request with
   * a header that changes the path.
   */
  private PlainRequest original() {
    PlainRequest known = original;
    if (known == null) {
      requireTrusted();
      for (String header : CHANGE_THE_PATH) {
        if (request.headers().contains(header)) {
          throw new UnusableRequestException(
              "the header %s can change the path; send the request without this header"
                  .formatted(header));
        }
      }
      known =
          pathBehind == null
              ? WebRequest.builder(said(METHOD), said(URI)).build()
              : WebRequest.builder(AnyMethod.of(request), pathBehind).build();
      original = known;
    }
    return known;
  }

  /** Throws unless the peer is a trusted proxy, which may describe its client's request. */
  private void requireTrusted() {
    if (!trusted) {
      throw new WireException(
          null,
          "found the peer %s, expected a trusted proxy: start the server with --trusted-proxies %s"
              .formatted(peer, peer));
    }
  }

  private String said(String header) {
    List<String> values = request.headers().getAll(header);
    if (values.size() != 1 || values.get(0).isBlank()) {
      throw new WireException(
          null,
          "found the header %s %s, expected it once with a value: the proxy must set it"
              .formatted(
                  header, values.size() == 1 ? "without a value" : values.size() + " times"));
    }
    return values.get(0);
  }

  /** Returns the original request with all headers from the proxy, but without the host. */
  private PlainRequest client() {
    PlainRequest known = client;
    if (known == null) {
      PlainRequest.Builder headers = WebRequest.builder("GET", "/").peer(peer);
      request
          .headers()
          .forEach(
              (name, value) -> {
                String text = name.toString();
                if (!text.startsWith(":") && !text.equals("host")) {
                  headers.header(AnyMethod.headerName(text), value);
                }
              });
      known = headers.build();
      client = known;
    }
    return known;
  }

  /** Returns the requested host; the proxy's host if the proxy appended the client's path. */
  private List<String> hosts() {
    requireTrusted();
    if (pathBehind != null) {
      String own = request.authority();
      return own == null ? List.of() : List.of(own);
    }
    if (request.headers().getAll(HOST).equals(List.of(""))) {
      throw new UnusableRequestException("the request has no host, which a rule or key reads");
    }
    String host = said(HOST);
    if (host.indexOf(',') >= 0) {
      throw new WireException(
          null,
          "found several hosts in the header %s, expected one host: the proxy must set it"
              .formatted(HOST));
    }
    return List.of(host);
  }

  @Override
  public String method() {
    return original().method();
  }

  @Override
  public String path() {
    return original().path();
  }

  @Override
  public List<String> paths() {
    return original().paths();
  }

  @Override
  public @Nullable String query() {
    return original().query();
  }

  @Override
  public List<String> headers(String name) {
    return name.equalsIgnoreCase("Host") ? hosts() : client().headers(name);
  }

  @Override
  public @Nullable Iterable<String> headerNames() {
    return client().headerNames();
  }

  @Override
  public List<String> cookies(String name) {
    return client().cookies(name);
  }

  /** Returns the proxy's address; refuses a proxy that does not send its client's address. */
  @Override
  public @Nullable String peer() {
    requireTrusted();
    if (clientAddress.findNamed(client()) == null) {
      throw new WireException(
          null,
          "the proxy %s names no client: it must send an address in X-Forwarded-For (in Forwarded, with"
                  .formatted(peer)
              + " --proxy-header forwarded)");
    }
    return peer;
  }

  @Override
  public @Nullable String user() {
    return null;
  }
}
