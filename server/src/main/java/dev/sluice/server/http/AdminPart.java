// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.server.ServerBuilder;
import dev.sluice.server.Part;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.admin.RuntimeLimits;

/** Overrides and penalties that are set while the server runs. Immutable and thread-safe. */
public final class AdminPart implements Part {

  private final RuntimeLimits limits;
  private final AuditLog audit;

  /**
   * Makes the part.
   *
   * @param limits takes what is set
   * @param audit takes who has set it
   */
  public AdminPart(RuntimeLimits limits, AuditLog audit) {
    this.limits = limits;
    this.audit = audit;
  }

  @Override
  public void addTo(ServerBuilder server) {
    server
        .service(OverridesResource.PATH, new OverridesResource(limits))
        .serviceUnder(OverrideResource.UNDER, new OverrideResource(limits, audit))
        .service(PenaltiesResource.PATH, new PenaltiesResource(limits))
        .serviceUnder(PenaltyResource.UNDER, new PenaltyResource(limits, audit));
  }
}
