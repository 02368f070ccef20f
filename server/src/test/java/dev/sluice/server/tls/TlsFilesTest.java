// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.tls;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.tls.TlsFiles.ClientCertificates;
import dev.sluice.yaml.internal.AttachedFiles.Reports;
import io.netty.channel.embedded.EmbeddedChannel;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("slow")
final class TlsFilesTest {

  private static final int PKCS8_HEADER = 26;

  @TempDir private Path folder;

  private final List<String> mistakes = new ArrayList<>();
  private final List<String> warnings = new ArrayList<>();
  private final Reports reports =
      new Reports() {
        @Override
        public void mistake(Path file, String message) {
          mistakes.add(file.getFileName() + ": " + message);
        }

        @Override
        public void warning(Path file, String message) {
          warnings.add(file.getFileName() + ": " + message);
        }
      };

  @BeforeEach
  void writeFiles() throws IOException {
    Pem.write(Pem.SERVER, folder);
  }

  private TlsFiles files(Clock clock) {
    return new TlsFiles(folder.resolve("tls.crt"), folder.resolve("tls.key"), null, clock);
  }

  private TlsIdentity read(TlsFiles files) throws IOException {
    List<byte[]> contents = new ArrayList<>();
    for (Path file : files.files()) {
      contents.add(Files.readAllBytes(file));
    }
    return files.read(contents, reports);
  }

  private static Clock at(Instant now) {
    return Clock.fixed(now, ZoneOffset.UTC);
  }

  @Test
  void goodFiles_areRead_withoutAWord() throws IOException {
    TlsIdentity identity = read(files(Clock.systemUTC()));
    assertThat(identity.leaf()).isEqualTo(Pem.leaf(Pem.SERVER));
    assertThat(mistakes).isEmpty();
    assertThat(warnings).isEmpty();
  }

  @Test
  void keyInTheOlderForm_isRead() throws IOException {
    byte[] key = Pem.SERVER.privateKey().getEncoded();
    Files.writeString(
        folder.resolve("tls.key"),
        Pem.pem("RSA PRIVATE KEY", Arrays.copyOfRange(key, PKCS8_HEADER, key.length)));
    assertThat(read(files(Clock.systemUTC()))).isNotNull();
    assertThat(mistakes).isEmpty();
  }

  @Test
  void keyOfAnotherCertificate_isRefused() throws IOException {
    Pem.writeKey(Pem.NEXT, folder);
    assertThat(read(files(Clock.systemUTC()))).isNull();
    assertThat(mistakes)
        .singleElement()
        .asString()
        .startsWith("tls.key: found a key that does not belong to the certificate in ");
  }

  @Test
  void certificateThatEnded_orHasNotBegun_isRefused() throws IOException {
    Instant end = Pem.leaf(Pem.SERVER).getNotAfter().toInstant();
    Instant begin = Pem.leaf(Pem.SERVER).getNotBefore().toInstant();
    assertThat(read(files(at(end.plusSeconds(1))))).isNull();
    assertThat(read(files(at(begin.minusSeconds(1))))).isNull();
    assertThat(mistakes)
        .containsExactly(
            "tls.crt: the certificate expired at %s; renew it".formatted(end),
            "tls.crt: the certificate is not valid before %s; check the clock".formatted(begin));
  }

  @Test
  void authorityThatEnded_orHasNotBegun_letsNobodyIn() throws IOException {
    Instant end = Pem.leaf(Pem.CLIENT).getNotAfter().toInstant();
    Instant begin = Pem.leaf(Pem.CLIENT).getNotBefore().toInstant();
    Files.writeString(folder.resolve("ca.crt"), Pem.certificate(Pem.CLIENT));
    for (Instant now : List.of(end.plusSeconds(1), begin.minusSeconds(1))) {
      assertThat(read(filesOfClients(at(now)))).isNull();
    }
    assertThat(mistakes)
        .filteredOn(one -> one.startsWith("ca.crt"))
        .containsExactly(
            "ca.crt: the certificate of an authority expired at %s; renew it".formatted(end),
            "ca.crt: the certificate of an authority is not valid before %s; check the clock"
                .formatted(begin));
  }

  /** Perhaps only its owner is meant. Where two files were mixed up, nobody else is let in. */
  @Test
  void certificateOfNoAuthority_isWarnedOf() throws IOException {
    Files.writeString(folder.resolve("ca.crt"), Pem.certificate(Pem.CLIENT));
    boolean isAuthority = Pem.leaf(Pem.CLIENT).getBasicConstraints() >= 0;
    assertThat(read(filesOfClients(Clock.systemUTC()))).isNotNull();
    assertThat(mistakes).isEmpty();
    assertThat(warnings)
        .containsExactlyElementsOf(
            isAuthority
                ? List.of()
                : List.of(
                    "ca.crt: found the certificate of \"CN=client-7\", which is not an authority (CA:FALSE): only its owner could connect"));
  }

  private TlsFiles filesOfClients(Clock clock) {
    return new TlsFiles(
        folder.resolve("tls.crt"),
        folder.resolve("tls.key"),
        new ClientCertificates(folder.resolve("ca.crt"), true),
        clock);
  }

  /** Limits must not be stuck because of a certificate that nobody touched. */
  @Test
  void certificateThatEndsWhileItIsUsed_staysWithAWarning() throws IOException {
    Instant end = Pem.leaf(Pem.SERVER).getNotAfter().toInstant();
    MovingClock clock = new MovingClock(end.minus(Duration.ofHours(30)));
    TlsFiles files = files(clock);
    TlsIdentity first = read(files);
    clock.now = end.plusSeconds(1);

    assertThat(read(files)).isSameAs(first);

    assertThat(mistakes).isEmpty();
    assertThat(warnings)
        .containsExactly(
            "tls.crt: this certificate ends in 30 h, at %s; replace it".formatted(end),
            "tls.crt: this certificate ended at %s; replace it".formatted(end));
  }

  @Test
  void filesThatAreNoPem_areRefused_eachForItself() throws IOException {
    Files.writeString(folder.resolve("tls.crt"), "nothing");
    assertThat(read(files(Clock.systemUTC()))).isNull();
    Pem.writeCertificate(Pem.SERVER, folder);
    Files.writeString(folder.resolve("tls.key"), "nothing either");
    assertThat(read(files(Clock.systemUTC()))).isNull();
    assertThat(mistakes)
        .containsExactly(
            "tls.crt: no readable certificate; write PEM that starts with -----BEGIN CERTIFICATE-----",
            "tls.key: no readable key; write PEM that starts with -----BEGIN PRIVATE KEY-----");
  }

  @Test
  void protocols_areTls12And13() throws IOException {
    var engine = read(files(Clock.systemUTC())).handler(new EmbeddedChannel(), true).engine();
    assertThat(engine.getEnabledProtocols())
        .contains("TLSv1.2", "TLSv1.3")
        .doesNotContain("SSLv3", "TLSv1", "TLSv1.1");
  }

  private static final class MovingClock extends Clock {
    private Instant now;

    MovingClock(Instant now) {
      this.now = now;
    }

    @Override
    public Instant instant() {
      return now;
    }

    @Override
    public ZoneOffset getZone() {
      return ZoneOffset.UTC;
    }

    @Override
    public Clock withZone(ZoneId zone) {
      return this;
    }
  }
}
