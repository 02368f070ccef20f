package dev.sluice.server.http;

import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.server.ServerBuilder;
import dev.sluice.Limiter;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.server.Part;
import dev.sluice.store.BucketStore;

/** The HTTP door: which path is answered by what. Immutable and thread-safe. */
public final class HttpPart implements Part {

  private final Limiter limiter;
  private final Runnable ready;

  /**
   * Makes the door.
   *
   * @param limiter decides
   * @param store the limiter's store, asked whether it is there
   */
  public HttpPart(Limiter limiter, BucketStore store) {
    this(limiter, store::ping);
  }

  /**
   * Makes the door of a server that needs more than its store.
   *
   * @param limiter decides
   * @param ready called to ask whether the server can decide now; throws a {@link
   *     NotReadyException} or a {@link dev.sluice.store.StoreException} if not; may block
   */
  public HttpPart(Limiter limiter, Runnable ready) {
    this.limiter = limiter;
    this.ready = ready;
  }

  @Override
  public void addTo(ServerBuilder server) {
    server
        .service("/", new PageResource(MediaType.PLAIN_TEXT_UTF_8, "index.txt"))
        .service("/openapi.json", new PageResource(MediaType.JSON_UTF_8, "openapi.json"))
        .service("/healthz", HealthResource.alive())
        .service("/readyz", HealthResource.ready(ready))
        .service("/v1/check", new ActResource(Act.CHECK, limiter))
        .service("/v1/spend", new ActResource(Act.SPEND, limiter))
        .service("/v1/refund", new ActResource(Act.REFUND, limiter))
        .service("/v1/reset", new ActResource(Act.RESET, limiter))
        .service("/v1/limits", new LimitsResource(limiter.limits()))
        .serviceUnder(LimitResource.UNDER, new LimitResource(limiter))
        .errorHandler(new Failures());
  }
}
