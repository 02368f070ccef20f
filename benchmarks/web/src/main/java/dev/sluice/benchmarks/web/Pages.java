// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.web;

import dev.sluice.spring.RateLimited;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * Methods with {@link RateLimited} as in an application, and a method with an advice that does
 * nothing.
 */
@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration
class Pages {

  private static final String MANY = "1000000000";

  /** A method with one limit. */
  static class One {
    @RateLimited(limit = "ApiCallsPerKey", id = "#key")
    public String page(String key) {
      return Connection.BODY;
    }
  }

  /** A method with two limits, which each call charges in one batch. */
  static class Two {
    @RateLimited(limit = "ApiCallsPerKey", id = "#key")
    @RateLimited(limit = "LoginsPerIPAddress", id = "'192.0.2.1'")
    public String page(String key) {
      return Connection.BODY;
    }
  }

  /** A method without a limit; the benchmark adds an advice without effect to this method. */
  static class None {
    public String page(String key) {
      return Connection.BODY;
    }
  }

  @Bean
  One one() {
    return new One();
  }

  @Bean
  Two two() {
    return new Two();
  }

  static ConfigurableApplicationContext start() {
    SpringApplication application =
        new SpringApplicationBuilder(Pages.class)
            .web(WebApplicationType.NONE)
            .bannerMode(org.springframework.boot.Banner.Mode.OFF)
            .logStartupInfo(false)
            .build();
    application.setDefaultProperties(
        Map.of(
            "sluice.limits.ApiCallsPerKey.burst", MANY,
            "sluice.limits.ApiCallsPerKey.count", MANY,
            "sluice.limits.ApiCallsPerKey.period", "10s",
            "sluice.limits.LoginsPerIPAddress.burst", MANY,
            "sluice.limits.LoginsPerIPAddress.count", MANY,
            "sluice.limits.LoginsPerIPAddress.period", "10s"));
    return application.run();
  }

  /** Returns the method of a Spring proxy with an advice that does nothing. */
  static UnaryOperator<String> empty() {
    ProxyFactory factory = new ProxyFactory(new None());
    factory.setProxyTargetClass(true);
    factory.addAdvice((MethodInterceptor) MethodInvocation::proceed);
    None proxy = (None) factory.getProxy();
    return proxy::page;
  }
}
