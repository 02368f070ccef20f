// SPDX-License-Identifier: Apache-2.0
package dev.sluice.servlet;

import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;

/** Servlets for the tests. */
final class Pages {

  private Pages() {}

  /** Answers 200, or the status that the query says. */
  static HttpServlet status() {
    return new HttpServlet() {
      @Override
      protected void service(HttpServletRequest request, HttpServletResponse response)
          throws IOException {
        String status = request.getParameter("status");
        if (status != null && request.getParameter("sendError") != null) {
          response.sendError(Integer.parseInt(status));
        } else {
          response.setStatus(status == null ? 200 : Integer.parseInt(status));
          response.getOutputStream().print("page");
        }
      }
    };
  }

  /** Throws an exception instead of answering. */
  static HttpServlet crash() {
    return new HttpServlet() {
      @Override
      protected void service(HttpServletRequest request, HttpServletResponse response) {
        throw new IllegalStateException("crashed, as the test wants");
      }
    };
  }
}
