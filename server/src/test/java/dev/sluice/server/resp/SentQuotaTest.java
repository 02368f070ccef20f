// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.gcra.Quota;
import dev.sluice.server.resp.ThrottleCommands.Dialect;
import dev.sluice.server.resp.ThrottleCommands.SentQuota;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.Test;

final class SentQuotaTest {

  private static final Quota QUOTA = Quota.burst(11).refill(5, Duration.ofSeconds(60));

  private final SentQuota sent = new SentQuota();

  /** A request in an array of its own: its words, each behind as many bytes as it is told. */
  private static Request request(String text, int... startsAndLengths) {
    Request request = new Request();
    for (int i = 0; i < startsAndLengths.length; i += 2) {
      request.add(startsAndLengths[i], startsAndLengths[i + 1]);
    }
    request.isAt(text.getBytes(StandardCharsets.US_ASCII), 0);
    return request;
  }

  private static Request words(String text) {
    int[] places = new int[2 * text.split(" ", -1).length];
    int start = 0;
    int at = 0;
    for (String word : text.split(" ", -1)) {
      places[at++] = start;
      places[at++] = word.length();
      start += word.length() + 1;
    }
    return request(text, places);
  }

  private boolean isKnown(String text) {
    return sent.of(words(text), Dialect.REDIS_CELL) != null;
  }

  @Test
  void sameNumbers_areKnown_whateverElseTheRequestSays() {
    assertThat(isKnown("CL.THROTTLE key 10 5 60")).isFalse();

    sent.set(words("CL.THROTTLE key 10 5 60"), Dialect.REDIS_CELL, QUOTA);

    assertThat(sent.of(words("CL.THROTTLE another 10 5 60 3"), Dialect.REDIS_CELL)).isSameAs(QUOTA);
    assertThat(isKnown("CL.THROTTLE key 10 5 61")).isFalse();
    assertThat(isKnown("CL.THROTTLE key 10 5 6")).isFalse();
    assertThat(isKnown("CL.THROTTLE key 10 5 600")).isFalse();
    assertThat(sent.of(words("THROTTLE key 10 5 60"), Dialect.THROTTLECRAB)).isNull();
  }

  /** Inline commands are unescaped where they stand: between words there may be anything. */
  @Test
  void sameBytes_dividedIntoOtherNumbers_areNotKnown() {
    sent.set(request("T k 1 1 1", 0, 1, 2, 1, 4, 1, 6, 1, 8, 1), Dialect.REDIS_CELL, QUOTA);

    assertThat(sent.of(request("T k 1 1 1", 0, 1, 2, 1, 4, 2, 6, 1, 8, 1), Dialect.REDIS_CELL))
        .isNull();
    assertThat(sent.of(request("T k 1 1 1", 0, 1, 2, 1, 4, 1, 7, 1, 8, 1), Dialect.REDIS_CELL))
        .isNull();
  }

  @Test
  void longNumbers_areNotKept_andTheLastOneStays() {
    sent.set(words("CL.THROTTLE key 10 5 60"), Dialect.REDIS_CELL, QUOTA);
    String zeros = "CL.THROTTLE key 10 5 " + "0".repeat(100) + "60";
    sent.set(words(zeros), Dialect.REDIS_CELL, QUOTA);

    assertThat(isKnown(zeros)).isFalse();
    assertThat(isKnown("CL.THROTTLE key 10 5 60")).isTrue();
  }
}
