// SPDX-License-Identifier: Apache-2.0
package dev.sluice.servlet;

import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.SocketException;
import java.nio.file.NoSuchFileException;
import java.sql.SQLException;
import java.util.concurrent.TimeoutException;
import org.eclipse.jetty.io.EofException;

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

  /** Throws what an application throws if it does not reach its database or another server. */
  static HttpServlet upstream() {
    return new HttpServlet() {
      @Override
      protected void service(HttpServletRequest request, HttpServletResponse response)
          throws ServletException, IOException {
        switch (request.getParameter("how")) {
          case "away" -> throw new UncheckedIOException(new ConnectException("Connection refused"));
          case "reset" ->
              throw new ServletException(
                  new SQLException("the query failed", new SocketException("Connection reset")));
          case "time-out" ->
              throw new IllegalStateException(new TimeoutException("no connection in the pool"));
          case "body" -> throw new UncheckedIOException(new EofException("Early EOF"));
          default -> throw new NoSuchFileException("users.txt");
        }
      }
    };
  }
}
