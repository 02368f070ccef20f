// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.StoreException;
import dev.sluice.web.RefusalHook;
import dev.sluice.web.Rule;
import dev.sluice.web.VaryBy;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ControllerAdvice;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** An application of each stack, over real HTTP. */
@ParameterizedClass
@EnumSource(
    value = WebApplicationType.class,
    names = {"SERVLET", "REACTIVE"})
class WebApplicationTest {

  private final WebApplicationType type;
  private HttpClient client = newClient();
  private static ConfigurableApplicationContext usual;

  private ConfigurableApplicationContext context;

  private static HttpClient newClient() {
    return HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  }

  WebApplicationTest(WebApplicationType type) {
    this.type = type;
    this.context = usual;
  }

  /** One application for the tests that change nothing about it. */
  @BeforeParameterizedClassInvocation
  static void startUsual(WebApplicationType type) {
    usual = run(Application.class, type);
  }

  @AfterParameterizedClassInvocation
  static void stopUsual() {
    usual.close();
  }

  @SpringBootConfiguration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Application {

    @Bean
    Pages pages(Limiter limiter) {
      return new Pages(limiter);
    }

    @Bean
    CatchAll catchAll() {
      return new CatchAll();
    }

    @Bean
    Plans plans() {
      return new Plans();
    }

    @Bean
    Rule planned(Plans plans) {
      return Rule.on("/planned/{key}")
          .limitAsync(
              "ApiCallsPerKey",
              request ->
                  CompletableFuture.completedFuture(
                      plans.of(request.path().substring("/planned/".length()))),
              VaryBy.pathVariable("key"))
          .build();
    }
  }

  static final class Plans {
    public Quota of(String key) {
      if (key.startsWith("broken")) {
        throw new IllegalStateException("the database is away");
      }
      return Quota.per(1, Duration.ofHours(1));
    }
  }

  @SpringBootConfiguration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Hooked extends Application {

    @Bean
    RefusalHook hook() {
      return (request, decision, prepared) ->
          prepared
              .withStatus(prepared.status() == 429 ? 420 : prepared.status())
              .withoutHeader("RateLimit-Policy")
              .withBody("text/plain", request.method() + (decision == null ? " error" : " denied"));
    }
  }

  @RestController
  static class Pages {

    private final Limiter limiter;

    Pages(Limiter limiter) {
      this.limiter = limiter;
    }

    @GetMapping("/thrown/{key}")
    String thrown(@PathVariable String key) {
      return "page " + limiter.spend("ApiCallsPerKey", key).orThrow().remaining();
    }

    @GetMapping(path = "/begun/{key}", produces = "text/event-stream")
    Flux<String> begun(@PathVariable String key) {
      return Flux.range(0, 3)
          .map(i -> "left " + limiter.spend("ApiCallsPerKey", key).orThrow().remaining());
    }

    @GetMapping("/filtered")
    String filtered() {
      return "page";
    }

    @GetMapping("/planned/{key}")
    String planned(@PathVariable String key) {
      return "page";
    }

    @GetMapping("/unplanned/{key}")
    @RateLimited(limit = "ApiCallsPerKey", id = "#key", quota = "@plans.of(#key)")
    public String unplanned(@PathVariable String key) {
      return "page";
    }

    @GetMapping("/annotated/{key}")
    @RateLimited(limit = "ApiCallsPerKey", id = "#key")
    public String annotated(@PathVariable String key) {
      return "page of " + key;
    }

    @GetMapping("/mono/{key}")
    @RateLimited(limit = "ApiCallsPerKey", id = "#key")
    public Mono<String> mono(@PathVariable String key) {
      return Mono.just("page of " + key);
    }

    @GetMapping("/both/{key}")
    @RateLimited(limit = "ApiCallsPerKey", id = "#key")
    public String both(@PathVariable String key) {
      return "page of " + key;
    }
  }

  /** What many applications have. */
  @ControllerAdvice
  static class CatchAll {
    @ExceptionHandler
    ResponseEntity<String> any(Exception failure) {
      return ResponseEntity.status(500).body(failure.toString());
    }
  }

  private void start(Class<?> application, String... more) {
    stop();
    context = run(application, type, more);
  }

  private static ConfigurableApplicationContext run(
      Class<?> application, WebApplicationType type, String... more) {
    List<String> arguments =
        new ArrayList<>(
            List.of(
                "--server.port=0",
                "--server.address=127.0.0.1",
                // Reactor Netty 1.3.7 can stop reading a kept connection (its issue 4361).
                "--server.netty.max-keep-alive-requests=1",
                "--logging.level.root=off",
                "--spring.main.banner-mode=off",
                "--management.endpoints.web.exposure.include=sluice,health",
                "--management.endpoint.health.show-components=always",
                "--sluice.limits.ApiCallsPerKey.burst=2",
                "--sluice.limits.ApiCallsPerKey.count=2",
                "--sluice.limits.ApiCallsPerKey.period=1h",
                "--sluice.limits.LoginsPerIPAddress.burst=9",
                "--sluice.limits.LoginsPerIPAddress.count=9",
                "--sluice.limits.LoginsPerIPAddress.period=1h",
                "--sluice.filter.rules[1].path=/both/**",
                "--sluice.filter.rules[1].limit=LoginsPerIPAddress",
                "--sluice.filter.rules[1].id=ip",
                "--sluice.filter.rules[0].path=/filtered",
                "--sluice.filter.rules[0].limit=ApiCallsPerKey",
                "--sluice.filter.rules[0].id=constant:filtered"));
    arguments.addAll(List.of(more));
    return new SpringApplicationBuilder(application)
        .web(type)
        .run(arguments.toArray(String[]::new));
  }

  @AfterEach
  void stop() {
    if (context != usual) {
      context.close();
    }
  }

  private HttpResponse<String> send(String method, String path)
      throws IOException, InterruptedException {
    String port = context.getEnvironment().getProperty("local.server.port");
    return client.send(
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
            .method(method, BodyPublishers.noBody())
            .build(),
        BodyHandlers.ofString());
  }

  private HttpResponse<String> get(String path) throws IOException, InterruptedException {
    return send("GET", path);
  }

  @Test
  void denial_isTheSame429_ofFilterAndAnnotation_withEachHeaderOnce() throws Exception {
    for (String path : List.of("/filtered", "/annotated/a", "/mono/b", "/both/c", "/thrown/d")) {
      assertThat(get(path).statusCode()).isEqualTo(200);
      assertThat(get(path).statusCode()).isEqualTo(200);

      HttpResponse<String> refused = get(path);

      assertThat(refused.statusCode()).as(path).isEqualTo(429);
      assertThat(refused.headers().allValues("Retry-After")).hasSize(1);
      assertThat(refused.headers().allValues("RateLimit"))
          .singleElement()
          .asString()
          .startsWith("\"ApiCallsPerKey\";r=0;t=");
      assertThat(refused.headers().allValues("Content-Type"))
          .containsExactly("application/problem+json");
      assertThat(refused.headers().allValues("Cache-Control")).containsExactly("no-store");
      assertThat(refused.body()).contains("#quota-exceeded", "ApiCallsPerKey");
    }
  }

  @Test
  void denial_afterTheResponseHasBegun_addsNothingToIt() throws Exception {
    StringBuilder read = new StringBuilder();
    try {
      String port = context.getEnvironment().getProperty("local.server.port");
      URI uri = URI.create("http://127.0.0.1:" + port + "/begun/e");
      client.send(
          HttpRequest.newBuilder(uri).build(),
          BodyHandlers.ofByteArrayConsumer(
              part -> part.ifPresent(bytes -> read.append(new String(bytes, UTF_8)))));
    } catch (IOException brokenOff) {
      // The parts that arrived before are in `read`.
    }
    assertThat(read.toString()).contains("left 1").doesNotContain("quota-exceeded");
  }

  @Test
  void quotaOfTheApplication_decides_inARuleAndInAnAnnotation() throws Exception {
    for (String path : List.of("/planned/", "/unplanned/")) {
      assertThat(get(path + path.length()).statusCode()).isEqualTo(200);
      HttpResponse<String> refused = get(path + path.length());
      assertThat(refused.statusCode()).isEqualTo(429);
      assertThat(refused.headers().firstValue("RateLimit-Policy"))
          .hasValue("\"ApiCallsPerKey\";q=1;w=3600");

      assertThat(get("/actuator/sluice/ApiCallsPerKey/" + path.length()).body())
          .contains("\"burst\":1", "\"remaining\":0", "supplied by the application");

      HttpResponse<String> broken = get(path + "broken");
      assertThat(broken.statusCode()).isEqualTo(500);
      assertThat(broken.body()).contains("the quota of the request is unknown");
    }
  }

  @Test
  void hookOfTheApplication_answersRefusedRequests_ofFilterAndAnnotation() throws Exception {
    start(Hooked.class);
    for (String path : List.of("/filtered", "/annotated/a", "/mono/b")) {
      assertThat(get(path).statusCode()).isEqualTo(200);
      assertThat(get(path).statusCode()).isEqualTo(200);

      HttpResponse<String> refused = get(path);

      assertThat(refused.statusCode()).as(path).isEqualTo(420);
      assertThat(refused.body()).isEqualTo("GET denied");
      assertThat(refused.headers().firstValue("Content-Type")).hasValue("text/plain;charset=utf-8");
      assertThat(refused.headers().firstValue("RateLimit")).isPresent();
      assertThat(refused.headers().firstValue("RateLimit-Policy")).isEmpty();
    }
    for (String path : List.of("/planned/broken", "/unplanned/broken")) {
      assertThat(get(path).statusCode()).isEqualTo(500);
      assertThat(get(path).body()).isEqualTo("GET error");
    }
  }

  @Test
  void caseOfAPath_countsUnlessTheFilterOrTheRuleIgnoresIt() throws Exception {
    assertThat(get("/FILTERED").headers().firstValue("RateLimit")).isEmpty();
    start(Application.class, "--sluice.filter.ignore-case=true");
    assertThat(get("/FILTERED").headers().firstValue("RateLimit")).isPresent();
    start(
        Application.class,
        "--sluice.filter.ignore-case=true",
        "--sluice.filter.rules[0].ignore-case=false");
    assertThat(get("/FILTERED").headers().firstValue("RateLimit")).isEmpty();
  }

  @Test
  void methodThatARequestAsksFor_isTheRulesUnlessTheFilterIgnoresIt() throws Exception {
    String method = "--sluice.filter.rules[0].methods=DELETE";
    start(Application.class, method);
    assertThat(get("/filtered").headers().firstValue("RateLimit")).isEmpty();
    assertThat(get("/filtered?_method=delete").headers().firstValue("RateLimit")).isPresent();
    start(Application.class, method, "--sluice.filter.method-override=false");
    assertThat(get("/filtered?_method=delete").headers().firstValue("RateLimit")).isEmpty();
  }

  @Test
  void unusableId_isA400() throws Exception {
    for (String path : List.of("/annotated/", "/mono/")) {
      HttpResponse<String> refused = get(path + "k".repeat(2000));

      assertThat(refused.statusCode()).isEqualTo(400);
      assertThat(refused.body()).contains("unusable value").doesNotContain("kkk", "Pages");
    }
  }

  @SpringBootConfiguration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class BrokenApplication {

    @Bean
    Pages pages(Limiter limiter) {
      return new Pages(limiter);
    }

    @Bean
    Plans plans() {
      return new Plans();
    }

    @Bean
    BucketStore store() {
      return new BucketStore() {
        @Override
        public List<Reading> charge(List<Charge> charges) {
          throw new StoreException("the store is broken, as the test wants");
        }

        @Override
        public void ping() {
          throw new StoreException("the store is broken, as the test wants");
        }
      };
    }
  }

  @Test
  void storeThatIsAway_isA503_andDown() throws Exception {
    start(BrokenApplication.class);

    for (String path : List.of("/filtered", "/annotated/a", "/mono/a")) {
      HttpResponse<String> refused = get(path);
      assertThat(refused.statusCode()).as(path).isEqualTo(503);
      assertThat(refused.body()).contains("#temporary-reduced-capacity");
      client = newClient(); // Tomcat closes a connection after a 503
    }
    assertThat(get("/actuator/health").body()).contains("\"sluice\":{\"status\":\"DOWN\"");
  }

  @Test
  void endpoint_showsLimitsAndABucket_andResetsOnlyIfAllowed() throws Exception {
    assertThat(get("/annotated/z").statusCode()).isEqualTo(200);

    assertThat(get("/actuator/sluice").body())
        .contains(
            "\"ApiCallsPerKey\":{\"id\":\"string\",\"burst\":2,\"count\":2,\"period\":\"PT1H\"");
    assertThat(get("/actuator/sluice/ApiCallsPerKey/z").body()).contains("\"remaining\":1");
    HttpResponse<String> unknown = get("/actuator/sluice/ApiCallPerKey/a");
    assertThat(unknown.statusCode()).isEqualTo(404);
    assertThat(unknown.body()).contains("ApiCallPerKey", "did you mean", "ApiCallsPerKey");
    HttpResponse<String> withoutId = get("/actuator/sluice/ApiCallsPerKey");
    assertThat(withoutId.statusCode()).isEqualTo(404);
    assertThat(withoutId.body()).contains("found no id after ApiCallsPerKey, expected one");
    assertThat(get("/actuator/sluice/ApiCallsPerKey/" + "k".repeat(2000)).statusCode())
        .isEqualTo(400);
    assertThat(send("DELETE", "/actuator/sluice/ApiCallsPerKey/z").statusCode()).isNotEqualTo(204);
    assertThat(get("/actuator/sluice/ApiCallsPerKey/z").body()).contains("\"remaining\":1");
    assertThat(get("/actuator/health").body()).contains("\"sluice\":{\"status\":\"UP\"}");
  }

  @Test
  void endpoint_thatMayReset_forgetsABucket() throws Exception {
    start(Application.class, "--sluice.endpoint.reset=true");
    assertThat(get("/annotated/a").statusCode()).isEqualTo(200);

    assertThat(send("DELETE", "/actuator/sluice/ApiCallsPerKey/a").statusCode()).isEqualTo(204);

    assertThat(get("/actuator/sluice/ApiCallsPerKey/a").body()).contains("\"remaining\":2");
    assertThat(send("DELETE", "/actuator/sluice/Unknown/a").statusCode()).isEqualTo(404);
  }
}
