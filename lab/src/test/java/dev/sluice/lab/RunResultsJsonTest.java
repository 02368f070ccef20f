// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.sluice.gcra.Quota;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;

final class RunResultsJsonTest {

  private static final Quota LIMIT = Quota.per(100, Duration.ofHours(1));
  private static final Duration LENGTH = Duration.ofHours(4);
  private static final Drip DRIP =
      new Drip(Duration.ofSeconds(50), 3, List.of())
          .stalledFrom(Duration.ofHours(1), Duration.ofHours(2));

  /** Every kind of traffic against every algorithm. */
  private static String json(long seed) {
    List<ClientGroup> traffic =
        ClientGroup.kinds().stream().map(kind -> ClientGroup.parse(kind, LIMIT, LENGTH)).toList();
    Scenario scenario = new Scenario(traffic, LENGTH, Duration.ofMinutes(1), seed, "bursty-2");
    return RunResultsJson.of(
        scenario,
        Arrays.stream(Algorithm.values())
            .map(kind -> scenario.run(new Subject(kind, LIMIT, DRIP), nanos -> {}))
            .toList());
  }

  /** The digest of a text that must never change. */
  @Test
  void seedOne_givesThisText_inEveryRun_onEveryJdk() throws GeneralSecurityException {
    MessageDigest digest = MessageDigest.getInstance("SHA-256");
    byte[] sum = digest.digest(json(1).getBytes(StandardCharsets.UTF_8));

    assertThat(HexFormat.of().formatHex(sum))
        .isEqualTo("bca3331c86d324ad3145a8f1de10edcf337d1cc9c96a9dcb6f0f9275ebca8da6");
  }

  @Test
  void fractions_haveUpToNineDigits_andNoExponent() {
    assertThat(json(2)).containsPattern("\\.\\d{9}]").doesNotContainPattern("\\d[eE]|\\.\\d{10}");
  }

  @Test
  void onlyTheLeakyBucket_hasADrip() throws IOException {
    for (JsonNode outcome : new ObjectMapper().readTree(json(1)).get("outcomes")) {
      if (outcome.get("algorithm").textValue().equals("leaky-bucket")) {
        assertThat(outcome.get("drip"))
            .hasToString(
                "{\"everyNanos\":50000000000,\"bucketsPerRun\":3,\"stalls\":"
                    + "[{\"fromNanos\":3600000000000,\"lengthNanos\":7200000000000}]}");
      } else {
        assertThat(outcome.has("drip")).isFalse();
      }
    }
  }
}
