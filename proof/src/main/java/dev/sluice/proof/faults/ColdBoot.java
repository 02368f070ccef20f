// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.faults;

import dev.sluice.spring.RateLimited;
import java.io.IOException;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/**
 * An application on Spring Boot that has just started, whose beans are made by its first request;
 * prints its port, and serves until its input ends.
 */
@SpringBootConfiguration(proxyBeanMethods = false)
@EnableAutoConfiguration
@RestController
public class ColdBoot {

  static final String PATH = "/page";

  /**
   * Answers what a limit allows.
   *
   * @return a page
   */
  @GetMapping(PATH)
  @RateLimited(limit = "ApiCallsPerKey", id = "'all'")
  public String page() {
    return "a page";
  }

  /**
   * Serves.
   *
   * @param args the address of the store
   * @throws IOException if its input breaks
   */
  public static void main(String[] args) throws IOException {
    try (ConfigurableApplicationContext application =
        new SpringApplicationBuilder(ColdBoot.class)
            .web(WebApplicationType.SERVLET)
            .run(
                "--server.port=0",
                "--server.address=127.0.0.1",
                "--logging.level.root=off",
                "--spring.main.banner-mode=off",
                "--spring.main.lazy-initialization=true",
                "--sluice.store=" + args[0],
                "--sluice.limits.ApiCallsPerKey.burst=1000000",
                "--sluice.limits.ApiCallsPerKey.count=1000000",
                "--sluice.limits.ApiCallsPerKey.period=1h")) {
      System.out.println(application.getEnvironment().getProperty("local.server.port"));
      int unused = System.in.read();
    }
  }
}
