// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.access;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.server.base.RefusedException;
import dev.sluice.yaml.LimitFiles;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Many addresses with unknown tokens against one with a good token, and those of one network. */
final class FullTableTest {

  private static final String GOOD = Tokens.fresh();
  private static final int ROOM = 3;

  @TempDir private Path folder;

  @Test
  void tableFullOfAddresses_refusesNewOnes_andAGoodTokenPassesAsBefore() throws IOException {
    Path file = folder.resolve("tokens.yml");
    Files.writeString(
        file,
        "tokens: [{name: a, sha256: %s, roles: [decide], requests: {burst: 9, count: 9, period: 1h}}]"
            .formatted(Tokens.sha256(GOOD)));
    CurrentLimits loaded =
        new CurrentLimits(LimitFiles.builder().companion(file, Tokens.reader(true)).build().load());
    try (Access access =
        Access.of(loaded, AuditLog.none(), new SimpleMeterRegistry(), null, ROOM)) {
      for (int i = 0; i < ROOM; i++) {
        assertThatThrownBy(() -> ask(access, "bad", 1)).hasMessage("the token is not known");
      }
      for (int host = 2; host < 40; host++) {
        int unknown = host;
        assertThatThrownBy(() -> ask(access, "bad", unknown)).isInstanceOf(RefusedException.class);
      }
      assertThat(ask(access, GOOD, 50).name()).isEqualTo("a");
    }
  }

  @Test
  void certificateWithTheNameOfAToken_hasRequestsOfItsOwn() throws IOException {
    Path file = folder.resolve("tokens.yml");
    String requests = "roles: [decide], requests: {burst: 1, count: 1, period: 1h}";
    Files.writeString(
        file,
        "tokens: [{name: shop, sha256: %s, %s}]%ncertificates: [{name: shop, %s}]%n"
            .formatted(Tokens.sha256(GOOD), requests, requests));
    CurrentLimits loaded =
        new CurrentLimits(LimitFiles.builder().companion(file, Tokens.reader(true)).build().load());
    try (Access access = Access.of(loaded, AuditLog.none(), new SimpleMeterRegistry(), null)) {
      assertThat(ask(access, GOOD, 1).name()).isEqualTo("shop");
      assertThatThrownBy(() -> ask(access, GOOD, 1)).isInstanceOf(RefusedException.class);
      InetSocketAddress peer = new InetSocketAddress(InetAddress.getLoopbackAddress(), 1);
      Caller caller = access.caller("http", peer, null, List.of("shop"), List.of());
      assertThat(caller.name()).isEqualTo("shop");
    }
  }

  /** Usually one client has a whole network of this size, so it could change its address. */
  @Test
  void addressesOfOneIpv6Network_shareTheBound() throws IOException {
    Quota two = Quota.per(2, Duration.ofHours(1));
    try (Access access = Access.open(AuditLog.none(), new SimpleMeterRegistry(), two, true)) {
      access.admitStranger(peer("2001:db8:1:2::1"));
      access.admitStranger(peer("2001:db8:1:2:ffff:ffff:ffff:ffff"));
      assertThatThrownBy(() -> access.admitStranger(peer("2001:db8:1:2::3")))
          .hasMessageContaining("too many requests from this address");
      for (String other : List.of("2001:db8:1:3::1", "2001:db8:0:2::1", "192.0.2.1", "192.0.2.2")) {
        access.admitStranger(peer(other));
        access.admitStranger(peer(other));
      }
    }
  }

  private static InetSocketAddress peer(String address) throws IOException {
    return new InetSocketAddress(InetAddress.getByName(address), 1);
  }

  private static Caller ask(Access access, String token, int host) throws IOException {
    InetAddress address = InetAddress.getByAddress(new byte[] {10, 0, 0, (byte) host});
    return access.caller(
        "http", new InetSocketAddress(address, 1), Tokens.hash(token), List.of(), List.of());
  }
}
