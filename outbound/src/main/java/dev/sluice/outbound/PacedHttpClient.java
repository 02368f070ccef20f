// SPDX-License-Identifier: Apache-2.0
package dev.sluice.outbound;

import dev.sluice.internal.async.Stages;
import java.io.IOException;
import java.net.Authenticator;
import java.net.CookieHandler;
import java.net.ProxySelector;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandler;
import java.net.http.HttpResponse.PushPromiseHandler;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import org.jspecify.annotations.Nullable;

/**
 * An {@link HttpClient} whose requests wait for a {@link Pacer} before they are sent. The pacer
 * reads the responses and pauses requests if a response demands a pause.
 *
 * <p>A request whose wait would be too long fails with a {@link RefusedRequestException}, an {@link
 * IOException}, and is not sent. No request is sent again automatically: a caller that gets a 429
 * decides itself whether to retry. After a response that demands a pause, the next request waits
 * for the end of the pause. A request and the redirects that the wrapped client follows count as
 * one request. The request's own time-out begins when the request is sent.
 *
 * <p>Thread-safe. {@link #send} blocks while the request waits, {@link #sendAsync} does not. An
 * interrupted or cancelled request stops waiting, and its tokens are given back unless later
 * requests have taken tokens. Close the wrapped client yourself, since closing this client does not
 * close it.
 */
public final class PacedHttpClient extends HttpClient {

  private final HttpClient client;
  private final Pacer pacer;

  private PacedHttpClient(HttpClient client, Pacer pacer) {
    this.client = Objects.requireNonNull(client, "client");
    this.pacer = Objects.requireNonNull(pacer, "pacer");
  }

  /**
   * Wraps a client.
   *
   * @param client the client that sends the requests
   * @param pacer decides when requests are sent
   * @return a client to be used instead of the wrapped client
   */
  public static HttpClient of(HttpClient client, Pacer pacer) {
    return new PacedHttpClient(client, pacer);
  }

  @Override
  public <T> HttpResponse<T> send(HttpRequest request, BodyHandler<T> handler)
      throws IOException, InterruptedException {
    Turns.await(pacer.admit(request.uri()));
    return learned(client.send(request, handler));
  }

  private <T> HttpResponse<T> learned(HttpResponse<T> response) {
    pacer.learn(response.request().uri(), response.statusCode(), response.headers()::allValues);
    return response;
  }

  @Override
  public <T> CompletableFuture<HttpResponse<T>> sendAsync(
      HttpRequest request, BodyHandler<T> handler) {
    return whenAdmitted(request, () -> client.sendAsync(request, handler));
  }

  @Override
  public <T> CompletableFuture<HttpResponse<T>> sendAsync(
      HttpRequest request, BodyHandler<T> handler, @Nullable PushPromiseHandler<T> pushes) {
    return whenAdmitted(request, () -> client.sendAsync(request, handler, pushes));
  }

  private <T> CompletableFuture<HttpResponse<T>> whenAdmitted(
      HttpRequest request, Supplier<CompletableFuture<HttpResponse<T>>> send) {
    CompletableFuture<HttpResponse<T>> answer = new CompletableFuture<>();
    CompletableFuture<Void> admission = pacer.admit(request.uri());
    AtomicReference<Future<?>> current = new AtomicReference<>(admission);
    CompletableFuture<HttpResponse<T>> asked =
        admission.thenCompose(
            admitted -> {
              CompletableFuture<HttpResponse<T>> sent = send.get();
              current.set(sent);
              if (answer.isDone()) {
                sent.cancel(true);
              }
              return sent;
            });
    Stages.onEnd(
        asked,
        (response, failure) -> {
          if (failure == null) {
            answer.complete(learned(response));
          } else {
            answer.completeExceptionally(Stages.cause(failure));
          }
        });
    Stages.onEnd(
        answer,
        (response, failure) -> {
          if (failure != null) {
            Objects.requireNonNull(current.get()).cancel(true);
          }
        });
    return answer;
  }

  @Override
  public Optional<CookieHandler> cookieHandler() {
    return client.cookieHandler();
  }

  @Override
  public Optional<Duration> connectTimeout() {
    return client.connectTimeout();
  }

  @Override
  public Redirect followRedirects() {
    return client.followRedirects();
  }

  @Override
  public Optional<ProxySelector> proxy() {
    return client.proxy();
  }

  @Override
  public SSLContext sslContext() {
    return client.sslContext();
  }

  @Override
  public SSLParameters sslParameters() {
    return client.sslParameters();
  }

  @Override
  public Optional<Authenticator> authenticator() {
    return client.authenticator();
  }

  @Override
  public Version version() {
    return client.version();
  }

  @Override
  public Optional<Executor> executor() {
    return client.executor();
  }
}
