// SPDX-License-Identifier: Apache-2.0
package dev.sluice.examples.servletlogin;

import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;

/** The API of the example. This servlet contains no code for rate limits. */
final class ApiServlet extends HttpServlet {

  private static final long serialVersionUID = 1;

  @Override
  protected void doGet(HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    response.getWriter().println("an answer");
  }
}
