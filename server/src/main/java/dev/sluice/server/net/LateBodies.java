// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpObject;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.stream.SubscriptionOption;
import com.linecorp.armeria.server.DecoratingHttpServiceFunction;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.async.Stages;
import java.time.Duration;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/*
 * Over HTTP/2 the library resets a stream at once if the answer is out before the body is in. The
 * client may lose the answer with it; a gRPC client reports CANCELLED then. So the body may arrive
 * for a while. It must be read then: unread, it would fill the window that all streams of its
 * connection share, and memory that no budget counts. Over HTTP/1.1 the library drops what follows.
 */

/** Reads and drops what still arrives of a body whose request is answered. Thread-safe. */
final class LateBodies implements DecoratingHttpServiceFunction {

  /** How long a body may arrive after the answer. */
  private static final Duration PATIENCE = Duration.ofSeconds(2);

  @Override
  public HttpResponse serve(HttpService next, ServiceRequestContext context, HttpRequest request)
      throws Exception {
    HttpResponse response = next.serve(context, request);
    if (context.sessionProtocol().isMultiplex() && !request.isEmpty()) {
      context.setRequestAutoAbortDelay(PATIENCE);
      Stages.onEnd(
          response.whenComplete(),
          (done, failure) -> {
            Exchange exchange = context.attr(Exchange.KEY);
            if (!request.isComplete() && (exchange == null || !exchange.isRead())) {
              drop(request);
            }
          });
    }
    return response;
  }

  /** Does nothing for a body that somebody reads, at the cost of an exception. */
  static void drop(HttpRequest request) {
    request.subscribe(new Dropped(), SubscriptionOption.WITH_POOLED_OBJECTS);
  }

  /** Takes everything and keeps nothing. */
  private static final class Dropped implements Subscriber<HttpObject> {

    @Override
    public void onSubscribe(Subscription subscription) {
      subscription.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(HttpObject part) {
      if (part instanceof HttpData data) {
        data.close();
      }
    }

    @Override
    public void onError(Throwable cause) {
      // somebody reads it, or it will not arrive: either way there is nothing to drop
    }

    @Override
    public void onComplete() {
      // it arrived
    }
  }
}
