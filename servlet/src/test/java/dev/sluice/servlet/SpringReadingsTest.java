// SPDX-License-Identifier: Apache-2.0
package dev.sluice.servlet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.web.Spellings;
import dev.sluice.web.Rule;
import dev.sluice.web.VaryBy;
import java.io.IOException;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.context.annotation.Bean;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.CookieValue;
import org.springframework.web.bind.annotation.DeleteMapping;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.context.support.AnnotationConfigWebApplicationContext;
import org.springframework.web.filter.HiddenHttpMethodFilter;
import org.springframework.web.servlet.DispatcherServlet;
import org.springframework.web.servlet.mvc.method.annotation.RequestMappingHandlerMapping;

/**
 * What reaches a handler of Spring MVC was charged, however it was written: with each of Spring's
 * matchers, in each container, as it is and as lenient as it can be.
 */
@Tag("slow")
@ParameterizedClass
@MethodSource("sites")
class SpringReadingsTest {

  private static final List<String> CHARSETS =
      List.of("UTF-8", "ISO-8859-1", "ISO-2022-KR", "UTF-16", "IBM037", "Shift_JIS", "nonsense");

  @Parameter(0)
  private Container container;

  @Parameter(1)
  private boolean lenient;

  @Parameter(2)
  private Class<?> matcher;

  private final Limiter limiter =
      Limiter.of(
          Limits.builder(
                  Catalogue.of(
                      LimitName.builder(1, "PerLogin").build(),
                      LimitName.builder(2, "PerKey").build()))
              .limit("PerLogin", Quota.per(100_000, Duration.ofHours(1)))
              .limit("PerKey", Quota.per(2, Duration.ofHours(1)))
              .build(),
          BucketStore.inMemory());

  private WebServer web;

  static Stream<Arguments> sites() {
    return Stream.of(Container.values())
        .flatMap(
            container ->
                Stream.of(true, false)
                    .flatMap(
                        lenient ->
                            Stream.of(BySegments.class, AsAWhole.class)
                                .map(matcher -> Arguments.of(container, lenient, matcher))));
  }

  /** Decodes a path segment by segment; Spring's default. */
  static class BySegments {
    @Bean
    RequestMappingHandlerMapping handlers() {
      return new RequestMappingHandlerMapping();
    }
  }

  /** Decodes a path as a whole, by the charset of the request; the default before Spring 6. */
  static class AsAWhole {
    @Bean
    @SuppressWarnings("removal")
    RequestMappingHandlerMapping handlers() {
      RequestMappingHandlerMapping handlers = new RequestMappingHandlerMapping();
      handlers.setPatternParser(null);
      return handlers;
    }
  }

  /** Each handler says what it was called with. */
  @RestController
  static class Handlers {

    @PostMapping(path = "/login", produces = MediaType.TEXT_PLAIN_VALUE)
    String login() {
      return "handler:login";
    }

    @DeleteMapping(path = "/login", produces = MediaType.TEXT_PLAIN_VALUE)
    String delete() {
      return "handler:delete";
    }

    @GetMapping(path = "/users/{user}/x", produces = MediaType.TEXT_PLAIN_VALUE)
    String user(@PathVariable("user") String user) {
      return "handler:" + encoded(user);
    }

    @GetMapping(path = "/cookie", produces = MediaType.TEXT_PLAIN_VALUE)
    String cookie(@CookieValue("s") String cookie) {
      return "handler:" + encoded(cookie);
    }

    @GetMapping(path = "/query", produces = MediaType.TEXT_PLAIN_VALUE)
    String query(@RequestParam("k") String value) {
      return "handler:" + encoded(value);
    }
  }

  private static String encoded(String value) {
    return URLEncoder.encode(value, StandardCharsets.UTF_8);
  }

  private void start(Rule rule) throws Exception {
    AnnotationConfigWebApplicationContext context = new AnnotationConfigWebApplicationContext();
    context.register(matcher, Handlers.class);
    web = lenient ? container.server().lenient() : container.server();
    web.filter(RateLimitFilter.builder(limiter), rule)
        .filter(new HiddenHttpMethodFilter())
        .servlet("/", new DispatcherServlet(context))
        .start();
  }

  @AfterEach
  void stop() throws Exception {
    web.close();
  }

  private static String handled(String answer) {
    int start = answer.indexOf("handler:");
    return start < 0 ? "" : answer.substring(start + 8).lines().findFirst().orElse("");
  }

  private String send(String start, String... headers) throws IOException {
    return RawHttp.send(web.port(), start, headers);
  }

  @Test
  void pathThatReachesTheHandler_isCharged() throws Exception {
    start(Rule.on("/login").methods("POST").limit("PerLogin", VaryBy.constant("all")).build());
    List<String> reached = new ArrayList<>();
    Stream<String> ofOtherCharsets = Stream.of("/%93%96%87%89%95", "/%00l%00o%00g%00i%00n");
    for (String path : Stream.concat(Spellings.ofPath().stream(), ofOtherCharsets).toList()) {
      for (String charset : CHARSETS) {
        String answer =
            send("POST /app" + path + " HTTP/1.1", "Content-Type: text/plain; charset=" + charset);
        if (handled(answer).equals("login")) {
          reached.add(path);
          assertThat(answer).as("%s %s", path, charset).contains("RateLimit: \"PerLogin\"");
        }
      }
    }
    assertThat(reached).contains("/login", "/logi%6e", "/login;a=b");
  }

  @Test
  void methodThatReachesTheHandler_isCharged() throws Exception {
    start(Rule.on("/login").methods("DELETE").limit("PerLogin", VaryBy.constant("all")).build());
    List<String> reached = new ArrayList<>();
    for (String request : Spellings.ofMethod()) {
      String answer = send(request.replace(" /", " /app/"));
      if (handled(answer).equals("delete")) {
        reached.add(request);
        assertThat(answer).as(request).contains("RateLimit: \"PerLogin\"");
      }
    }
    assertThat(reached).hasSizeGreaterThan(3);
  }

  @Test
  void variableThatTheHandlerSees_isABucketThatWasCharged() throws Exception {
    start(Rule.on("/users/{user}/x").limit("PerKey", VaryBy.pathVariable("user")).build());
    for (String user :
        List.of(
            "a%2Fb", "%C3%A9", "%E9", "a;b", "a%3Bb", "y/../a2", "y/%2e%2e/a3", "a+b", "a%5Cb")) {
      assertCharged("GET /app/users/" + user + "/x HTTP/1.1");
      for (String charset : CHARSETS) {
        assertCharged(
            "GET /app/users/" + user + charset + "/x HTTP/1.1",
            "Content-Type: text/plain; charset=" + charset);
      }
    }
  }

  @Test
  void valueThatTheHandlerSees_isABucketThatWasCharged() throws Exception {
    start(Rule.on("/cookie").limit("PerKey", VaryBy.cookie("s")).build());
    for (String value : List.of("a", "%61b", "a%20c", "a+d", "\"e\"", "%zz")) {
      assertCharged("GET /app/cookie HTTP/1.1", "Cookie: s=" + value);
    }
  }

  @Test
  void parameterThatTheHandlerSees_isABucketThatWasCharged() throws Exception {
    start(Rule.on("/query").limit("PerKey", VaryBy.queryParameter("k")).build());
    for (String value : List.of("a", "%61b", "a%20c", "a+d", "a%2Be", "%C3%A9")) {
      assertCharged("GET /app/query?k=" + value + " HTTP/1.1");
    }
  }

  private void assertCharged(String request, String... headers) throws IOException {
    // A slash within a variable stays escaped.
    String seen =
        URLDecoder.decode(handled(send(request, headers)), StandardCharsets.UTF_8)
            .replace("/", "%2F");
    if (!seen.isEmpty()) {
      assertThat(Limiters.remaining(limiter, "PerKey", seen))
          .as("%s %s", request, seen)
          .isLessThan(2);
    }
  }
}
