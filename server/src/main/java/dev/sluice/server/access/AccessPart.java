// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.access;

import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.server.DecoratingHttpServiceFunction;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.ServerBuilder;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.server.access.Identity.CertificateNames;
import dev.sluice.server.net.AnyMethod.AskedByProxies;
import dev.sluice.server.net.Part;
import dev.sluice.server.net.Part.Decorators;
import dev.sluice.server.net.Requests;
import dev.sluice.server.tls.TlsIdentity.Tls;
import io.netty.util.AttributeKey;
import java.util.List;
import java.util.Locale;
import java.util.function.BiConsumer;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/**
 * Access control for HTTP and gRPC: identifies the caller of each request, and refuses the request
 * if the caller lacks the permission that its route requires. This part must be added to a server
 * before the parts that handle requests.
 *
 * <p>A caller sends its token in {@code Authorization: Bearer} or in {@code Sluice-Token}; the
 * second header takes precedence. A proxy that asks for a decision copies its client's headers, so
 * the proxy sends its own token in {@code Sluice-Token}.
 */
public record AccessPart(Access access) implements Part {

  private static final AttributeKey<Caller> CALLER =
      AttributeKey.valueOf(AccessPart.class, "CALLER");
  private static final String AUTHORIZATION = "authorization";
  private static final String TOKEN_HEADER = "sluice-token";
  private static final String SCHEME = "bearer ";
  private static final String HEALTH = "/grpc.health.v1.Health/";
  private static final String OF_PROXIES = "the header Sluice-Token: TOKEN, set by the proxy";

  /**
   * Returns a request's caller; without a tokens file, a certificate can give the caller's name.
   */
  public static Caller caller(ServiceRequestContext context) {
    Caller known = context.attr(CALLER);
    if (known != null) {
      return known;
    }
    String address = Access.address(context.remoteAddress());
    SSLSession session = Tls.session(context);
    return session == null
        ? Caller.anybody(address)
        : Caller.anybody(address, () -> CertificateNames.of(session), Watch.NONE, true);
  }

  @Override
  public void addTo(ServerBuilder server) {}

  @Override
  public void addLast(Decorators decorators) {
    if (!access.isOpen()) {
      decorators.add(new Guard(access));
    } else if (access.looksAtStrangers()) {
      decorators.add(new OpenGuard(access));
    }
  }

  /** Health checks are never limited: a failed check would restart an overloaded server. */
  private static boolean isHealth(ServiceRequestContext context) {
    String route = context.config().route().patternString();
    return route.equals("/healthz") || route.equals("/readyz") || route.startsWith(HEALTH);
  }

  private static String door(ServiceRequestContext context, HttpRequest request) {
    return Requests.isGrpc(context, request.headers()) ? "grpc" : "http";
  }

  /**
   * Checks each request to a server without a tokens file: limits the requests per address, and
   * refuses administrators' operations to callers that are not administrators.
   */
  private record OpenGuard(Access access) implements DecoratingHttpServiceFunction {

    @Override
    public HttpResponse serve(HttpService next, ServiceRequestContext context, HttpRequest request)
        throws Exception {
      if (!isHealth(context)) {
        access.admitStranger(context.remoteAddress());
        SSLSession session = Tls.session(context);
        Caller caller =
            access.anybody(
                door(context, request),
                context.remoteAddress(),
                () -> CertificateNames.of(session));
        context.setAttr(CALLER, caller);
        Permission need = Endpoint.need(context);
        if (need == Permission.ADMIN) {
          caller.about(Endpoint.acts(context)).require(need);
        }
      }
      return next.serve(context, request);
    }
  }

  /** Checks each request to a server with a tokens file. */
  private record Guard(Access access) implements DecoratingHttpServiceFunction {

    @Override
    public HttpResponse serve(HttpService next, ServiceRequestContext context, HttpRequest request)
        throws Exception {
      Permission need = Endpoint.need(context);
      if (need != Permission.NOTHING) {
        List<String> shown = shown(context, request);
        if (shown.size() > 1) {
          throw access.failed(
              door(context, request),
              context.remoteAddress(),
              repeated(request),
              Endpoint.acts(context));
        }
        Caller caller = counted(context, request, shown);
        access.require(caller, need, isForAnother(context) ? OF_PROXIES : Access.IN_AUTHORIZATION);
        context.setAttr(CALLER, caller);
      } else if (!isHealth(context)) {
        List<String> shown = shown(context, request);
        if (shown.size() < 2 && isKnown(context, shown)) {
          var unused = counted(context, request, shown);
        } else {
          access.admitStranger(context.remoteAddress());
        }
      }
      return next.serve(context, request);
    }

    /** Identifies the caller of a request, and counts the request. */
    private Caller counted(ServiceRequestContext context, HttpRequest request, List<String> shown) {
      String token = token(shown);
      return access.caller(
          door(context, request),
          context.remoteAddress(),
          token == null ? null : Tokens.hash(token),
          token == null ? CertificateNames.of(Tls.session(context)) : List.of(),
          Endpoint.acts(context));
    }

    private boolean isKnown(ServiceRequestContext context, List<String> shown) {
      String token = token(shown);
      return token == null
          ? access.isKnown(null, CertificateNames.of(Tls.session(context)))
          : access.isKnown(Tokens.hash(token), List.of());
    }

    private static boolean isForAnother(ServiceRequestContext context) {
      return context.config().route().patternString().startsWith(AskedByProxies.PATH);
    }

    /** Returns the values of the header that holds the token; empty if no header holds a token. */
    private static List<String> shown(ServiceRequestContext context, HttpRequest request) {
      List<String> own = request.headers().getAll(TOKEN_HEADER);
      if (!own.isEmpty()) {
        return own.stream().map(token -> SCHEME + token).toList();
      }
      return isForAnother(context) ? List.of() : request.headers().getAll(AUTHORIZATION);
    }

    /**
     * Returns the error message for a token header that occurs twice. Neither value of a repeated
     * header is used: one can be the client's token, and the other the token that the proxy has
     * added.
     */
    private static String repeated(HttpRequest request) {
      return "found the header %s more than once, expected it once"
          .formatted(request.headers().contains(TOKEN_HEADER) ? "Sluice-Token" : "Authorization");
    }

    private static @Nullable String token(List<String> shown) {
      String header = shown.isEmpty() ? "" : shown.get(0);
      return header.toLowerCase(Locale.ROOT).startsWith(SCHEME)
          ? header.substring(SCHEME.length()).strip()
          : null;
    }
  }

  /**
   * A listener for a caller's further requests and refusals. Thread-safe; never blocks.
   *
   * @param refused called if a caller requested an operation that it is not allowed to use
   * @param asks called for a further operation within a request that was already counted; throws a
   *     {@link dev.sluice.server.base.RefusedException} if the caller sends too many requests
   */
  record Watch(BiConsumer<Caller, String> refused, Runnable asks) {

    /** A listener that does nothing, for callers without an entry in the tokens file. */
    static final Watch NONE = new Watch((caller, why) -> {}, () -> {});
  }
}
