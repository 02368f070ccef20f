// SPDX-License-Identifier: Apache-2.0
package dev.sluice.servlet;

import static dev.sluice.servlet.Limiters.remaining;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limiter;
import dev.sluice.testkit.ManualTime;
import dev.sluice.web.HeaderProfile;
import dev.sluice.web.Refusal;
import dev.sluice.web.Rule;
import dev.sluice.web.VaryBy;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A request is charged once, however the container sends it around; filters that stack agree. */
@ParameterizedClass
@MethodSource("dev.sluice.servlet.Container#tested")
class DispatchTest {

  private final Limiter limiter = Limiters.on(new ManualTime());
  private final WebServer web;

  DispatchTest(Container container) {
    this.web = container.server().servlet("/", Pages.status()).servlet("/go/*", new Dispatching());
  }

  @AfterEach
  void stop() throws Exception {
    web.close();
  }

  private RateLimitFilter filter(HeaderProfile headers, long cost, String limit) {
    return RateLimitFilter.builder(limiter)
        .headers(headers)
        .rule(Rule.on("/**").cost(cost).limit(limit, VaryBy.clientAddress()).build())
        .build();
  }

  @ParameterizedTest
  @ValueSource(strings = {"/go/forward", "/go/include", "/go/async", "/go/error", "/page"})
  void request_isCharged_once(String path) throws Exception {
    RateLimitFilter filter = filter(HeaderProfile.IETF, 1, "PerAddress");
    // The same filter mapped twice is one filter.
    web.filter(filter).filter(filter).errorPage(404, "/page").start();

    HttpResponse<String> response = web.get(path);

    assertThat(response.body()).contains("page");
    assertThat(response.headers().allValues("RateLimit")).hasSizeLessThanOrEqualTo(1);
    assertThat(remaining(limiter, "PerAddress", "127.0.0.1")).isEqualTo(2);
  }

  @Test
  void stackedFilters_setTheStricterState_once() throws Exception {
    web.filter(filter(HeaderProfile.LEGACY, 1, "PerAddress"))
        .filter(filter(HeaderProfile.LEGACY, 1, "FailedPerAddress"))
        .start();

    HttpResponse<String> response = web.get("/page");

    assertThat(response.headers().allValues("X-RateLimit-Remaining")).isEqualTo(List.of("2"));
  }

  @Test
  void stackedFilters_refusal_hasEachHeaderOnce() throws Exception {
    web.filter(filter(HeaderProfile.IETF, 1, "FailedPerAddress"))
        .filter(filter(HeaderProfile.IETF, 3, "PerAddress"))
        .start();
    assertThat(web.get("/page").statusCode()).isEqualTo(200);

    HttpResponse<String> refused = web.get("/page");

    assertThat(refused.statusCode()).isEqualTo(429);
    assertThat(refused.headers().allValues("RateLimit"))
        .isEqualTo(List.of("\"PerAddress\";r=0;t=30"));
    assertThat(refused.headers().allValues("Retry-After")).isEqualTo(List.of("30"));
  }

  @Test
  void refuse_ofAResponseWithAWriter_sendsTheBodyInAscii() throws Exception {
    Refusal refusal =
        Refusal.deniedByRule().withBody("application/problem+json", "{\"detail\":\"é 😀\"}");
    HttpServlet writing =
        new HttpServlet() {
          @Override
          protected void service(HttpServletRequest request, HttpServletResponse response)
              throws IOException {
            response.setContentLength("discarded".length() + 1);
            response.getWriter().write("discarded");
            RateLimitFilter.refuse(response, refusal);
          }
        };
    web.servlet("/writer", writing).start();

    HttpResponse<String> refused = web.get("/writer");

    assertThat(refused.statusCode()).isEqualTo(429);
    assertThat(refused.headers().firstValue("Content-Type").orElseThrow())
        .startsWith("application/problem+json");
    assertThat(refused.body()).isEqualTo("{\"detail\":\"\\u00e9 \\ud83d\\ude00\"}");
  }

  private static final class Dispatching extends HttpServlet {
    private static final long serialVersionUID = 1;

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response)
        throws ServletException, IOException {
      switch (request.getPathInfo()) {
        case "/forward" -> request.getRequestDispatcher("/page").forward(request, response);
        case "/include" -> request.getRequestDispatcher("/page").include(request, response);
        case "/async" -> request.startAsync().dispatch("/page");
        default -> response.sendError(404);
      }
    }
  }
}
