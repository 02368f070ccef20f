// SPDX-License-Identifier: Apache-2.0
package dev.sluice.outbound;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpRequest;
import org.springframework.http.client.ClientHttpRequestExecution;
import org.springframework.http.client.ClientHttpRequestInterceptor;
import org.springframework.http.client.ClientHttpResponse;

/**
 * An interceptor for Spring's {@code RestClient} and {@code RestTemplate}, of Spring 6.2 and 7.
 * Requests wait for a {@link Pacer} before they are sent. The pacer reads the responses and pauses
 * requests if a response demands a pause.
 *
 * <p>A request whose wait would be too long fails with a {@link RefusedRequestException}, which
 * {@code RestClient} wraps into a {@code ResourceAccessException}. A request stops waiting if its
 * thread is interrupted.
 *
 * <p>Stateless and thread-safe. The thread of the request blocks while the request waits.
 */
@SuppressWarnings("exports") // a module that uses this class requires Spring itself
public final class PacedRestClient {

  private PacedRestClient() {}

  /**
   * Returns an interceptor.
   *
   * @param pacer decides when requests are sent
   * @return the interceptor, for {@code RestClient.Builder.requestInterceptor}
   */
  public static ClientHttpRequestInterceptor interceptor(Pacer pacer) {
    Objects.requireNonNull(pacer, "pacer");
    return (request, body, execution) -> intercept(pacer, request, body, execution);
  }

  private static ClientHttpResponse intercept(
      Pacer pacer, HttpRequest request, byte[] body, ClientHttpRequestExecution execution)
      throws IOException {
    try {
      Turns.await(pacer.admit(request.getURI()));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while waiting for the limit; nothing was sent");
    }
    ClientHttpResponse response = execution.execute(request, body);
    HttpHeaders headers = response.getHeaders();
    pacer.learn(request.getURI(), response.getStatusCode().value(), name -> values(headers, name));
    return response;
  }

  /**
   * Returns the values of a header field. Calls only methods that exist in both Spring 6.2 and
   * Spring 7.
   */
  private static List<String> values(HttpHeaders headers, String name) {
    for (Map.Entry<String, List<String>> header : headers.headerSet()) {
      if (header.getKey().equalsIgnoreCase(name)) {
        return header.getValue();
      }
    }
    return List.of();
  }
}
