package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.ContentTooLargeException;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.RequestHeaders;
import com.linecorp.armeria.common.util.Exceptions;
import com.linecorp.armeria.server.HttpResponseException;
import com.linecorp.armeria.server.HttpStatusException;
import com.linecorp.armeria.server.RequestTimeoutException;
import com.linecorp.armeria.server.ServerErrorHandler;
import com.linecorp.armeria.server.ServiceConfig;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.server.SluiceServer;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Turns whatever goes wrong, in a resource or before one was found, into a problem. Stateless. */
final class Failures implements ServerErrorHandler {

  private static final Logger log = LoggerFactory.getLogger(Failures.class);

  static AggregatedHttpResponse answer(Throwable failure) {
    Throwable cause = Exceptions.peel(failure);
    if (cause instanceof ContentTooLargeException) {
      return Answers.fault(Fault.tooLarge(SluiceServer.MAX_BODY));
    }
    Fault fault = Fault.of(cause);
    if (fault.status().equals(HttpStatus.INTERNAL_SERVER_ERROR)) {
      log.error("a request failed", cause);
    }
    return Answers.fault(fault);
  }

  @Override
  public @Nullable HttpResponse onServiceException(ServiceRequestContext context, Throwable cause) {
    if (cause instanceof HttpStatusException || cause instanceof HttpResponseException) {
      return null; // the library's own, rendered below
    }
    if (cause instanceof RequestTimeoutException) {
      return Answers.fault(timedOut(context)).toHttpResponse();
    }
    return answer(cause).toHttpResponse();
  }

  /** Either the client was slow, or, where all that it had to say is here, the store. */
  private static Fault timedOut(ServiceRequestContext context) {
    CompletableFuture<Void> arrival = context.request().whenComplete();
    return arrival.isDone() && !arrival.isCompletedExceptionally()
        ? Fault.storeUnreachable("the store did not answer in time; it may have charged or not")
        : Fault.ofStatus(HttpStatus.REQUEST_TIMEOUT, "the request took too long to arrive");
  }

  @Override
  public AggregatedHttpResponse renderStatus(
      @Nullable ServiceRequestContext context,
      ServiceConfig config,
      @Nullable RequestHeaders headers,
      HttpStatus status,
      @Nullable String description,
      @Nullable Throwable cause) {
    if (status.equals(HttpStatus.REQUEST_ENTITY_TOO_LARGE)) {
      return Answers.fault(Fault.tooLarge(SluiceServer.MAX_BODY));
    }
    if (status.equals(HttpStatus.NOT_FOUND) && headers != null) {
      return Answers.fault(Fault.notFound(headers.path()));
    }
    return Answers.fault(Fault.ofStatus(status, description));
  }

  @Override
  public AggregatedHttpResponse onProtocolViolation(
      ServiceConfig config,
      @Nullable RequestHeaders headers,
      HttpStatus status,
      @Nullable String description,
      @Nullable Throwable cause) {
    return renderStatus(null, config, headers, status, description, cause);
  }
}
