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
  private final BucketStore store;

  /**
   * Makes the door.
   *
   * @param limiter decides
   * @param store the limiter's store, asked whether it is there
   */
  public HttpPart(Limiter limiter, BucketStore store) {
    this.limiter = limiter;
    this.store = store;
  }

  @Override
  public void addTo(ServerBuilder server) {
    server
        .service("/", new PageResource(MediaType.PLAIN_TEXT_UTF_8, "index.txt"))
        .service("/openapi.json", new PageResource(MediaType.JSON_UTF_8, "openapi.json"))
        .service("/healthz", HealthResource.alive())
        .service("/readyz", HealthResource.ready(store))
        .service("/v1/check", new ActResource(Act.CHECK, limiter))
        .service("/v1/spend", new ActResource(Act.SPEND, limiter))
        .service("/v1/refund", new ActResource(Act.REFUND, limiter))
        .service("/v1/reset", new ActResource(Act.RESET, limiter))
        .service("/v1/limits", new LimitsResource(limiter.limits()))
        .serviceUnder(BucketResource.UNDER, new BucketResource(limiter.async()))
        .errorHandler(new Failures());
  }
}
