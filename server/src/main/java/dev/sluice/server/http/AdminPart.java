// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.server.ServerBuilder;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.admin.RuntimeLimits;
import dev.sluice.server.net.Part;
import dev.sluice.server.net.TaskThreads;
import java.util.concurrent.Executor;

/** Overrides and penalties that are set while the server runs. Immutable and thread-safe. */
public final class AdminPart implements Part {

  /** The most changes that wait for the one before them; a further one gets a 503. */
  static final int MAX_WAITING_CHANGES = 100;

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
    Executor changes = TaskThreads.one(server, "sluice-changes", MAX_WAITING_CHANGES);
    server
        .service(OverridesResource.PATH, new OverridesResource(limits))
        .serviceUnder(OverrideResource.UNDER, new OverrideResource(limits, audit, changes))
        .service(PenaltiesResource.PATH, new PenaltiesResource(limits))
        .serviceUnder(PenaltyResource.UNDER, new PenaltyResource(limits, audit, changes));
  }
}
