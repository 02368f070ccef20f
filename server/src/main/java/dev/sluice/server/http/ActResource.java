// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.access.Acts;
import dev.sluice.wire.DecisionWriter;
import dev.sluice.wire.Mistakes;
import dev.sluice.wire.WireException;
import dev.sluice.wire.WireRequest;
import java.util.concurrent.CompletionStage;

/** {@code POST /v1/check}, {@code spend}, {@code refund} and {@code reset}: one act, as JSON. */
final class ActResource extends JsonResource {

  private final Act act;
  private final Acts acts;

  ActResource(Act act, Acts acts) {
    this.act = act;
    this.acts = acts;
  }

  @Override
  void unreadable(ServiceRequestContext context, String why) {
    acts.refused(act, AccessPart.caller(context), why);
  }

  @Override
  CompletionStage<AggregatedHttpResponse> answer(ServiceRequestContext context, byte[] json) {
    boolean decides = act == Act.CHECK || act == Act.SPEND;
    Mistakes mistakes = new Mistakes();
    AnswerForm form =
        decides ? AnswerForm.of(context, mistakes) : AnswerForm.fixed(context, mistakes);
    WireRequest wire;
    try {
      wire = read(json, mistakes);
    } catch (WireException e) {
      unreadable(context, String.valueOf(e.getMessage()));
      throw e;
    }
    return acts.send(act, wire, AccessPart.caller(context))
        .thenApply(
            decision ->
                act == Act.RESET
                    ? Answers.json(HttpStatus.OK, out -> DecisionWriter.writeReset(decision, out))
                    : Answers.decision(decision.orElseThrow(), wire.isBatch(), form));
  }
}
