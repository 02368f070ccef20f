// SPDX-License-Identifier: Apache-2.0
package login;

import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.web.Admission;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.PlainRequest;
import dev.sluice.web.ProxyHeader;
import dev.sluice.web.Refusal;
import dev.sluice.web.RequestLimiter;
import dev.sluice.web.Rule;
import dev.sluice.web.VaryBy;
import dev.sluice.web.WebRequest;
import io.smallrye.mutiny.Uni;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.container.ContainerResponseContext;
import jakarta.ws.rs.core.Response;
import java.time.Duration;
import org.jboss.resteasy.reactive.server.ServerRequestFilter;
import org.jboss.resteasy.reactive.server.ServerResponseFilter;

public class RateLimits {

  private static final String ADMISSION = "dev.sluice.admission";

  private final RequestLimiter requests =
      RequestLimiter.builder(
              Limiter.of(
                  Limits.builder(Catalogue.samples())
                      .limit("LoginsPerIPAddress", Quota.per(5, Duration.ofMinutes(1)))
                      .limit("FailedLoginsPerIPAddress", Quota.per(3, Duration.ofHours(1)))
                      .limit("LoginsPerUserPerIPAddress", Quota.per(1, Duration.ofHours(1)))
                      .build(),
                  BucketStore.inMemory()))
          .clientAddress(ClientAddress.behind(ProxyHeader.X_FORWARDED_FOR, "127.0.0.1"))
          .rule(
              Rule.on("/login")
                  .methods("POST")
                  .limit("LoginsPerIPAddress", VaryBy.clientAddress())
                  .build())
          .rule(
              Rule.on("/login")
                  .methods("POST")
                  .limit("FailedLoginsPerIPAddress", VaryBy.clientAddress())
                  .countAllBut(200)
                  .build())
          .rule(
              Rule.on("/login")
                  .methods("POST")
                  .limit(
                      "LoginsPerUserPerIPAddress",
                      VaryBy.clientAddress(),
                      VaryBy.queryParameter("user"))
                  .shadow()
                  .build())
          .build();

  @ServerRequestFilter(preMatching = true)
  public Uni<Response> admit(ContainerRequestContext context, HttpServerRequest request) {
    PlainRequest.Builder plain =
        WebRequest.builder(request.method().name(), request.uri())
            .peer(request.remoteAddress().hostAddress());
    request.headers().forEach(header -> plain.header(header.getKey(), header.getValue()));
    return Uni.createFrom()
        .completionStage(() -> requests.admitAsync(plain.build()))
        .map(
            admission -> {
              context.setProperty(ADMISSION, admission);
              return admission.refusal() == null ? null : refused(admission.refusal());
            });
  }

  private static Response refused(Refusal refusal) {
    Response.ResponseBuilder response = Response.status(refusal.status()).entity(refusal.body());
    refusal.headers().forEach(response::header);
    return response.build();
  }

  @ServerResponseFilter
  public void settle(ContainerRequestContext context, ContainerResponseContext response) {
    if (context.getProperty(ADMISSION) instanceof Admission admission
        && admission.refusal() == null) {
      if (admission.decision() != null) {
        requests.headers(admission.decision()).forEach(response.getHeaders()::putSingle);
      }
      var unused = admission.settleAsync(response.getStatus());
    }
  }
}
