// SPDX-License-Identifier: Apache-2.0
package dev.sluice.servlet;

import dev.sluice.testkit.web.HeldRequest;
import dev.sluice.testkit.web.HeldRequests;
import jakarta.servlet.AsyncContext;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * A servlet whose work on a request takes as long as the test wants: asynchronously, or in the
 * request's thread with {@code then}. With {@code committed=N} the status N is sent first.
 */
final class HeldPages extends HttpServlet {

  static final Set<String> PATHS = Set.of("/check", "/attack");

  private static final long serialVersionUID = 1;
  private static final long PATIENCE_SECONDS = 60;

  private final transient HeldRequests requests;

  HeldPages(HeldRequests requests) {
    this.requests = requests;
  }

  @Override
  protected void service(HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    String committed = request.getParameter("committed");
    if (committed != null) {
      response.setStatus(Integer.parseInt(committed));
      response.getOutputStream().print("data: 1\n\n");
      response.flushBuffer();
    }
    String then = request.getParameter("then");
    if (then == null) {
      requests.arrived(new AsyncWork(response, request.startAsync()));
      return;
    }
    WorkInThread work = new WorkInThread(new CountDownLatch(1));
    requests.arrived(work);
    work.await();
    switch (then) {
      case "read" -> {
        var unused = request.getInputStream().readAllBytes();
      }
      case "send-error" -> response.sendError(401);
      case "flush" -> {
        response.setStatus(401);
        response.getOutputStream().print("wrong password");
        response.flushBuffer();
      }
      default -> response.setStatus(401);
    }
  }

  /** Work that holds the request's thread. */
  private record WorkInThread(CountDownLatch ended) implements HeldRequest {

    @Override
    public void end(int status) {
      ended.countDown();
    }

    @Override
    public void writeUntilBroken() {
      throw new UnsupportedOperationException("only asynchronous work writes events");
    }

    private void await() {
      try {
        if (!ended.await(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
          throw new AssertionError("the test did not end the request");
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new AssertionError(e);
      }
    }
  }

  /** Work elsewhere. */
  private record AsyncWork(HttpServletResponse response, AsyncContext context)
      implements HeldRequest {

    @Override
    public void end(int status) {
      try {
        response.setStatus(status);
        context.complete();
      } catch (RuntimeException e) {
        // The container has ended the request, and says so only now.
      }
    }

    @Override
    public void writeUntilBroken() {
      try {
        while (true) {
          response.getOutputStream().print("data: 2\n\n");
          response.flushBuffer();
        }
      } catch (IOException | RuntimeException e) {
        end(500); // Tomcat has taken the response apart already
      }
    }
  }
}
