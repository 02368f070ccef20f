package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpRequest;
import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.server.wire.DecisionWriter;
import dev.sluice.server.wire.WireReader;
import dev.sluice.server.wire.WireRequest;
import java.util.concurrent.CompletionStage;

/** {@code POST /v1/check}, {@code spend}, {@code refund} and {@code reset}: one act, as JSON. */
final class ActResource extends Resource {

  private static final WireReader READER = WireReader.ofHttp();

  private final Act act;
  private final Acts acts;

  ActResource(Act act, Acts acts) {
    super(HttpMethod.POST);
    this.act = act;
    this.acts = acts;
  }

  @Override
  CompletionStage<AggregatedHttpResponse> answer(
      ServiceRequestContext context, HttpRequest request) {
    Fault unreadable = Bodies.unreadable(request, MediaType.JSON);
    return unreadable == null
        ? request.aggregate().thenCompose(body -> decide(context, body))
        : request.aggregate().thenApply(body -> Answers.fault(unreadable));
  }

  private CompletionStage<AggregatedHttpResponse> decide(
      ServiceRequestContext context, AggregatedHttpRequest request) {
    boolean decides = act == Act.CHECK || act == Act.SPEND;
    AnswerForm form = decides ? AnswerForm.of(context) : AnswerForm.fixed(context);
    byte[] json = request.content().array();
    WireRequest wire = READER.read(json, 0, json.length);
    return acts.send(act, wire)
        .thenApply(
            decision ->
                decision.isEmpty()
                    ? Answers.json(HttpStatus.OK, DecisionWriter::writeReset)
                    : Answers.decision(decision.get(), wire.isBatch(), form));
  }
}
