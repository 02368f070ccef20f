// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.AggregationOptions;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpHeaders;
import com.linecorp.armeria.common.HttpObject;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.ResponseHeaders;
import com.linecorp.armeria.common.ResponseHeadersBuilder;
import com.linecorp.armeria.common.stream.AbortedStreamException;
import com.linecorp.armeria.common.stream.SubscriptionOption;
import com.linecorp.armeria.common.util.Exceptions;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.internal.async.Stages;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.EventExecutor;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscriber;

/*
 * Armeria makes a stream of every response, and a further stream for each function that maps the
 * headers or recovers from a failure. Most responses of this server are known as a whole. This
 * class applies such functions to the whole response, and Armeria sends the result without a
 * stream. Armeria sends a response without a stream only if the service's exchange type says that
 * responses are not streamed. With another exchange type, the response becomes an ordinary stream.
 */

/** A response that is sent as a whole, without Armeria's streams. */
public final class WholeResponse implements HttpResponse {

  private final CompletableFuture<AggregatedHttpResponse> whole;

  /** The response before any {@link #mapHeaders} or {@link #recover}; fails after an abort. */
  private final CompletableFuture<AggregatedHttpResponse> source;

  private final EventLoop loop;

  private WholeResponse(
      CompletableFuture<AggregatedHttpResponse> whole,
      CompletableFuture<AggregatedHttpResponse> source,
      EventLoop loop) {
    this.whole = whole;
    this.source = source;
    this.loop = loop;
  }

  /** Makes a response. */
  public static HttpResponse of(
      CompletionStage<AggregatedHttpResponse> response, ServiceRequestContext context) {
    EventLoop loop = context.eventLoop().withoutContext();
    CompletableFuture<AggregatedHttpResponse> known = response.toCompletableFuture();
    if (known.isDone()) {
      return new WholeResponse(known, known, loop);
    }
    CompletableFuture<AggregatedHttpResponse> later = new CompletableFuture<>();
    Stages.onEnd(
        known,
        (answer, failure) -> {
          if (loop.inEventLoop()) {
            complete(later, answer, failure);
          } else {
            loop.execute(() -> complete(later, answer, failure));
          }
        });
    return new WholeResponse(later, later, loop);
  }

  @CanIgnoreReturnValue
  private static boolean complete(
      CompletableFuture<AggregatedHttpResponse> later,
      @Nullable AggregatedHttpResponse answer,
      @Nullable Throwable failure) {
    return failure == null ? later.complete(answer) : later.completeExceptionally(failure);
  }

  private boolean isKnown() {
    return whole.isDone() && !whole.isCompletedExceptionally();
  }

  @Override
  public HttpResponse mapHeaders(
      Function<? super ResponseHeaders, ? extends ResponseHeaders> function) {
    return new WholeResponse(whole.thenApply(answer -> mapped(answer, function)), source, loop);
  }

  private static AggregatedHttpResponse mapped(
      AggregatedHttpResponse answer,
      Function<? super ResponseHeaders, ? extends ResponseHeaders> function) {
    ResponseHeaders headers = function.apply(answer.headers());
    return headers == answer.headers()
        ? answer
        : AggregatedHttpResponse.of(
            answer.informationals(), headers, answer.content(), answer.trailers());
  }

  @Override
  public HttpResponse recover(Function<? super Throwable, ? extends HttpResponse> function) {
    return isKnown()
        ? this
        : new WholeResponse(
            whole.exceptionallyCompose(
                failure -> function.apply(Exceptions.peel(failure)).aggregate(loop)),
            source,
            loop);
  }

  @Override
  public CompletableFuture<AggregatedHttpResponse> aggregate(AggregationOptions options) {
    return whole;
  }

  @Override
  public void subscribe(
      Subscriber<? super HttpObject> subscriber,
      EventExecutor executor,
      SubscriptionOption... options) {
    HttpResponse.of(whole.thenApply(AggregatedHttpResponse::toHttpResponse))
        .subscribe(subscriber, executor, options);
  }

  @Override
  public CompletableFuture<Void> whenComplete() {
    return whole.thenApply(answer -> null);
  }

  @Override
  public boolean isComplete() {
    return whole.isDone();
  }

  @Override
  public boolean isOpen() {
    return !whole.isDone();
  }

  @Override
  public boolean isEmpty() {
    return false;
  }

  @Override
  public long demand() {
    return 0;
  }

  @Override
  public void abort() {
    abort(AbortedStreamException.get());
  }

  /** Fails the response, unless the whole response is already known. */
  @Override
  public void abort(Throwable cause) {
    source.completeExceptionally(cause);
  }

  /**
   * A complete response. Armeria's own class would copy all headers to add the content length.
   *
   * @param headers the headers, including the content length if the status allows a body
   */
  public record WholeAnswer(ResponseHeaders headers, HttpData content)
      implements AggregatedHttpResponse {

    /** Makes a response; the content length is added to the headers. */
    public static WholeAnswer of(ResponseHeadersBuilder headers, HttpData content) {
      if (!headers.status().isContentAlwaysEmpty()) {
        headers.contentLength(content.length());
      }
      return new WholeAnswer(headers.build(), content);
    }

    @Override
    public HttpStatus status() {
      return headers.status();
    }

    @Override
    public List<ResponseHeaders> informationals() {
      return List.of();
    }

    @Override
    public HttpHeaders trailers() {
      return HttpHeaders.of();
    }
  }
}
