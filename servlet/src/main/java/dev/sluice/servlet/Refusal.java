package dev.sluice.servlet;

import dev.sluice.Decision;
import dev.sluice.http.HeaderProfile;
import dev.sluice.http.Problem;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** Writes the response that refuses a request. */
final class Refusal {

  private Refusal() {}

  static void denied(HttpServletResponse response, Decision decision, HeaderProfile headers)
      throws IOException {
    if (decision.degraded()) {
      response.setHeader("Retry-After", Long.toString(decision.retryAfterSeconds()));
      storeFailed(response);
      return;
    }
    headers.headers(decision).forEach(response::setHeader);
    write(response, 429, Problem.quotaExceeded(decision));
  }

  static void unusable(HttpServletResponse response, UnusableRequestException e)
      throws IOException {
    write(response, HttpServletResponse.SC_BAD_REQUEST, Problem.badRequest(e.detail()));
  }

  static void storeFailed(HttpServletResponse response) throws IOException {
    write(response, HttpServletResponse.SC_SERVICE_UNAVAILABLE, Problem.temporaryReducedCapacity());
  }

  /** Not sendError, which would start a dispatch to an error page and lose the body. */
  private static void write(HttpServletResponse response, int status, String body)
      throws IOException {
    byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
    response.setStatus(status);
    response.setHeader("Cache-Control", "no-store");
    response.setContentType(Problem.MEDIA_TYPE);
    response.setContentLength(bytes.length);
    response.getOutputStream().write(bytes);
  }
}
