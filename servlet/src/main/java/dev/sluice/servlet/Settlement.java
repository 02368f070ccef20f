// SPDX-License-Identifier: Apache-2.0
package dev.sluice.servlet;

import dev.sluice.web.Admission;
import jakarta.servlet.AsyncEvent;
import jakarta.servlet.AsyncListener;
import jakarta.servlet.RequestDispatcher;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Set;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/*
 * When are tokens given back?
 *
 * A conditional rule depends on how the request ended, which only the application knows. The rule
 * uses the response's status after the application is done: the application has returned, has
 * completed the asynchronous request, or has thrown an exception of its own, which is a 500.
 *
 * A request can also end while the application still works on it, for example on a password check
 * in another thread: the client resets the stream or closes the connection, or the asynchronous
 * request times out. Sluice cannot know the result of interrupted work. If an interrupted request
 * got tokens back, a client could reset each of its streams, and have any number of passwords
 * checked. So the tokens stay spent, unless the status was sent before.
 *
 * Containers report these requests differently (seen with Jetty 12.1 and Tomcat 10.1):
 *
 * - Both call onError with an IOException when an HTTP/2 stream is reset. Over HTTP/1.1, both
 * notice only at a read or write that the client has disconnected.
 *
 *  - Afterwards Jetty calls onComplete and reports a committed 500. Tomcat calls onComplete later,
 * or never if a write on another thread fails before the request's first thread has left the
 * container. If onComplete is never called, the tokens stay spent.
 *
 *  - After a read that failed, Tomcat reports a committed 400, and keeps the failure in the
 * attribute for error pages, even if the application caught the exception.
 *
 * - If the application's listeners do not handle a time-out, both containers answer with a 500.
 * Spring MVC handles a time-out with a 503, which looks like the application's own status.
 *
 *  - Jetty 12.1 can miss a very short time-out on a stalled machine, and then reports nothing: the
 * tokens stay spent until the application completes the request.
 *
 * So a 400 or a 500 can come from the container, and every other status comes from the application.
 * After a time-out, a status of 500 or above does not show the result of the work.
 */

/**
 * Settles a request with conditional rules, once: if a rule does not count the response's status,
 * the rule's tokens are given back. Thread-safe.
 */
final class Settlement implements AsyncListener {

  private static final int MOST_CAUSES = 20;

  /** The classes for a client that has disconnected, of Tomcat (2), Jetty (2) and Spring. */
  private static final Set<String> DISCONNECTED =
      Set.of(
          "ClientAbortException",
          "CloseNowException",
          "EofException",
          "HttpEofException",
          "AsyncRequestNotUsableException");

  private final Admission admission;
  private final HttpServletRequest request;
  private final HttpServletResponse response;
  private volatile boolean timedOut;

  Settlement(Admission admission, HttpServletRequest request, HttpServletResponse response) {
    this.admission = admission;
    this.request = request;
    this.response = response;
  }

  /** Must be called when the application returned, or completed the asynchronous request. */
  void ended() {
    int status = response.getStatus();
    if (isConnectionFailure(request.getAttribute(RequestDispatcher.ERROR_EXCEPTION))) {
      interrupted();
    } else if (timedOut && (mayBeContainers(status) || isServerError(status))) {
      admission.leaveSpent();
    } else {
      admission.settle(status);
    }
  }

  /** Must be called when the application threw an exception, whatever caused the exception. */
  void failed(Throwable failure) {
    if (isConnectionFailure(failure)) {
      interrupted();
    } else {
      // If the client has already seen a status, that status counts, even after an exception.
      admission.settle(
          response.isCommitted()
              ? response.getStatus()
              : HttpServletResponse.SC_INTERNAL_SERVER_ERROR);
    }
  }

  /**
   * Must be called if a request's result is unknown. A status that was already sent counts, unless
   * it can be the container's (400 or 500); without a status that counts, tokens stay spent.
   */
  void interrupted() {
    int status = response.getStatus();
    if (response.isCommitted() && !mayBeContainers(status)) {
      admission.settle(status);
    } else {
      admission.leaveSpent();
    }
  }

  private static boolean mayBeContainers(int status) {
    return status == HttpServletResponse.SC_BAD_REQUEST
        || status == HttpServletResponse.SC_INTERNAL_SERVER_ERROR;
  }

  private static boolean isServerError(int status) {
    return status >= HttpServletResponse.SC_INTERNAL_SERVER_ERROR;
  }

  /**
   * Whether a failure is, or can be, a failure of the client's connection. Containers report such a
   * failure as an IOException or a TimeoutException; a framework can wrap one of the container's
   * own classes. Any other exception with such a cause is the application's, for example because
   * its database is away.
   */
  private static boolean isConnectionFailure(@Nullable Object failure) {
    return failure instanceof IOException
        || failure instanceof TimeoutException
        || (failure instanceof Throwable thrown
            && Stream.iterate(thrown, cause -> cause != null, Throwable::getCause)
                .limit(MOST_CAUSES)
                .anyMatch(cause -> DISCONNECTED.contains(cause.getClass().getSimpleName())));
  }

  @Override
  public void onComplete(AsyncEvent event) {
    ended();
  }

  /** Adds this listener again, since a new asynchronous start removes all listeners. */
  @Override
  public void onStartAsync(AsyncEvent event) {
    event.getAsyncContext().addListener(this);
  }

  /** Called after the application's listeners, which can have handled the time-out. */
  @Override
  public void onTimeout(AsyncEvent event) {
    timedOut = true;
  }

  /**
   * Waits for the status: after an application's exception, listeners and error pages can set it.
   */
  @Override
  public void onError(AsyncEvent event) {
    Throwable failure = event.getThrowable();
    if (failure == null || isConnectionFailure(failure)) {
      interrupted();
    }
  }
}
