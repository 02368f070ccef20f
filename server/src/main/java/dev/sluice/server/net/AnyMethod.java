// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.server.net.Http1Messages.LibraryAnswers;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http2.Http2ConnectionDecoder;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2FrameListener;
import io.netty.handler.codec.http2.Http2FrameListenerDecorator;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.UUID;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/*
 * Armeria supports nine methods, and refuses all other methods before it calls a service. But a
 * proxy can forward a client's method to this server, such as a WebDAV method. So this class
 * changes an unknown method to GET before Armeria sees the request, and stores the original method
 * in a header with a random name, which clients cannot guess. This class also gives such a name to
 * the header Upgrade, which this server otherwise ignores.
 */

/**
 * Allows any HTTP method on {@link AskedByProxies#PATH}; Armeria alone refuses unknown methods.
 * Hides the header Upgrade from Armeria, but shows the header to the rules of forward-auth.
 */
public final class AnyMethod {

  private static final String HEADER = "x-method-" + UUID.randomUUID();
  private static final String UPGRADE = "x-upgrade-" + UUID.randomUUID();
  private static final Pattern METHOD = Pattern.compile("[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}");

  private AnyMethod() {}

  /** Returns the original method of a request, even if Armeria does not support the method. */
  public static String of(HttpRequest request) {
    return request.headers().get(HEADER, request.method().name());
  }

  /** Returns the original name of a header, even if this class has renamed the header. */
  public static String headerName(String name) {
    return name.equals(UPGRADE) ? HttpHeaderNames.UPGRADE.toString() : name;
  }

  /** Hides the header Upgrade; on {@link AskedByProxies#PATH}, renames it for the rules. */
  static void hideUpgrade(io.netty.handler.codec.http.HttpRequest request) {
    HttpHeaders headers = request.headers();
    if (isAsked(request.uri())) {
      headers.set(UPGRADE, headers.getAll(HttpHeaderNames.UPGRADE));
    }
    headers.remove(HttpHeaderNames.UPGRADE);
  }

  static void accept(io.netty.handler.codec.http.HttpRequest request) {
    String method = request.method().name();
    if (isUnknown(method, request.uri())) {
      request.setMethod(io.netty.handler.codec.http.HttpMethod.GET);
      request.headers().set(HEADER, method);
    }
  }

  /** Hides unknown methods of HTTP/2 requests before Armeria sees the requests. */
  static void acceptFrom(Http2ConnectionDecoder decoder) {
    decoder.frameListener(new Listener(decoder.frameListener()));
  }

  private static boolean isUnknown(String method, @Nullable CharSequence target) {
    return HttpMethod.tryParse(method) == null
        && target != null
        && isAsked(target.toString())
        && METHOD.matcher(method).matches();
  }

  static boolean isAsked(String target) {
    return target.startsWith(AskedByProxies.PATH)
        && (target.length() == AskedByProxies.PATH.length()
            || "/?".indexOf(target.charAt(AskedByProxies.PATH.length())) >= 0);
  }

  private static final class Listener extends Http2FrameListenerDecorator {

    Listener(Http2FrameListener library) {
      super(library);
    }

    @Override
    public void onHeadersRead(
        ChannelHandlerContext context, int stream, Http2Headers headers, int padding, boolean ends)
        throws Http2Exception {
      accept(headers);
      super.onHeadersRead(context, stream, headers, padding, ends);
    }

    @Override
    public void onHeadersRead(
        ChannelHandlerContext context,
        int stream,
        Http2Headers headers,
        int dependency,
        short weight,
        boolean exclusive,
        int padding,
        boolean ends)
        throws Http2Exception {
      accept(headers);
      super.onHeadersRead(context, stream, headers, dependency, weight, exclusive, padding, ends);
    }

    private static void accept(Http2Headers headers) {
      LibraryAnswers.avoid(headers);
      CharSequence method = headers.method();
      if (method != null && isUnknown(method.toString(), headers.path())) {
        headers.set(HEADER, method);
        headers.method(HttpMethod.GET.name());
      }
    }
  }

  /** A service that proxies call to ask about their clients' requests. */
  public interface AskedByProxies {

    /** The path that proxies call, with any method; a proxy can append its client's path. */
    String PATH = "/v1/forward-auth";

    /** Whether such a service answers a request. */
    static boolean serves(ServiceRequestContext context) {
      return context.config().service().as(AskedByProxies.class) != null;
    }

    /** Whether a request comes from a trusted proxy. Never blocks. */
    boolean isFromProxy(ServiceRequestContext context);
  }
}
