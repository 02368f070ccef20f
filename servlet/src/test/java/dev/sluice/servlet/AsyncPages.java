// SPDX-License-Identifier: Apache-2.0
package dev.sluice.servlet;

import jakarta.servlet.AsyncContext;
import jakarta.servlet.AsyncEvent;
import jakarta.servlet.AsyncListener;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.UncheckedIOException;

/**
 * An asynchronous servlet whose requests end in each of the ways that there are. {@code how} says
 * which, {@code status} with which status, 401 if it is not said.
 */
final class AsyncPages extends HttpServlet {

  private static final long serialVersionUID = 1;
  // Jetty drops a time-out that comes before the thread that sets it has gone on.
  private static final long SOON_MILLIS = 500;
  private static final long LATE_MILLIS = 30_000; // on a slow machine, too

  @Override
  protected void doGet(HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    String how = request.getParameter("how");
    if (request.getAttribute("again") != null) {
      again(how, request, response);
      return;
    }
    AsyncContext context = request.startAsync();
    boolean timesOut = how.contains("time-out") || how.equals("thread-dies");
    context.setTimeout(timesOut ? SOON_MILLIS : LATE_MILLIS);
    switch (how) {
      case "complete" -> complete(context, request, response);
      case "send-error" ->
          context.start(
              () -> {
                try {
                  response.sendError(status(request));
                } catch (IOException e) {
                  throw new UncheckedIOException(e);
                }
                context.complete();
              });
      case "no-status" -> context.start(context::complete);
      case "redirect" ->
          context.start(
              () -> {
                try {
                  response.sendRedirect("/elsewhere");
                } catch (IOException e) {
                  throw new UncheckedIOException(e);
                }
                context.complete();
              });
      case "events" -> {
        response.flushBuffer(); // commits a 200
        context.start(
            () -> {
              try {
                for (int i = 0; i < 3; i++) {
                  response.getOutputStream().print("data: " + i + "\n\n");
                  response.flushBuffer();
                }
              } catch (IOException e) {
                throw new UncheckedIOException(e);
              }
              context.complete();
            });
      }
      case "time-out", "thread-dies" -> {} // the work does not end in time, or never
      case "time-out-handled" ->
          context.addListener(
              new OnTimeOut(
                  timedOut -> {
                    timedOut.setStatus(status(request));
                    context.complete();
                  }));
      case "time-out-refused" ->
          context.addListener(
              new OnTimeOut(
                  timedOut -> {
                    timedOut.sendError(status(request));
                    context.complete();
                  }));
      case "time-out-answered" -> {
        request.setAttribute("again", true);
        context.addListener(new OnTimeOut(timedOut -> context.dispatch()));
      }
      case "sent-then-time-out" -> {
        response.setStatus(status(request));
        response.flushBuffer();
      }
      default -> {
        request.setAttribute("again", true);
        context.dispatch();
      }
    }
  }

  /** After a dispatch; one that starts anew forgets its listeners. */
  private static void again(String how, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    switch (how) {
      case "dispatch-complete" -> complete(request.startAsync(), request, response);
      case "dispatch-status" -> response.setStatus(status(request));
      case "time-out-answered" -> response.sendError(status(request)); // as Spring MVC does it
      default -> throw new IllegalStateException("crashed, as the test wants");
    }
  }

  private static void complete(
      AsyncContext context, HttpServletRequest request, HttpServletResponse response) {
    int status = status(request);
    context.start(
        () -> {
          response.setStatus(status);
          context.complete();
        });
  }

  private static int status(HttpServletRequest request) {
    String status = request.getParameter("status");
    return status == null ? 401 : Integer.parseInt(status);
  }

  /** The answer of an application or its framework. */
  @FunctionalInterface
  private interface Answer {
    void send(HttpServletResponse response) throws IOException;
  }

  /** An application that answers a time-out itself. */
  private record OnTimeOut(Answer answer) implements AsyncListener {
    @Override
    public void onTimeout(AsyncEvent event) throws IOException {
      answer.send((HttpServletResponse) event.getAsyncContext().getResponse());
    }

    @Override
    public void onComplete(AsyncEvent event) {}

    @Override
    public void onError(AsyncEvent event) {}

    @Override
    public void onStartAsync(AsyncEvent event) {}
  }
}
