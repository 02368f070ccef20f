// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.access;

import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.Route;
import com.linecorp.armeria.server.ServerBuilder;
import com.linecorp.armeria.server.ServiceRequestContext;
import com.linecorp.armeria.server.SimpleDecoratingHttpService;
import dev.sluice.server.access.AuditLog.Noted;
import io.netty.handler.codec.http.QueryStringDecoder;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A path of the HTTP server, with its service, the permission that callers need, and the operation
 * that the audit log records if a caller lacks this permission. Callers need the role {@code admin}
 * for a service that is neither an endpoint nor {@link Guarded}. An endpoint is not thread-safe
 * before it is added to a server.
 */
public final class Endpoint extends SimpleDecoratingHttpService {

  /** A service with several paths, which returns the permission that each path needs. */
  public interface Guarded {

    Permission need(String path);
  }

  private static final String ANYTHING_BELOW = "/*";

  private final String path;
  private final Permission need;
  private Permission writing;
  private @Nullable String act;
  private @Nullable String setting;

  /** Makes an endpoint. A path that ends with {@code /*} includes all paths below it. */
  public Endpoint(String path, Permission need, HttpService service) {
    super(service);
    this.path = path;
    this.need = need;
    this.writing = need;
  }

  /** Sets the permission for methods other than GET, HEAD and OPTIONS. */
  public Endpoint writing(Permission other) {
    writing = other;
    return this;
  }

  /**
   * Sets the operation of a POST, such as {@code reload}, that the audit log records if the caller
   * lacks the permission. If the operation is allowed, the service itself records the operation in
   * the audit log.
   */
  public Endpoint act(String what) {
    act = what;
    return this;
  }

  /**
   * Sets the kind of entry that a PUT sets and a DELETE removes, such as {@code override}. If the
   * caller lacks the permission, the audit log records the kind of entry, and the limit and id in
   * the path.
   */
  public Endpoint setting(String what) {
    setting = what;
    return this;
  }

  public void addTo(ServerBuilder server) {
    addTo(server, false);
  }

  /** Adds the endpoint without a limit on request bodies, which the service must check. */
  public void addWithoutBound(ServerBuilder server) {
    addTo(server, true);
  }

  private void addTo(ServerBuilder server, boolean unbounded) {
    var route = server.route();
    if (path.endsWith(ANYTHING_BELOW)) {
      route.pathPrefix(path.substring(0, path.length() - 1));
    } else {
      route.path(path);
    }
    if (unbounded) {
      route.maxRequestLength(0);
    }
    route.build(this);
  }

  @Override
  public HttpResponse serve(ServiceRequestContext context, HttpRequest request) throws Exception {
    return unwrap().serve(context, request);
  }

  /** With Armeria's cache, later requests would get a path as the first client spelled it. */
  @Override
  public boolean shouldCachePath(String anyPath, @Nullable String query, Route route) {
    return false;
  }

  /** Returns the permission that a request needs; a request for an unknown path needs none. */
  static Permission need(ServiceRequestContext context) {
    Route route = context.config().route();
    if (route.isFallback()) {
      return Permission.NOTHING;
    }
    HttpMethod method = context.method();
    boolean reads =
        method == HttpMethod.GET || method == HttpMethod.HEAD || method == HttpMethod.OPTIONS;
    return need(context.config().service(), route.patternString(), reads);
  }

  /** Returns the permission; {@code admin} for a service that declares none. */
  static Permission need(HttpService service, String path, boolean reads) {
    Endpoint endpoint = service.as(Endpoint.class);
    if (endpoint != null) {
      return reads ? endpoint.need : endpoint.writing;
    }
    Guarded guarded = service.as(Guarded.class);
    return guarded == null ? Permission.ADMIN : guarded.need(path);
  }

  /** Returns the operations that the audit log records for a request's method and path. */
  public static List<Noted> acts(ServiceRequestContext context) {
    Endpoint endpoint = context.config().service().as(Endpoint.class);
    if (endpoint == null) {
      return List.of();
    }
    HttpMethod method = context.method();
    if (endpoint.act != null && method == HttpMethod.POST) {
      return List.of(Noted.of(endpoint.act));
    }
    boolean sets = method == HttpMethod.PUT;
    if (endpoint.setting == null || !(sets || method == HttpMethod.DELETE)) {
      return List.of();
    }
    String what = (sets ? "set " : "remove ") + endpoint.setting;
    return List.of(endpoint.noted(what, context));
  }

  private Noted noted(String what, ServiceRequestContext context) {
    String target = String.valueOf(context.routingContext().requestTarget().rawPath());
    int query = target.indexOf('?');
    String whole = query < 0 ? target : target.substring(0, query);
    int prefix = Math.min(path.length() - ANYTHING_BELOW.length(), whole.length());
    String[] parts = whole.substring(prefix).split("/", 3);
    String inPath = part(parts, 2);
    return new Noted(what, part(parts, 1), inPath == null ? context.queryParam("id") : inPath);
  }

  private static @Nullable String part(String[] parts, int index) {
    if (parts.length <= index || parts[index].isEmpty()) {
      return null;
    }
    String encoded = parts[index];
    try {
      return QueryStringDecoder.decodeComponent(encoded.replace("+", "%2B"));
    } catch (IllegalArgumentException e) {
      return encoded; // the parameter as the client wrote it
    }
  }
}
