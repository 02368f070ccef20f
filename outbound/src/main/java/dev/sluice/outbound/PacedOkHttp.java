// SPDX-License-Identifier: Apache-2.0
package dev.sluice.outbound;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.URI;
import java.util.Objects;
import okhttp3.Interceptor;
import okhttp3.Response;

/**
 * An interceptor for OkHttp 4 and 5. Calls wait for a {@link Pacer} before they are sent. The pacer
 * reads the responses and pauses calls if a response demands a pause.
 *
 * <p>Add the interceptor with {@code addInterceptor}. A call counts as one request, even if OkHttp
 * follows redirects or connects again. A waiting call uses no connection. A call whose wait would
 * be too long fails with a {@link RefusedRequestException}. A call stops waiting if it is
 * cancelled, if its {@code callTimeout} ends, or if its thread is interrupted. A call that OkHttp
 * answers from its cache also waits, but the pacer ignores the cached response.
 *
 * <p>Stateless and thread-safe. The thread of the call blocks while the call waits. An enqueued
 * call blocks a thread of OkHttp's dispatcher.
 */
@SuppressWarnings("exports") // a module that uses this class requires OkHttp itself
public final class PacedOkHttp {

  private PacedOkHttp() {}

  /**
   * Returns an interceptor.
   *
   * @param pacer decides when calls are sent
   * @return the interceptor, for {@code OkHttpClient.Builder.addInterceptor}
   */
  public static Interceptor interceptor(Pacer pacer) {
    Objects.requireNonNull(pacer, "pacer");
    return chain -> intercept(pacer, chain);
  }

  private static Response intercept(Pacer pacer, Interceptor.Chain chain) throws IOException {
    URI uri = chain.request().url().uri();
    try {
      Turns.await(pacer.admit(uri), chain.call()::isCanceled);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while waiting for the limit; nothing was sent");
    }
    Response response = chain.proceed(chain.request());
    Response network = response.networkResponse();
    if (network != null) { // null for a response from the cache
      pacer.learn(network.request().url().uri(), network.code(), network::headers);
    }
    return response;
  }
}
