// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.Decision;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The application's hook for the response to a refused request. A hook must be thread-safe, and
 * must not block.
 *
 * <p>The hook is not called for shadow rules, which refuse no request. If the hook throws an
 * exception, or returns null or an invalid response, the client receives the prepared response, and
 * the exception is logged.
 *
 * <pre>{@code
 * (request, decision, prepared) ->
 *     prepared.withBody("text/html", "<h1>Please wait</h1>").withoutHeader("RateLimit-Policy")
 * }</pre>
 */
@FunctionalInterface
public interface RefusalHook {

  /**
   * Returns the response to a refused request.
   *
   * @param request the request
   * @param decision the denial; null if a rule denies the request independently of limits, or if no
   *     decision could be made
   * @param prepared the response that Sluice would send, with its headers: a 429 for a denial, a
   *     400, 500 or 503 for an error
   * @return the response to send
   */
  Refusal refuse(WebRequest request, @Nullable Decision decision, Refusal prepared);

  /**
   * Returns this hook with a fallback: if the hook throws an exception, the prepared response is
   * sent, and the exception is logged, at most once in ten seconds.
   *
   * @return a hook that never throws an exception
   */
  default RefusalHook guarded() {
    QuietLog log = new QuietLog(System.getLogger(RefusalHook.class.getName()), System::nanoTime);
    return (request, decision, prepared) -> {
      try {
        return Objects.requireNonNull(
            refuse(request, decision, prepared),
            "the application's hook for refused requests returned null, expected a response");
      } catch (Exception e) {
        log.failed("the application's hook for refused requests failed", e);
        return prepared;
      }
    };
  }
}
