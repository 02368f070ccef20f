// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limiter;
import dev.sluice.testkit.servers.FreePort;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** A real Redis that speaks TLS and asks for a certificate, by a PEM bundle of Spring Boot. */
@Tag("slow")
class SpringDataRedisTlsTest {

  private static final String PASSWORD = "changeit";

  @TempDir private Path folder;

  @Test
  void bundle_isThatOfSpring_andIsNeeded() throws Exception {
    makeCertificate();
    int port = FreePort.next();
    try (LocalRedis redis =
        LocalRedis.start(
            RedisBinary.bundled(),
            "--tls-port",
            String.valueOf(port),
            "--tls-cert-file",
            file("own.pem"),
            "--tls-key-file",
            file("own.key"),
            "--tls-ca-cert-file",
            file("own.pem"))) {
      assertThat(redis.port()).isNotEqualTo(port);
      ApplicationContextRunner application =
          new ApplicationContextRunner()
              .withConfiguration(SluiceAutoConfigurationTest.ALL)
              .withPropertyValues(
                  "sluice.store=spring.data.redis",
                  "sluice.on-failure.default=allow",
                  "sluice.limits.ApiCallsPerKey.burst=2",
                  "sluice.limits.ApiCallsPerKey.count=2",
                  "sluice.limits.ApiCallsPerKey.period=1h",
                  "spring.data.redis.host=localhost",
                  "spring.data.redis.port=" + port,
                  "spring.data.redis.timeout=60s",
                  "spring.data.redis.connect-timeout=60s");
      application
          .withPropertyValues(
              "spring.data.redis.ssl.bundle=own",
              "spring.ssl.bundle.pem.own.truststore.certificate=file:" + file("own.pem"),
              "spring.ssl.bundle.pem.own.keystore.certificate=file:" + file("own.pem"),
              "spring.ssl.bundle.pem.own.keystore.private-key=file:" + file("own.key"))
          .run(context -> assertThat(isDegraded(context.getBean(Limiter.class))).isFalse());
      application
          .withPropertyValues("spring.data.redis.ssl.enabled=true")
          .run(context -> assertThat(isDegraded(context.getBean(Limiter.class))).isTrue());
    }
  }

  private static boolean isDegraded(Limiter limiter) {
    return limiter.spend("ApiCallsPerKey", "a").degraded();
  }

  private String file(String name) {
    return folder.resolve(name).toString();
  }

  /** A self-signed certificate: the server's, the client's, and the authority of both. */
  private void makeCertificate()
      throws IOException, InterruptedException, GeneralSecurityException {
    keytool("-genkeypair -keyalg EC -dname CN=own -ext bc:c -ext san=dns:localhost");
    keytool("-exportcert -rfc -file " + file("own.pem"));
    KeyStore store =
        KeyStore.getInstance(folder.resolve("own.p12").toFile(), PASSWORD.toCharArray());
    byte[] key = store.getKey("own", PASSWORD.toCharArray()).getEncoded();
    Files.writeString(
        folder.resolve("own.key"),
        "-----BEGIN PRIVATE KEY-----\n%s\n-----END PRIVATE KEY-----\n"
            .formatted(
                Base64.getMimeEncoder(64, "\n".getBytes(StandardCharsets.US_ASCII))
                    .encodeToString(key)));
  }

  private void keytool(String command) throws IOException, InterruptedException {
    List<String> words = new ArrayList<>();
    words.add(Path.of(System.getProperty("java.home"), "bin", "keytool").toString());
    words.addAll(List.of(command.split(" ")));
    words.addAll(List.of("-alias", "own", "-keystore", file("own.p12"), "-storepass", PASSWORD));
    Process keytool = new ProcessBuilder(words).redirectErrorStream(true).start();
    String said = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(keytool.waitFor()).as(said).isZero();
  }
}
