// SPDX-License-Identifier: Apache-2.0
package login;

import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.Limits;
import dev.sluice.servlet.RateLimitFilter;
import dev.sluice.store.BucketStore;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.ProxyHeader;
import dev.sluice.web.Rule;
import dev.sluice.web.VaryBy;
import io.dropwizard.core.Application;
import io.dropwizard.core.Configuration;
import io.dropwizard.core.setup.Environment;
import jakarta.servlet.DispatcherType;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.QueryParam;
import jakarta.ws.rs.WebApplicationException;
import java.time.Duration;
import java.util.EnumSet;

public final class LoginApplication extends Application<Configuration> {

  public static void main(String[] arguments) throws Exception {
    new LoginApplication().run(arguments);
  }

  @Override
  public void run(Configuration configuration, Environment environment) {
    Limits limits =
        Limits.builder(Catalogue.samples())
            .limit("LoginsPerIPAddress", Quota.per(5, Duration.ofMinutes(1)))
            .limit("FailedLoginsPerIPAddress", Quota.per(3, Duration.ofHours(1)))
            .limit("LoginsPerUserPerIPAddress", Quota.per(1, Duration.ofHours(1)))
            .build();
    RateLimitFilter filter =
        RateLimitFilter.builder(Limiter.of(limits, BucketStore.inMemory()))
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
    environment
        .servlets()
        .addFilter("rate limits", filter)
        .addMappingForUrlPatterns(EnumSet.of(DispatcherType.REQUEST), false, "/*");
    environment.jersey().register(new Login());
  }

  @Path("/login")
  public static final class Login {
    @POST
    public String login(@QueryParam("password") String password) {
      if (!password.equals("secret")) {
        throw new WebApplicationException(401);
      }
      return "welcome";
    }
  }
}
