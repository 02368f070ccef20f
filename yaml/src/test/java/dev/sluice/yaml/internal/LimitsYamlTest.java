// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml.internal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.testkit.Vectors;
import dev.sluice.yaml.TestFiles;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LimitsYamlTest {

  private static final Catalogue NAMES =
      Vectors.names()
          .plus(
              Catalogue.of(
                  LimitName.builder(1001, "true").build(),
                  LimitName.builder(1002, "Null").build(),
                  LimitName.builder(1003, "a.b-").id(IdFormat.integer()).build()));

  private static final List<String> ODD_TEXTS =
      List.of(
          "a", " ", "null", "~", "no", "010", "1.0", "#x", "- x", "{a: b}", "[x", "&a", "*a", "!t",
          "a: b", "a #b", "\"", "\\", "'", "%", "@", "`", "é", "😀", "\u00a0", "\u2028", "\ufeff",
          "\u200b", "x:", ":x", "---", "...", "? ", "| ", "> ", ",", "]");

  @TempDir Path folder;

  @Test
  void write_ofBouldersFiles_givesTheirText() throws IOException {
    Path vectors = TestFiles.folder("vectors");
    Limits limits =
        TestFiles.builder()
            .defaults(vectors.resolve("good-boulder-defaults.yml"))
            .overrides(vectors.resolve("good-boulder-overrides.yml"))
            .build()
            .load();
    assertThat(overrides(limits))
        .isEqualTo(
            """
            - NewOrdersPerAccount:
                burst: 300
                count: 600
                period: 3h0m0s
                ids:
                  - "12345678"
                  - "87654321"
            - NewRegistrationsPerIPAddress:
                burst: 20
                count: 40
                period: 1s
                ids:
                  - "10.0.0.2"
                  - "10.0.0.5"
            """);
  }

  @Test
  void write_ofNothing_givesAFileThatLoads() throws IOException {
    Limits limits = Limits.builder(NAMES).build();
    assertThat(overrides(limits)).isEqualTo("[]\n");
    assertSame(reload(limits), limits, "nothing");
  }

  @Test
  void write_thenLoad_givesTheSameLimits() throws IOException {
    long seed = Long.getLong("sluice.seed", 1);
    for (int i = 0; i < 200; i++) {
      Limits limits = random(new Random(seed + i));
      assertSame(reload(limits), limits, "seed " + (seed + i));
    }
  }

  private static Limits random(Random random) {
    Limits.Builder limits = Limits.builder(NAMES);
    for (LimitName name : NAMES.names()) {
      if (random.nextBoolean()) {
        limits.limit(name.name(), quota(random));
      }
      Set<String> ids = new HashSet<>();
      for (int i = random.nextInt(20); i > 0; i--) {
        String id = name.overrideId().canonical(id(name, random), Strictness.LENIENT);
        String comment =
            random.nextBoolean() ? "" : text(random) + (random.nextBoolean() ? "\n\tx" : "");
        if (ids.add(id)) {
          limits.override(new LimitOverride(name, id, quota(random), comment));
        }
      }
    }
    return limits.build();
  }

  private static Quota quota(Random random) {
    if (random.nextBoolean()) {
      return Quota.per(5, Duration.ofHours(3));
    }
    long period = 1 + (random.nextLong() >>> (1 + random.nextInt(62)));
    long count = 1 + Math.floorMod(random.nextLong(), period);
    long mostBurst = Long.MAX_VALUE / (period / count);
    return Quota.burst(1 + Math.floorMod(random.nextLong(), mostBurst))
        .refill(count, Duration.ofNanos(period));
  }

  private static String id(LimitName name, Random random) {
    return switch (name.overrideId().name()) {
      case "ipAddress" -> "10.0." + random.nextInt(256) + "." + random.nextInt(256);
      case "ipv6RangeCIDR" -> "2001:db8:" + Integer.toHexString(random.nextInt(65_536)) + "::/48";
      case "regId" -> Long.toUnsignedString(random.nextLong());
      case "integer" -> Long.toString(random.nextLong());
      default -> text(random);
    };
  }

  private static String text(Random random) {
    StringBuilder text = new StringBuilder();
    for (int i = random.nextInt(4); i >= 0; i--) {
      text.append(ODD_TEXTS.get(random.nextInt(ODD_TEXTS.size())));
    }
    return text.toString();
  }

  private static void assertSame(Limits actual, Limits expected, String history) {
    for (LimitName name : NAMES.names()) {
      assertThat(actual.defaultFor(name)).as(history).isEqualTo(expected.defaultFor(name));
      assertThat(actual.overridesOf(name))
          .as(history)
          .containsExactlyInAnyOrderElementsOf(expected.overridesOf(name));
    }
  }

  private Limits reload(Limits limits) throws IOException {
    return TestFiles.builder()
        .catalogue(NAMES)
        .defaults(TestFiles.write(folder.resolve("defaults.yml"), defaults(limits)))
        .overrides(TestFiles.write(folder.resolve("overrides.yml"), overrides(limits)))
        .build()
        .load();
  }

  private static String defaults(Limits limits) {
    StringBuilder text = new StringBuilder();
    for (LimitName name : NAMES.names()) {
      Quota quota = limits.defaultFor(name);
      if (quota != null) {
        text.append(
            "%s: {burst: %s, count: %s, period: %s}\n"
                .formatted(name, quota.burst(), quota.count(), GoDuration.format(quota.period())));
      }
    }
    return text.isEmpty() ? "{}" : text.toString();
  }

  private static String overrides(Limits limits) throws IOException {
    StringBuilder text = new StringBuilder();
    LimitsYaml.writeOverrides(limits, text);
    return text.toString();
  }
}
