// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.Decision;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The application's own answer to a request that is refused. Implementations are thread-safe and do
 * not block.
 *
 * <p>It is not called for shadow rules, which refuse nobody. If it throws an exception, or its
 * answer has a null or an invalid value, the client gets the prepared answer, and the exception is
 * logged.
 *
 * <pre>{@code
 * (request, decision, prepared) ->
 *     prepared.withBody("text/html", "<h1>Please wait</h1>").withoutHeader("RateLimit-Policy")
 * }</pre>
 */
@FunctionalInterface
public interface RefusalHook {

  /**
   * Returns the answer to a refused request.
   *
   * @param request the request
   * @param decision the denial; null where a rule refuses the request whatever is left of a limit,
   *     and where nobody could decide
   * @param prepared the answer that Sluice would send, with its headers: a 429 for a denial, a 400,
   *     500 or 503 for an error
   * @return the answer to send
   */
  Refusal refuse(WebRequest request, @Nullable Decision decision, Refusal prepared);

  /**
   * Returns this hook, but an exception is logged, at most once in ten seconds, and the prepared
   * answer is sent.
   *
   * @return a hook that never throws an exception
   */
  default RefusalHook guarded() {
    QuietLog log = new QuietLog(System.getLogger(RefusalHook.class.getName()), System::nanoTime);
    return (request, decision, prepared) -> {
      try {
        return Objects.requireNonNull(
            refuse(request, decision, prepared), "it returned null, expected an answer");
      } catch (Exception e) {
        log.failed("the application's hook for refused requests failed", e);
        return prepared;
      }
    };
  }
}
