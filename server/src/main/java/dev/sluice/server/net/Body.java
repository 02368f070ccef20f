// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import com.linecorp.armeria.common.ClosedSessionException;
import com.linecorp.armeria.common.ContentTooLargeException;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpObject;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.stream.SubscriptionOption;
import com.linecorp.armeria.server.DecoratingHttpServiceFunction;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.internal.async.Stages;
import dev.sluice.server.base.RefusedException;
import dev.sluice.server.net.Requests.BodyReader;
import dev.sluice.server.net.Requests.StreamingService;
import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http2.Http2Exception;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/**
 * Collects a request body in one array. Copies each piece of the body on arrival, since even a
 * piece of one byte keeps a whole network buffer in memory. A {@link BodyReader} can use an
 * incomplete body. Only the request's event loop may use this object.
 */
final class Body implements Subscriber<HttpObject> {

  private static final int FIRST_SIZE = 512;
  private static final byte[] NOTHING = new byte[0];

  private final CompletableFuture<byte[]> whole = new CompletableFuture<>();
  private final ServiceRequestContext context;
  private final Exchange exchange;
  private final int maxBytes;
  private final @Nullable BodyReader reader;
  private byte[] bytes = NOTHING;
  private int size;

  private Body(ServiceRequestContext context, int maxBytes, @Nullable BodyReader reader) {
    this.reader = reader;
    this.context = context;
    this.exchange = Exchange.of(context);
    this.maxBytes = maxBytes;
  }

  static CompletableFuture<byte[]> collected(
      HttpRequest request, ServiceRequestContext context, int maxBytes) {
    return subscribed(new Body(context, maxBytes, null), request);
  }

  /**
   * Passes a body to a reader as the body arrives, and returns a future for the end or the failure
   * of the body. If the caller completes the future, the rest of the body is dropped.
   */
  static CompletableFuture<?> read(
      HttpRequest request, ServiceRequestContext context, int maxBytes, BodyReader reader) {
    Body body = new Body(context, maxBytes, reader);
    Stages.onEnd(body.whole, (nothing, failure) -> body.bytes = NOTHING);
    return subscribed(body, request);
  }

  private static CompletableFuture<byte[]> subscribed(Body body, HttpRequest request) {
    request.subscribe(body, SubscriptionOption.WITH_POOLED_OBJECTS);
    return body.whole;
  }

  @Override
  public void onSubscribe(Subscription started) {
    started.request(Long.MAX_VALUE);
  }

  @Override
  public void onNext(HttpObject part) {
    if (!(part instanceof HttpData data)) {
      return; // trailers
    }
    try (data) {
      if (whole.isDone() || !hasRoomFor(data.length())) {
        return;
      }
      ByteBuf piece = data.byteBuf();
      int length = piece.readableBytes();
      piece.getBytes(piece.readerIndex(), bytes, size, length);
      size += length;
    }
    if (reader != null) {
      reader.more(bytes, size);
    }
  }

  private boolean hasRoomFor(int more) {
    int needed = size + more;
    if (needed > maxBytes) {
      fail(ContentTooLargeException.get());
      return false;
    }
    if (needed <= bytes.length) {
      return true;
    }
    int larger = Math.min(maxBytes, Math.max(FIRST_SIZE, Math.max(needed, 2 * bytes.length)));
    if (!exchange.grows(larger - bytes.length, larger > ConnectionBudget.LARGE)) {
      fail(RefusedException.overloaded("no memory for the body; try again in a second"));
      return false;
    }
    if (larger > ConnectionBudget.LARGE && bytes.length <= ConnectionBudget.LARGE) {
      failWithRequest();
    }
    bytes = Arrays.copyOf(bytes, larger);
    return true;
  }

  /** Fails the body if Armeria cancels the request because it is too large or too late. */
  private void failWithRequest() {
    var unused =
        context
            .whenRequestCancelling()
            .thenAcceptAsync(this::fail, context.eventLoop().withoutContext());
  }

  /**
   * Fails the body, but still reads the rest of the body: if the server cancelled the HTTP/2
   * stream, the client could lose the response.
   */
  private void fail(Throwable cause) {
    int held = bytes.length;
    if (whole.completeExceptionally(cause)) {
      bytes = NOTHING;
      exchange.shrinks(held);
    }
  }

  /** Fails the future of the body; reports a network failure as a disconnected client. */
  @Override
  public void onError(Throwable cause) {
    boolean isNetwork = cause instanceof IOException || cause instanceof Http2Exception;
    fail(isNetwork ? ClosedSessionException.get() : cause);
  }

  @Override
  public void onComplete() {
    whole.complete(
        reader != null ? NOTHING : bytes.length == size ? bytes : Arrays.copyOf(bytes, size));
  }

  /** Collects the body of each request, up to the size limit. */
  static final class BodyCollector implements DecoratingHttpServiceFunction {

    @Override
    public HttpResponse serve(HttpService next, ServiceRequestContext context, HttpRequest request)
        throws Exception {
      Exchange exchange = Exchange.of(context);
      boolean isUnserved = // a stream of such calls may never end
          context.config().route().isFallback() && Requests.isGrpc(context, request.headers());
      if (request.isEmpty() || isUnserved) {
        exchange.arrived();
        return next.serve(context, request);
      }
      if (context.config().service().as(StreamingService.class) != null) {
        return next.serve(context, request);
      }
      exchange.read();
      CompletableFuture<byte[]> body = Body.collected(request, context, SluiceServer.MAX_BODY);
      Function<byte[], HttpResponse> answer =
          whole -> {
            exchange.arrived(whole);
            return Requests.pass(next, context, request);
          };
      EventLoop loop = context.eventLoop().withoutContext();
      return context.exchangeType().isResponseStreaming()
          ? HttpResponse.of(body.thenApply(answer))
          : WholeResponse.of(
              body.thenCompose(whole -> answer.apply(whole).aggregate(loop)), context);
    }
  }

  /*
   * Over HTTP/2, Armeria resets a stream at once if the response is sent before the body has
   * arrived. The client can then lose the response; a gRPC client reports CANCELLED. So the server
   * still accepts and reads the rest of the body during PATIENCE. An unread body would fill the
   * flow-control window that all streams of the connection share, and would take memory that no
   * budget counts. Over HTTP/1.1, Armeria itself drops the rest of the body.
   */

  /** Reads and drops the rest of a request body that arrives after the response. Thread-safe. */
  static final class LateBodies implements DecoratingHttpServiceFunction {

    /** How long the server accepts the rest of a body after the response. */
    private static final Duration PATIENCE = Duration.ofSeconds(2);

    @Override
    public HttpResponse serve(HttpService next, ServiceRequestContext context, HttpRequest request)
        throws Exception {
      HttpResponse response = next.serve(context, request);
      if (context.sessionProtocol().isMultiplex() && !request.isEmpty()) {
        context.setRequestAutoAbortDelay(PATIENCE);
        Stages.onEnd(
            response.whenComplete(),
            (done, failure) -> {
              Exchange exchange = context.attr(Exchange.KEY);
              if (!request.isComplete() && (exchange == null || !exchange.isRead())) {
                drop(request);
              }
            });
      }
      return response;
    }

    /** Reads and drops a body, unless another reader already reads the body. */
    static void drop(HttpRequest request) {
      request.subscribe(new Dropped(), SubscriptionOption.WITH_POOLED_OBJECTS);
    }

    private static final class Dropped implements Subscriber<HttpObject> {

      @Override
      public void onSubscribe(Subscription subscription) {
        subscription.request(Long.MAX_VALUE);
      }

      @Override
      public void onNext(HttpObject part) {
        if (part instanceof HttpData data) {
          data.close();
        }
      }

      @Override
      public void onError(Throwable cause) {
        // Nothing to drop: another reader reads the body, or the rest of the body will not arrive.
      }

      @Override
      public void onComplete() {
        // Nothing to do: the whole body has arrived.
      }
    }
  }
}
