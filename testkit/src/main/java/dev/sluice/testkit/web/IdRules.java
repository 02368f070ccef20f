// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.web;

import static dev.sluice.testkit.web.FilterRun.LOCAL;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.gcra.Quota;
import dev.sluice.testkit.web.FilterRun.FilterRules;
import dev.sluice.web.Rule;
import dev.sluice.web.VaryBy;
import dev.sluice.web.WebRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of the ids that a filter charges for requests, and of requests without an id. */
interface IdRules extends FilterRules {

  Duration HOUR = Duration.ofHours(1);

  @Test
  default void cookie_queryParameter_pathVariable_pathAndMethod_areIds() throws Exception {
    run()
        .start(
            Rule.on("/cookie").limit("PerKey", VaryBy.cookie("session")).build(),
            Rule.on("/query").limit("PerKey", VaryBy.queryParameter("key")).build(),
            Rule.on("/users/{user}/*").limit("PerKey", VaryBy.pathVariable("user")).build(),
            Rule.on("/path/**").limit("PerKey", VaryBy.path()).build(),
            Rule.on("/method").limit("PerKey", VaryBy.method()).build(),
            Rule.on("/function")
                .limit("PerKey", VaryBy.function("the peer", WebRequest::peer))
                .build());

    assertThat(run().get("/cookie", "Cookie", "a=b; session=id-1").statusCode()).isEqualTo(200);
    assertThat(run().post("/query?key=id%2D2&x=%25", "key=body").statusCode()).isEqualTo(200);
    assertThat(run().get("/users/id-3/export").statusCode()).isEqualTo(200);
    assertThat(run().get("/path/x/").statusCode()).isEqualTo(200);
    assertThat(run().get("/method").statusCode()).isEqualTo(200);
    assertThat(run().get("/function").statusCode()).isEqualTo(200);

    for (String id : List.of("id-1", "id-2", "id-3", "/path/x", "GET", LOCAL)) {
      assertThat(run().remaining("PerKey", id)).as(id).isEqualTo(1);
    }
  }

  @Test
  default void quotaOfTheApplication_decides_andItsFailureIsA500() throws Exception {
    run()
        .start(
            Rule.on("/page")
                .limitAsync(
                    "PerKey",
                    request ->
                        CompletableFuture.supplyAsync(
                            () ->
                                Quota.per(Long.parseLong(request.headers("X-Plan").get(0)), HOUR)),
                    VaryBy.header("X-Api-Key"))
                .build());

    HttpResponse<String> first = run().get("/page", "X-Api-Key", "a", "X-Plan", "1");
    assertThat(first.statusCode()).isEqualTo(200);
    assertThat(first.headers().firstValue("RateLimit-Policy")).hasValue("\"PerKey\";q=1;w=3600");
    assertThat(run().get("/page", "X-Api-Key", "a", "X-Plan", "1").statusCode()).isEqualTo(429);
    assertThat(run().get("/page", "X-Api-Key", "b", "X-Plan", "9").statusCode()).isEqualTo(200);
    assertThat(run().get("/page", "X-Api-Key", "b", "X-Plan", "x").statusCode()).isEqualTo(500);
    assertThat(run().get("/page", "X-Api-Key", "b", "X-Plan", "9").headers().map())
        .containsEntry("ratelimit", List.of("\"PerKey\";r=7"));
  }

  @Test
  default void queryParameter_leavesTheBodyToTheApplication() throws Exception {
    run().start(Rule.on("/page").limit("PerKey", VaryBy.queryParameter("key")).build());

    HttpResponse<String> response =
        run()
            .post("/page?key=a", "status=418", "Content-Type", "application/x-www-form-urlencoded");

    assertThat(response.statusCode()).isEqualTo(418);
  }

  @Test
  default void principal_isTheIdOfWhoIsLoggedIn() throws Exception {
    run().start(Rule.on("/page").limit("PerKey", VaryBy.principal()).build());

    assertThat(run().get("/page", "X-Test-User", "ann").statusCode()).isEqualTo(200);
    assertThat(run().get("/page").statusCode()).isEqualTo(400);

    assertThat(run().remaining("PerKey", "ann")).isEqualTo(1);
  }

  @Test
  default void joinedId_isBuiltByTheLimitsFormat() throws Exception {
    run()
        .start(
            Rule.on("/page")
                .limit("PerAddressPerUser", VaryBy.clientAddress(), VaryBy.queryParameter("user"))
                .build());

    assertThat(run().get("/page?user=a:b").statusCode()).isEqualTo(200);

    assertThat(run().remaining("PerAddressPerUser", LOCAL + ":a:b")).isEqualTo(1);
  }

  @Test
  default void ipv6Range_isSkippedForAnIpv4Client() throws Exception {
    run().start(Rule.on("/page").limit("PerRange", VaryBy.clientIpv6Range(48)).build());

    assertThat(run().get("/page").statusCode()).isEqualTo(200);
  }

  @Test
  default void missingValue_isRefused_skipped_orSharesABucket_asTheRuleSays() throws Exception {
    run()
        .start(
            Rule.on("/deny").limit("PerKey", VaryBy.header("X-Api-Key")).build(),
            Rule.on("/skip").limit("PerKey", VaryBy.header("X-Api-Key").orSkip()).build(),
            Rule.on("/share").limit("PerKey", VaryBy.header("X-Api-Key").orId("nobody")).build());

    HttpResponse<String> refused = run().get("/deny");
    assertThat(refused.statusCode()).isEqualTo(400);
    assertThat(refused.body()).contains("the request lacks the header X-Api-Key");
    assertThat(run().get("/deny", "X-Api-Key", "").statusCode()).isEqualTo(400);
    assertThat(run().get("/skip").headers().map()).doesNotContainKey("RateLimit");
    assertThat(run().get("/share").statusCode()).isEqualTo(200);
    assertThat(run().get("/share", "X-Api-Key", "").statusCode()).isEqualTo(200);
    assertThat(run().get("/share").statusCode()).isEqualTo(429);
  }

  @ParameterizedTest
  @ValueSource(strings = {"/deny", "/skip", "/share"})
  default void valueThatIsNoId_orSeveral_areRefusedWhateverTheRuleSays(String path)
      throws Exception {
    run()
        .start(
            Rule.on("/deny").limit("PerKey", VaryBy.header("X-Api-Key")).build(),
            Rule.on("/skip").limit("PerKey", VaryBy.header("X-Api-Key").orSkip()).build(),
            Rule.on("/share").limit("PerKey", VaryBy.header("X-Api-Key").orId("nobody")).build());

    HttpResponse<String> tooLong = run().get(path, "X-Api-Key", "k".repeat(1025));
    assertThat(tooLong.statusCode()).isEqualTo(400);
    assertThat(tooLong.body())
        .contains("invalid value for the header X-Api-Key")
        .doesNotContain("kkk");
    assertThat(run().get(path, "X-Api-Key", "a", "X-Api-Key", "b").statusCode()).isEqualTo(400);
    assertThat(run().remaining("PerKey", "a")).isEqualTo(2);
  }

  @Test
  default void malformedEscapeInTheParameter_isRefused() throws Exception {
    run().start(Rule.on("/page").limit("PerKey", VaryBy.queryParameter("key").orSkip()).build());

    assertThat(run().get("/page?key=a&key=b").statusCode()).isEqualTo(400);
    assertThat(run().raw("/page?key=%zz")).startsWith("HTTP/1.1 400");
  }
}
