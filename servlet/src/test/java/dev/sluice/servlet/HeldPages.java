package dev.sluice.servlet;

import jakarta.servlet.AsyncContext;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A servlet whose work on a request takes as long as the test wants: asynchronous ones with {@code
 * async=1}, all others hold their thread. With {@code committed=N} the status N is sent first.
 */
final class HeldPages extends HttpServlet {

  private static final long serialVersionUID = 1;
  private static final long PATIENCE_SECONDS = 10;

  private final transient BlockingQueue<Held> arrived = new LinkedBlockingQueue<>();

  /** The next request that has arrived. */
  Held next() throws InterruptedException {
    Held held = arrived.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
    if (held == null) {
      throw new AssertionError("no request arrived");
    }
    return held;
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
    if (request.getParameter("async") != null) {
      AsyncContext context = request.startAsync();
      arrived.add(new Held(response, context));
      return;
    }
    Held held = new Held(response, null);
    arrived.add(held);
    held.awaitRelease();
    switch (String.valueOf(request.getParameter("then"))) {
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

  /** A request that is being worked on. */
  static final class Held {

    private final HttpServletResponse response;
    private final @Nullable AsyncContext context;
    private final CountDownLatch released = new CountDownLatch(1);

    private Held(HttpServletResponse response, @Nullable AsyncContext context) {
      this.response = response;
      this.context = context;
    }

    /** The thread of a synchronous request goes on. */
    void release() {
      released.countDown();
    }

    private void awaitRelease() {
      try {
        if (!released.await(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
          throw new AssertionError("the test did not release the request");
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new AssertionError(e);
      }
    }

    /** The work of an asynchronous request ends, whether or not anybody still waits for it. */
    void complete(int status) {
      try {
        response.setStatus(status);
        context.complete();
      } catch (RuntimeException e) {
        // The container has ended the request, and says so only now.
      }
    }

    /** Writes events until the container notices that the client is gone, and completes. */
    void writeUntilBroken() {
      try {
        while (true) {
          response.getOutputStream().print("data: 2\n\n");
          response.flushBuffer();
        }
      } catch (IOException | RuntimeException e) {
        complete(500); // Tomcat has taken the response apart already
      }
    }
  }
}
