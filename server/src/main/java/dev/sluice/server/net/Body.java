// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import com.linecorp.armeria.common.ClosedSessionException;
import com.linecorp.armeria.common.ContentTooLargeException;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpObject;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.stream.SubscriptionOption;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.async.Stages;
import dev.sluice.server.base.RefusedException;
import dev.sluice.server.net.Requests.BodyReader;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Exception;
import java.io.IOException;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/**
 * Collects a body in one array. The pieces are copied as they arrive, since each of them keeps the
 * network's buffer that it came in, even if it is a single byte. A reader may look at what is
 * there, and gets nothing else. Belongs to one event loop.
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

  /** The body, or what went wrong with it. */
  static CompletableFuture<byte[]> collected(
      HttpRequest request, ServiceRequestContext context, int maxBytes) {
    return subscribed(new Body(context, maxBytes, null), request);
  }

  /**
   * The end of a body that somebody reads as it arrives, or what went wrong with it. A caller that
   * completes it gets no more of the body: the rest is dropped.
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
    if (!exchange.grows(larger - bytes.length, larger > Traffic.LARGE)) {
      fail(RefusedException.overloaded("no room for the body; try again in a second"));
      return false;
    }
    if (larger > Traffic.LARGE && bytes.length <= Traffic.LARGE) {
      failWithRequest();
    }
    bytes = Arrays.copyOf(bytes, larger);
    return true;
  }

  /**
   * The library refuses a request that is too large or too late, and says so to its context only.
   */
  private void failWithRequest() {
    var unused =
        context
            .whenRequestCancelling()
            .thenAcceptAsync(this::fail, context.eventLoop().withoutContext());
  }

  /** Goes on reading: an HTTP/2 stream that is cancelled may take the answer with it. */
  private void fail(Throwable cause) {
    int held = bytes.length;
    if (whole.completeExceptionally(cause)) {
      bytes = NOTHING;
      exchange.shrinks(held);
    }
  }

  /** A network that failed is a client that went away, and not a mistake of the server. */
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
}
