// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.server.admin.RuntimeLimits;
import java.io.IOException;
import java.util.List;
import java.util.stream.Stream;

/** {@code GET /v1/admin/overrides}: all overrides that are in force. */
final class OverridesResource extends PagedResource<LimitOverride> {

  static final String PATH = "/v1/admin/overrides";

  private final RuntimeLimits limits;

  OverridesResource(RuntimeLimits limits) {
    super(limits.limits()::get, "overrides");
    this.limits = limits;
  }

  @Override
  Stream<LimitOverride> of(Limits now, LimitName name) {
    return now.overridesOf(name).stream();
  }

  @Override
  String id(LimitOverride one) {
    return one.id();
  }

  @Override
  void write(LimitOverride one, JsonGenerator json) throws IOException {
    OverrideResource.write(one, limits, List.of(), json);
  }
}
