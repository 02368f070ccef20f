// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.server.ServerBuilder;
import dev.sluice.Limiter;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.server.access.Acts;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.base.Generations;
import dev.sluice.server.base.NotReadyException;
import dev.sluice.server.net.Decorators;
import dev.sluice.server.net.Part;
import dev.sluice.server.net.TaskThreads;
import dev.sluice.server.reservation.Reservations;
import dev.sluice.server.reservation.TokenKey;
import dev.sluice.store.BucketStore;
import java.util.concurrent.Executor;

/** The HTTP door: which path is answered by what. Immutable and thread-safe. */
public final class HttpPart implements Part {

  /** Where nothing is charged. */
  static final String CHECK = "/v1/check";

  private static final int MAX_WAITING_RELOADS = 100;

  private final Limiter limiter;
  private final Reservations reservations;
  private final Runnable ready;
  private final AuditLog audit;
  private final Generations generations;
  private final ProblemsPart problems = new ProblemsPart();

  /**
   * Makes the door of a server of its own: no other one knows the tokens of its reservations.
   *
   * @param limiter decides
   * @param store the limiter's store, asked whether it is there
   */
  public HttpPart(Limiter limiter, BucketStore store) {
    this(
        limiter,
        new Reservations(limiter, store, TokenKey.random()),
        store::ping,
        AuditLog.none(),
        new Generations());
  }

  /**
   * Makes the door.
   *
   * @param limiter decides
   * @param reservations what clients hold, by the same limiter
   * @param ready called to ask whether the server can decide now; throws a {@link
   *     NotReadyException} or a {@link dev.sluice.store.StoreException} if not; may block
   * @param audit takes resets, refunds and reloads
   * @param generations of the watched files, which {@code /v1/limits} shows
   */
  public HttpPart(
      Limiter limiter,
      Reservations reservations,
      Runnable ready,
      AuditLog audit,
      Generations generations) {
    this.limiter = limiter;
    this.reservations = reservations;
    this.ready = ready;
    this.audit = audit;
    this.generations = generations;
  }

  @Override
  public void addTo(ServerBuilder server) {
    Acts acts = new Acts(limiter, audit, "http");
    Executor reloads = TaskThreads.one(server, "sluice-reload", MAX_WAITING_RELOADS);
    server
        .service("/", new IndexResource())
        .serviceUnder(FileResource.UNDER, new FileResource())
        .service("/openapi.json", new TextResource(MediaType.JSON_UTF_8, "openapi.json"))
        .service("/healthz", HealthResource.alive())
        .service("/readyz", HealthResource.ready(ready))
        .service(CHECK, new ActResource(Act.CHECK, acts))
        .service("/v1/spend", new ActResource(Act.SPEND, acts))
        .service("/v1/refund", new ActResource(Act.REFUND, acts))
        .service("/v1/reset", new ActResource(Act.RESET, acts))
        .service("/v1/reservations", new ReservationsResource(acts, reservations))
        .serviceUnder(CancelResource.UNDER, new CancelResource(reservations))
        .service("/v1/limits", new LimitsResource(limiter.limits(), generations))
        .service("/v1/admin/reload", new ReloadResource(generations, audit, reloads))
        .serviceUnder(LimitResource.UNDER, new LimitResource(limiter));
    server // it bounds its body itself, to be able to say so amid its answers
        .route()
        .path("/v1/decisions")
        .maxRequestLength(0)
        .build(new DecisionsResource(acts));
    problems.addTo(server);
  }

  @Override
  public void addFirst(Decorators decorators) {
    problems.addFirst(decorators);
  }
}
