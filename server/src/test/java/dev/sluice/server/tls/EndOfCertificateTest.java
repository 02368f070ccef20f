// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.tls;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.base.Periodic;
import dev.sluice.server.tls.TlsFiles.EndOfCertificate;
import io.netty.handler.ssl.ClientAuth;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** A certificate that ends while no file changes. */
@Tag("slow")
final class EndOfCertificateTest {

  private final List<String> warnings = new ArrayList<>();
  private TlsIdentity current;
  private Instant end = Instant.EPOCH;
  private Instant now = Instant.EPOCH;

  @BeforeEach
  void makeIdentity() throws Exception {
    current =
        TlsIdentity.of(
            Pem.SERVER.privateKey(), List.of(Pem.leaf(Pem.SERVER)), List.of(), ClientAuth.NONE);
    end = current.end();
  }

  /** Looks each hour, from some hours before the end of the certificate to others. */
  private int warnings(long fromHours, long toHours) {
    InstantSource time = () -> now;
    Clock clock = time.withZone(ZoneOffset.UTC);
    now = end.minus(Duration.ofHours(fromHours));
    try (EndOfCertificate watch =
        new EndOfCertificate(Path.of("tls.crt"), () -> current, clock, warnings::add)) {
      for (long hours = fromHours - 1; hours >= toHours; hours--) {
        now = end.minus(Duration.ofHours(hours)).plusMillis(1);
        watch.look();
      }
    }
    return warnings.size();
  }

  @Test
  void certificateThatEndsLater_isNotMentioned() {
    assertThat(warnings(40 * 24, 14 * 24 + 1)).isZero();
  }

  @Test
  void lastTwoWeeks_areWarnedOfOnceADay() {
    assertThat(warnings(20 * 24, 24)).isEqualTo(14);
    assertThat(warnings.get(0))
        .isEqualTo("tls.crt: this certificate ends in 335 h, at %s; replace it".formatted(end));
  }

  @Test
  void lastDay_andAfterTheEnd_areWarnedOfEachHour() {
    assertThat(warnings(24, -10)).isEqualTo(34);
    assertThat(warnings.get(33))
        .isEqualTo("tls.crt: this certificate ended at %s; replace it".formatted(end));
  }

  @Test
  void warningThatThrows_isGivenByTheNextLook() {
    now = end.minus(Duration.ofHours(10));
    InstantSource time = () -> now;
    AtomicInteger times = new AtomicInteger();
    try (EndOfCertificate watch =
        new EndOfCertificate(
            Path.of("tls.crt"),
            () -> current,
            time.withZone(ZoneOffset.UTC),
            line -> {
              if (times.incrementAndGet() == 1) {
                throw new NoClassDefFoundError("as the test wants");
              }
              warnings.add(line);
            })) {
      now = now.plus(Duration.ofHours(1));
      Runnable look = Periodic.task(LoggerFactory.getLogger("test"), "the look", watch::look);
      look.run();
      assertThat(warnings).isEmpty();
      look.run();
    }
    assertThat(warnings).hasSize(1);
  }
}
