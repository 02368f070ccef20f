// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static dev.sluice.redis.Spending.LIMIT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limiter;
import dev.sluice.store.StoreException;
import dev.sluice.testkit.servers.FreePort;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A server that speaks TLS, and asks its clients for a certificate as Redis does by itself. */
@Tag("slow")
final class TlsTest {

  @TempDir private static Path folder;
  private static Certificates ours;
  private static Certificates others;
  private static LocalRedis redis;
  private static int port;

  @BeforeAll
  static void start() throws IOException {
    ours = new Certificates(folder, "ours");
    ours.issue("server", "dns:localhost");
    ours.issue("client", "dns:client");
    others = new Certificates(folder, "others");
    port = FreePort.next();
    redis =
        LocalRedis.start(
            RedisBinary.bundled(),
            "--tls-port",
            "" + port,
            "--tls-cert-file",
            ours.pem("server") + "",
            "--tls-key-file",
            ours.key("server") + "",
            "--tls-ca-cert-file",
            ours.pem() + "");
  }

  @AfterAll
  static void stop() {
    redis.close();
  }

  private static RedisStoreBuilder builder(String host, String options) {
    String uri = "rediss://%s:%s/0%s".formatted(host, port, options);
    return RedisStore.builder(uri)
        .timeout(Duration.ofMinutes(1))
        .connectTimeout(Duration.ofMinutes(1));
  }

  private static RedisStoreBuilder withCertificate(String host, String options) {
    return builder(host, options).cert(ours.pem("client")).key(ours.key("client"));
  }

  private static void spends(RedisStoreBuilder builder) {
    try (RedisStore store = builder.open()) {
      assertThat(Limiter.of(Spending.LIMITS, store).spend(LIMIT, "a").allowed()).isTrue();
    }
  }

  private static void refuses(RedisStoreBuilder builder, String... says) {
    try (RedisStore store = builder.open()) {
      assertThatThrownBy(() -> Limiter.of(Spending.LIMITS, store).spend(LIMIT, "a"))
          .isInstanceOf(StoreException.class)
          .hasMessageContaining(":" + port)
          .hasMessageContainingAll(says)
          .hasMessageContaining("nothing was charged");
    }
  }

  @Test
  void ownAuthority_andAClientsCertificate_spends() {
    spends(withCertificate("localhost", "").ca(ours.pem()));
  }

  @Test
  void allOfItInTheUri_spends() {
    spends(
        builder(
            "localhost",
            "?ca=%s&cert=%s&key=%s".formatted(ours.pem(), ours.pem("client"), ours.key("client"))));
  }

  @Test
  void authorityThatTheJvmDoesNotKnow_isRefused() {
    refuses(
        withCertificate("localhost", ""),
        "the TLS handshake failed",
        "certification path",
        "option ca");
  }

  @Test
  void wrongAuthority_isRefused() {
    refuses(
        withCertificate("localhost", "").ca(others.pem()), "the TLS handshake failed", "option ca");
  }

  @Test
  void wrongHostName_isRefused() {
    refuses(
        withCertificate("127.0.0.1", "").ca(ours.pem()),
        "the TLS handshake failed",
        "127.0.0.1",
        "option verify");
  }

  @Test
  void wrongHostName_whereItIsNotLookedAt_spends() {
    spends(withCertificate("127.0.0.1", "?verify=ca").ca(ours.pem()));
    refuses(
        withCertificate("127.0.0.1", "?verify=ca").ca(others.pem()), "the TLS handshake failed");
  }

  @Test
  void noVerification_takesAnyCertificate() {
    spends(withCertificate("127.0.0.1", "?verify=none"));
  }

  @Test
  void noClientCertificate_isRefused() {
    try (RedisStore store = builder("localhost", "").ca(ours.pem()).open()) {
      assertThatThrownBy(() -> Limiter.of(Spending.LIMITS, store).spend(LIMIT, "a"))
          .isInstanceOf(StoreException.class)
          .hasMessageContaining("localhost:" + port);
    }
  }

  @Test
  void serverWithoutTls_isRefused() {
    String plain = "rediss://localhost:%s/0".formatted(redis.port());
    try (RedisStore store =
        RedisStore.builder(plain)
            .timeout(Duration.ofSeconds(2)) // it says nothing to a greeting that it cannot read
            .connectTimeout(Duration.ofSeconds(2))
            .open()) {
      assertThatThrownBy(() -> Limiter.of(Spending.LIMITS, store).spend(LIMIT, "a"))
          .isInstanceOf(StoreException.class)
          .hasMessageContaining("nothing was charged");
    }
  }

  @Test
  void certificatesThatDoNotGoTogether_areRefusedAtOnce() {
    String plain = "redis://localhost:%s/0?ca=%s".formatted(port, ours.pem());
    assertThatThrownBy(() -> RedisStore.open(plain))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("certificates require TLS");
    assertThatThrownBy(() -> builder("localhost", "?cert=" + ours.pem("client")).open())
        .hasMessageContaining("options cert and key");
    assertThatThrownBy(() -> builder("localhost", "?ca=" + folder.resolve("none.pem")))
        .hasMessageContaining("option ca: the file")
        .hasMessageContaining("none.pem");
    assertThatThrownBy(() -> withCertificate("localhost", "").key(ours.pem("client")).open())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(
            "option key: the file %s holds no unencrypted".formatted(ours.pem("client")));
  }
}
