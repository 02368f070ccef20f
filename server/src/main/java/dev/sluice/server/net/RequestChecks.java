// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.SessionProtocol;
import com.linecorp.armeria.server.DecoratingHttpServiceFunction;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.Route;
import com.linecorp.armeria.server.RoutePathType;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.server.base.JsonLines;
import dev.sluice.server.base.RefusedException;
import dev.sluice.server.net.AnyMethod.AskedByProxies;
import dev.sluice.server.net.ConnectionBudget.Stage;
import dev.sluice.server.net.HostPort.Authority;
import dev.sluice.server.tls.TlsIdentity.Tls;
import io.netty.util.NetUtil;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;

/*
 * A web page can make a browser send requests to every server that the browser can reach, even to a
 * server on loopback. The author of the page can make a domain name resolve to this server's
 * address (DNS rebinding). The server recognizes requests from foreign pages by the Host header,
 * which names the author's domain, or by the Origin header, which names another site. An IP address
 * cannot be rebound, so the server accepts every IP address as a host.
 *
 * A proxy can send any host. Browsers use HTTP/2 only with TLS, so a gRPC request without TLS
 * cannot come from a web page. With TLS, a browser that uses a wrong name for this server gets a
 * certificate for another name, and sends no request.
 *
 * A trusted proxy that asks for a decision sends its client's headers, so the server does not check
 * the host and the origin of requests from trusted proxies.
 */

/** Refuses requests whose host or origin shows that they are not meant for this server. */
record RequestChecks(Set<String> hosts, Set<String> origins, ConnectionBudget traffic)
    implements DecoratingHttpServiceFunction {

  private static final String ANY = "*";
  static final String LOCALHOST = "localhost";
  private static final Pattern NAME = Pattern.compile("[a-z0-9_.-]+");
  private static final String PARAMETERS = "\0:{*";

  @Override
  public HttpResponse serve(HttpService next, ServiceRequestContext context, HttpRequest request)
      throws Exception {
    requireOneHost(context, request);
    if (!isForAnother(context)) {
      requireMeantForUs(context, request);
    }
    if (isAlias(context)) {
      throw wrongPath(JsonLines.shown(context.rawPath()));
    }
    if (traffic.stage() != Stage.OPEN && context.path().equals("/readyz")) {
      throw stopping();
    }
    return next.serve(context, request);
  }

  private static boolean isBeyondBrowsers(ServiceRequestContext context, HttpRequest request) {
    return context.sessionProtocol() == SessionProtocol.H2C
        && Requests.isGrpc(context, request.headers());
  }

  /**
   * Whether a trusted proxy asks about its client's request, so that Host and Origin are the
   * client's headers.
   */
  private static boolean isForAnother(ServiceRequestContext context) {
    AskedByProxies asked = context.config().service().as(AskedByProxies.class);
    return asked != null && asked.isFromProxy(context);
  }

  private static void requireOneHost(ServiceRequestContext context, HttpRequest request) {
    if (request.headers().getAll(HttpHeaderNames.HOST).size() > 1) {
      throw severalHosts();
    }
    if (Authority.isMissing(request.authority()) && !isBeyondBrowsers(context, request)) {
      throw noHost();
    }
  }

  private void requireMeantForUs(ServiceRequestContext context, HttpRequest request) {
    String authority = String.valueOf(request.authority());
    if (!isBeyondBrowsers(context, request)) {
      requireHost(authority);
      if (!authority.equalsIgnoreCase(request.headers().get(HttpHeaderNames.HOST, authority))) {
        throw severalHosts(); // in HTTP/2, :authority and Host differ
      }
    }
    for (String origin : request.headers().getAll(HttpHeaderNames.ORIGIN)) {
      if (!isOrigin(origin, ownOrigin(context, authority))) {
        throw wrongOrigin(JsonLines.shown(origin));
      }
    }
  }

  private void requireHost(String text) {
    Authority authority = Authority.parse(text);
    if (authority == null) {
      throw badHost(JsonLines.shown(text));
    }
    if (!isHost(authority.host())) {
      throw wrongHost(JsonLines.shown(text));
    }
  }

  private boolean isHost(String host) {
    return host.equals(LOCALHOST)
        || (host.endsWith("." + LOCALHOST) && NAME.matcher(host).matches())
        || hosts.contains(host)
        || hosts.contains(ANY)
        || isAddress(host);
  }

  private static boolean isAddress(String host) {
    return (host.startsWith("[") && host.endsWith("]"))
        ? NetUtil.isValidIpV6Address(host.substring(1, host.length() - 1))
        : NetUtil.isValidIpV4Address(host);
  }

  /** Whether web pages of an origin may call this server. */
  private boolean isOrigin(String origin, String own) {
    String lower = origin.toLowerCase(Locale.ROOT);
    return origins.contains(ANY) || origins.contains(lower) || lower.equals(own);
  }

  private static String ownOrigin(ServiceRequestContext context, String authority) {
    String scheme = Tls.session(context) == null ? "http://" : "https://";
    return scheme + authority.toLowerCase(Locale.ROOT);
  }

  /** Whether the path matches a route only because Armeria parses paths leniently. */
  private static boolean isAlias(ServiceRequestContext context) {
    Route route = context.config().route();
    String raw = beforeQuery(context.rawPath());
    if (route.isFallback()) {
      return false;
    }
    String path = route.paths().get(0);
    return route.pathType() == RoutePathType.EXACT
        ? !raw.equals(path)
        : !raw.startsWith(literal(path));
  }

  private static String beforeQuery(String path) {
    int query = path.indexOf('?');
    return query < 0 ? path : path.substring(0, query);
  }

  /** Returns the text of a route's path before the path's first parameter. */
  private static String literal(String path) {
    int end = 0;
    while (end < path.length() && PARAMETERS.indexOf(path.charAt(end)) < 0) {
      end++;
    }
    return path.substring(0, end);
  }

  private static RefusedException stopping() {
    return new RefusedException(
        HttpStatus.SERVICE_UNAVAILABLE,
        "stopping",
        "The server is stopping",
        "the server is stopping; send new requests to another server");
  }

  private static RefusedException wrongHost(String host) {
    return new RefusedException(
        HttpStatus.MISDIRECTED_REQUEST,
        "wrong-host",
        "The Host is not a name of this server",
        "Host %s is neither localhost, nor an IP address, nor a name that the server was given with --host; a proxy that asks /v1/forward-auth must be in --trusted-proxies"
            .formatted(host));
  }

  private static RefusedException noHost() {
    return new RefusedException(
        HttpStatus.BAD_REQUEST,
        "no-host",
        "The Host header is missing",
        "send a Host header with the name or address of this server (RFC 9112, section 3.2)");
  }

  private static RefusedException badHost(String host) {
    return new RefusedException(
        HttpStatus.BAD_REQUEST,
        "bad-host",
        "The Host header is malformed",
        "Host %s is malformed; send a name or an address, with a port up to 65535 if any"
            .formatted(host));
  }

  private static RefusedException severalHosts() {
    return new RefusedException(
        HttpStatus.BAD_REQUEST,
        "several-hosts",
        "The request has several hosts",
        "send one Host header, or one :authority (RFC 9112, section 3.2)");
  }

  private static RefusedException wrongOrigin(String origin) {
    return new RefusedException(
        HttpStatus.FORBIDDEN,
        "wrong-origin",
        "Web pages of this origin may not call this server",
        "Origin %s is not one that the server was given with --allow-origin".formatted(origin));
  }

  private static RefusedException wrongPath(String path) {
    return new RefusedException(
        HttpStatus.NOT_FOUND,
        "not-found",
        "There is nothing at this path",
        "the path %s is spelled differently from the one that GET / lists".formatted(path));
  }
}
