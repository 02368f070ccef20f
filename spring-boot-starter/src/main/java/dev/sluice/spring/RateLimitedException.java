// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.Decision;
import dev.sluice.Decision.DeniedException;
import dev.sluice.web.HeaderProfile;
import dev.sluice.web.ProblemDetails;
import dev.sluice.web.QuotaFailedException;
import dev.sluice.web.Refusal;
import dev.sluice.web.RefusalHook;
import dev.sluice.web.WebRequest;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Thrown when a limit denies a call of a {@link RateLimited} method. Spring MVC and WebFlux send
 * the same response as the filter: a 429 with its headers, or a 503 if a failure rule denied
 * because the store failed.
 */
public final class RateLimitedException extends RuntimeException {

  private static final long serialVersionUID = 1;

  private final transient Decision decision;

  RateLimitedException(Decision decision) {
    super(decision.message(), null, false, false);
    this.decision = decision;
  }

  /**
   * Returns the denial.
   *
   * @return the strictest decision, with the wait until a retry
   */
  public Decision decision() {
    return decision;
  }

  /** Returns the response for an exception of a {@link RateLimited} method. */
  static Refusal refusal(
      RuntimeException failure, HeaderProfile profile, WebRequest request, RefusalHook hook) {
    Decision decision =
        failure instanceof RateLimitedException denial
            ? denial.decision()
            : failure instanceof DeniedException denial ? denial.decision() : null;
    return hook.refuse(request, decision, refusal(failure, decision, profile));
  }

  private static Refusal refusal(
      RuntimeException failure, @Nullable Decision decision, HeaderProfile profile) {
    if (decision != null) {
      return Refusal.denied(decision, profile);
    }
    if (failure instanceof QuotaFailedException) {
      return Refusal.quotaFailed();
    }
    if (failure instanceof UnusableIdException) {
      // Omits the exception's message, which names the method and can contain the client's input.
      return new Refusal(
          400,
          Map.of("Cache-Control", "no-store", "Content-Type", ProblemDetails.MEDIA_TYPE),
          ProblemDetails.badRequest("the request has an unusable value for a limit's id or cost"));
    }
    return Refusal.storeFailed();
  }
}
