// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.SocketOptions;
import io.lettuce.core.resource.EpollProvider;
import java.time.Duration;
import org.junit.jupiter.api.Test;

final class ClientsTest {

  /** The figures of docs/stores.md; what they do is for the operating system. */
  @Test
  void sockets_areProbedWhereNobodyCalls() {
    StoreUri uri = StoreUri.parse("redis://localhost");
    SocketOptions options = new Clients(uri, RedisOptions.of(uri)).socketOptions();
    assertThat(options.isKeepAlive()).isTrue();
    assertThat(options.getKeepAlive().getIdle()).isEqualTo(Duration.ofSeconds(15));
    assertThat(options.getKeepAlive().getInterval()).isEqualTo(Duration.ofSeconds(5));
    assertThat(options.getKeepAlive().getCount()).isEqualTo(3);
    assertThat(options.isEnableTcpUserTimeout()).isEqualTo(EpollProvider.isAvailable());
  }
}
