// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.server.net.Http1Messages.LibraryAnswers;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.Http2ConnectionDecoder;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2FrameListener;
import io.netty.handler.codec.http2.Http2FrameListenerDecorator;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.UUID;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/*
 * The library knows nine methods, and refuses any other before a service is asked. A proxy may ask
 * by the method of the original request, which may be one of WebDAV. So such a request is a GET to
 * the library, and its own method is in a header whose name no client knows.
 */

/**
 * Lets any method pass where {@link AskedByProxies proxies ask}: the library refuses the methods
 * that it does not know before a service is asked. Stateless and thread-safe.
 */
public final class AnyMethod {

  private static final String HEADER = "x-method-" + UUID.randomUUID();
  private static final Pattern METHOD = Pattern.compile("[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}");

  private AnyMethod() {}

  /**
   * Returns the method that a request was sent with.
   *
   * @param request the request
   * @return its method, which the library may not know
   */
  public static String of(HttpRequest request) {
    return request.headers().get(HEADER, request.method().name());
  }

  /** Changes a request of HTTP/1 before the library sees it. */
  static void accept(io.netty.handler.codec.http.HttpRequest request) {
    String method = request.method().name();
    if (isUnknown(method, request.uri())) {
      request.setMethod(io.netty.handler.codec.http.HttpMethod.GET);
      request.headers().set(HEADER, method);
    }
  }

  /** Changes requests of HTTP/2 before the library sees them. */
  static void acceptFrom(Http2ConnectionDecoder decoder) {
    decoder.frameListener(new Listener(decoder.frameListener()));
  }

  private static boolean isUnknown(String method, @Nullable CharSequence target) {
    return HttpMethod.tryParse(method) == null
        && target != null
        && isAsked(target.toString())
        && METHOD.matcher(method).matches();
  }

  /** Whether a target is the one at which proxies ask, or a path behind it. */
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

  /**
   * A service that proxies ask about the requests of others. What such a request carries is the
   * other one's. Its body is neither read nor waited for. Where the proxy is trusted, its {@code
   * Host} and {@code Origin} say nothing about this server.
   */
  public interface AskedByProxies {

    /** Where they ask, by any method; the path of the original request may follow. */
    String PATH = "/v1/forward-auth";

    /**
     * Whether a request comes from a proxy that is believed. Never blocks.
     *
     * @param context the request
     * @return false for any other client
     */
    boolean isFromProxy(ServiceRequestContext context);
  }
}
