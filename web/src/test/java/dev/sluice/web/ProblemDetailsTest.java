// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import java.time.Duration;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ProblemDetailsTest {

  @Test
  void quotaExceeded_namesTheViolatedPoliciesOnly() {
    Bucket bucket = Bucket.twentyAMinute();
    assertThat(bucket.spend(20).allowed()).isTrue();

    assertThat(ProblemDetails.quotaExceeded(bucket.spendBoth(1)).replace("13:24 UTC", "13:23 UTC"))
        .isEqualTo(
            "{\"type\":\"https://iana.org/assignments/http-problem-types#quota-exceeded\","
                + "\"title\":\"Request cannot be satisfied as assigned quota has been exceeded\","
                + "\"status\":429,"
                + "\"detail\":\"denied: at most 20 per 1m (per-ip),"
                + " retry after 2023-11-14 22:13:23 UTC\","
                + "\"violated-policies\":[\"per-ip\"]}");
  }

  @Test
  void quotaExceeded_escapesWhatAnIdBringsAlong() {
    Catalogue names =
        Catalogue.of(LimitName.builder(1, "a").message("too many for {id}").jitter(0).build());
    Limits limits = Limits.builder(names).limit("a", Quota.per(1, Duration.ofSeconds(1))).build();
    Limiter limiter = Limiter.of(limits, BucketStore.inMemory(() -> 0));
    String id = "\"},\\ \u2028 <script> é 😀";
    assertThat(limiter.spend("a", id).allowed()).isTrue();

    assertThat(ProblemDetails.quotaExceeded(limiter.spend("a", id)))
        .contains("\"detail\":\"too many for \\\"},\\\\ \\\\u2028 <script> é 😀, retry after");
  }

  @Test
  void temporaryReducedCapacity_isA503() {
    assertThat(ProblemDetails.temporaryReducedCapacity())
        .contains("#temporary-reduced-capacity\"", "\"status\":503");
  }

  /** RFC 9457: the body's status is that of the response. */
  @Test
  void temporaryReducedCapacity_repeatsTheStatusOfTheResponse() {
    assertThat(ProblemDetails.temporaryReducedCapacity(429))
        .isEqualTo(ProblemDetails.temporaryReducedCapacity().replace("503", "429"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"fa-IR", "ar-EG"})
  void status_hasTheDigitsOfJson_inEveryCountry(String country) {
    Locale before = Locale.getDefault();
    Locale.setDefault(Locale.forLanguageTag(country));
    try {
      assertThat(ProblemDetails.badRequest("")).contains("\"status\":400,");
    } finally {
      Locale.setDefault(before);
    }
  }

  @Test
  void badRequest_hasNoTypeOfItsOwn() {
    assertThat(ProblemDetails.badRequest("a \"b\"\n"))
        .isEqualTo(
            "{\"type\":\"about:blank\",\"title\":\"Bad Request\",\"status\":400,"
                + "\"detail\":\"a \\\"b\\\"\\u000a\"}");
  }
}
