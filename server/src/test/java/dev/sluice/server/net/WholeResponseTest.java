// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import static org.assertj.core.api.Assertions.assertThat;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpObject;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.common.ResponseHeaders;
import com.linecorp.armeria.server.ServiceRequestContext;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

final class WholeResponseTest {

  private static final AggregatedHttpResponse HELLO =
      AggregatedHttpResponse.of(HttpStatus.OK, MediaType.PLAIN_TEXT, "hello");

  private final ServiceRequestContext context =
      ServiceRequestContext.of(HttpRequest.of(HttpMethod.GET, "/"));
  private final CompletableFuture<AggregatedHttpResponse> later = new CompletableFuture<>();

  private static ResponseHeaders mapped(ResponseHeaders headers) {
    return headers.withMutations(builder -> builder.set("x-mapped", "yes"));
  }

  @Test
  void knownAnswer_isMapped_andKeepsItsBody() {
    HttpResponse response =
        WholeResponse.of(CompletableFuture.completedFuture(HELLO), context)
            .mapHeaders(WholeResponseTest::mapped)
            .recover(failure -> HttpResponse.of(500));
    AggregatedHttpResponse answer = response.aggregate().join();
    assertThat(answer.headers().get("x-mapped")).isEqualTo("yes");
    assertThat(answer.contentUtf8()).isEqualTo("hello");
  }

  @Test
  void laterAnswer_isMappedOnTheEventLoop_whateverThreadItComesFrom() {
    AtomicBoolean inLoop = new AtomicBoolean();
    HttpResponse response =
        WholeResponse.of(later, context)
            .mapHeaders(
                headers -> {
                  inLoop.set(context.eventLoop().inEventLoop());
                  return mapped(headers);
                });
    later.complete(HELLO);
    assertThat(response.aggregate().join().headers().get("x-mapped")).isEqualTo("yes");
    assertThat(inLoop).isTrue();
  }

  /**
   * A request that takes too long is aborted: its failure becomes an answer, by {@code recover}.
   */
  @Test
  void abortedResponse_isRecovered_andWhatComesLaterIsDropped() {
    HttpResponse response =
        WholeResponse.of(later, context)
            .mapHeaders(WholeResponseTest::mapped)
            .recover(failure -> HttpResponse.of(HttpStatus.REQUEST_TIMEOUT));
    response.abort(new IllegalStateException("as the test wants"));
    later.complete(HELLO);
    assertThat(response.aggregate().join().status()).isEqualTo(HttpStatus.REQUEST_TIMEOUT);
  }

  @Test
  void subscribedResponse_isAStream() {
    HttpResponse response = WholeResponse.of(later, context).mapHeaders(WholeResponseTest::mapped);
    CompletableFuture<List<HttpObject>> parts = response.collect();
    later.complete(HELLO);
    assertThat(parts.join()).hasSize(2);
  }
}
