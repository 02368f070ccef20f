// SPDX-License-Identifier: Apache-2.0
package dev.sluice.servlet;

import dev.sluice.web.Admission;
import jakarta.servlet.AsyncEvent;
import jakarta.servlet.AsyncListener;
import jakarta.servlet.RequestDispatcher;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/*
 * When a token may be given back.
 *
 * A conditional rule asks how the request ended, and only the application knows that. Its answer is
 * the response's status once it is done: it returned, it completed the asynchronous request, or it
 * threw an exception of its own, which is a 500.
 *
 * A request can also end while the application still works on it, for example on a password check
 * in another thread. The client resets the stream or closes the connection, or the asynchronous
 * request times out. Then nobody knows how the work will end. If the token came back, a client that
 * resets each of its streams could have any number of passwords checked. So the token stays spent,
 * unless the status had been sent before.
 *
 * Containers report such a request differently (seen with Jetty 12.1 and Tomcat 10.1):
 *
 *  - Both call onError with an IOException when an HTTP/2 stream is reset. Over HTTP/1.1 they
 *    notice that the client is gone only when they read or write.
 *  - Afterwards Jetty calls onComplete with a 500 that it says is committed. Tomcat calls it later
 *    or never: never where a write of another thread breaks before the thread that brought the
 *    request has left the container. The token then stays spent.
 *  - After a read that failed, Tomcat says that a 400 is committed, and keeps the failure in the
 *    attribute for error pages, also where the application swallowed it.
 *  - A time-out that the application's listeners do not answer is a 500 in both. Spring MVC answers
 *    it with a 503 in the application's name.
 *
 * A 400 and a 500 may thus be the container's own words, every other status is the application's.
 * After a time-out, no error of the server says how the work ends.
 */

/**
 * The end of a request that has conditional rules: gives back what its status does not count, once.
 * Thread-safe.
 */
final class Settlement implements AsyncListener {

  private static final int MOST_CAUSES = 20;

  private final Admission admission;
  private final HttpServletRequest request;
  private final HttpServletResponse response;
  private volatile boolean timedOut;

  Settlement(Admission admission, HttpServletRequest request, HttpServletResponse response) {
    this.admission = admission;
    this.request = request;
    this.response = response;
  }

  /** The application returned, or completed the asynchronous request. */
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

  /** The application threw an exception, or passed on one of the connection. */
  void failed(Throwable failure) {
    if (isConnectionFailure(failure)) {
      interrupted();
    } else {
      // The status that the client has seen counts, whatever came after it.
      admission.settle(
          response.isCommitted()
              ? response.getStatus()
              : HttpServletResponse.SC_INTERNAL_SERVER_ERROR);
    }
  }

  /** Nobody knows how the request ends, unless its status was sent before. */
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

  /** Whether a failure is, or may be, one of the connection. */
  private static boolean isConnectionFailure(@Nullable Object failure) {
    return failure instanceof Throwable thrown
        && Stream.iterate(thrown, cause -> cause != null, Throwable::getCause)
            .limit(MOST_CAUSES)
            .anyMatch(cause -> cause instanceof IOException || cause instanceof TimeoutException);
  }

  @Override
  public void onComplete(AsyncEvent event) {
    ended();
  }

  /** A dispatch that starts again forgets its listeners. */
  @Override
  public void onStartAsync(AsyncEvent event) {
    event.getAsyncContext().addListener(this);
  }

  /** The application's listeners, which have run by now, may answer it; if not, others do. */
  @Override
  public void onTimeout(AsyncEvent event) {
    timedOut = true;
  }

  /** After an exception of the application's, its listeners and error pages set the status. */
  @Override
  public void onError(AsyncEvent event) {
    Throwable failure = event.getThrowable();
    if (failure == null || isConnectionFailure(failure)) {
      interrupted();
    }
  }
}
