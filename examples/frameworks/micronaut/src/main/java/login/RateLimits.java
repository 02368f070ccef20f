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
import io.micronaut.core.annotation.Nullable;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ResponseFilter;
import io.micronaut.http.annotation.ServerFilter;
import java.time.Duration;
import java.util.concurrent.CompletionStage;

@ServerFilter("/**")
class RateLimits {

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

  @RequestFilter
  CompletionStage<@Nullable HttpResponse<?>> admit(HttpRequest<?> request) {
    PlainRequest.Builder plain =
        WebRequest.builder(request.getMethodName(), request.getUri().toString())
            .peer(request.getRemoteAddress().getAddress().getHostAddress());
    request.getHeaders().forEachValue(plain::header);
    return requests
        .admitAsync(plain.build())
        .thenApply(
            admission -> {
              request.setAttribute(ADMISSION, admission);
              return admission.refusal() == null ? null : refused(admission.refusal());
            });
  }

  private static HttpResponse<?> refused(Refusal refusal) {
    MutableHttpResponse<String> response =
        HttpResponse.<String>status(HttpStatus.valueOf(refusal.status())).body(refusal.body());
    refusal.headers().forEach(response::header);
    return response;
  }

  @ResponseFilter
  void settle(HttpRequest<?> request, MutableHttpResponse<?> response) {
    request
        .getAttribute(ADMISSION, Admission.class)
        .filter(admission -> admission.refusal() == null)
        .ifPresent(
            admission -> {
              if (admission.decision() != null) {
                requests.headers(admission.decision()).forEach(response::header);
              }
              var unused = admission.settleAsync(response.code());
            });
  }
}
