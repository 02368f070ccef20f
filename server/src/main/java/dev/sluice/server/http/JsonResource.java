// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.server.net.Requests;
import dev.sluice.wire.Mistakes;
import dev.sluice.wire.WireReader;
import dev.sluice.wire.WireRequest;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** A path that takes transactions, as JSON in a POST. Thread-safe. */
abstract class JsonResource extends Resource {

  private static final WireReader READER = WireReader.ofHttp();

  JsonResource() {
    super(HttpMethod.POST);
  }

  /** Answers a body that is declared as JSON; may throw, or fail later. */
  abstract CompletionStage<AggregatedHttpResponse> answer(
      ServiceRequestContext context, byte[] json);

  /** Takes that a body cannot be read; overridden by what notes such requests. */
  void unreadable(ServiceRequestContext context, String why) {}

  /** Reads the body; its mistakes are told after those of the query. */
  static WireRequest read(byte[] json, Mistakes ofQuery) {
    return READER.read(json, ofQuery);
  }

  @Override
  final CompletionStage<AggregatedHttpResponse> answer(
      ServiceRequestContext context, HttpRequest request) {
    Fault unreadable = Bodies.unreadable(request, MediaType.JSON);
    if (unreadable == null) {
      return answer(context, Requests.body(context));
    }
    unreadable(context, unreadable.detail());
    return CompletableFuture.completedFuture(Answers.fault(unreadable));
  }
}
