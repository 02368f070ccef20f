// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Penalty;
import dev.sluice.server.admin.RuntimeLimits;
import java.io.IOException;
import java.util.List;
import java.util.stream.Stream;

/** {@code GET /v1/admin/penalties}: all penalties that are in force. */
final class PenaltiesResource extends PagedResource<Penalty> {

  static final String PATH = "/v1/admin/penalties";

  private final RuntimeLimits limits;

  PenaltiesResource(RuntimeLimits limits) {
    super(limits.limits()::get, "penalties");
    this.limits = limits;
  }

  @Override
  Stream<Penalty> of(Limits now, LimitName name) {
    return now.penaltiesOf(name).stream().filter(PenaltyResource::isInForce);
  }

  @Override
  String id(Penalty one) {
    return one.id();
  }

  @Override
  void write(Penalty one, JsonGenerator json) throws IOException {
    PenaltyResource.write(one, limits, List.of(), json);
  }
}
