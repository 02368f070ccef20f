// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.DeniedException;
import dev.sluice.web.HeaderProfile;
import dev.sluice.web.ProblemDetails;
import dev.sluice.web.Refusal;
import java.util.Map;

/** The responses for exceptions of {@link RateLimited} methods. */
final class Refusals {

  private Refusals() {}

  static Refusal of(RuntimeException failure, HeaderProfile profile) {
    if (failure instanceof RateLimitedException denial) {
      return Refusal.denied(denial.decision(), profile);
    }
    if (failure instanceof DeniedException denial) {
      return Refusal.denied(denial.decision(), profile);
    }
    if (failure instanceof UnusableIdException) {
      // The message may have what the client sent, and names the method.
      return new Refusal(
          400,
          Map.of("Cache-Control", "no-store", "Content-Type", ProblemDetails.MEDIA_TYPE),
          ProblemDetails.badRequest("the request has an unusable value, which its limit needs"));
    }
    return Refusal.storeFailed();
  }
}
