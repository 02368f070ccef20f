// SPDX-License-Identifier: Apache-2.0
package dev.sluice.examples.servletlogin;

import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;

/**
 * The login of the example: 200 for the right password, 401 for any other. This servlet contains no
 * code for rate limits.
 */
final class LoginServlet extends HttpServlet {

  private static final long serialVersionUID = 1;

  @Override
  protected void doPost(HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    String user = request.getParameter("user");
    String password = request.getParameter("password");
    if (("the password of " + user).equals(password)) {
      response.getWriter().println("welcome");
    } else {
      response.sendError(HttpServletResponse.SC_UNAUTHORIZED);
    }
  }
}
