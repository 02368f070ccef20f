// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.embedded.EmbeddedChannel;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.time.Duration;
import org.junit.jupiter.api.Test;

final class ConnectionBudgetTest {

  private static final long MIB = 1 << 20;
  private static final long IDLE_HTTP2_OVER_TLS = 10 << 10; // bytes of heap, at most

  @Test
  void smallHeap_hasFewerConnections_soThatIdleOnesCannotFillIt() {
    for (long heap : new long[] {64 * MIB, 72 * MIB, 96 * MIB}) {
      int connections = ConnectionBudget.connections(heap);
      assertThat(connections).isGreaterThan(SluiceServer.MAX_CONNECTIONS_PER_PEER);
      assertThat(connections * IDLE_HTTP2_OVER_TLS).isLessThan(heap / 2);
    }
  }

  /** Hundreds of connections may be told to close, and wait for their event loop. */
  @Test
  void peerThatHoldsLittle_isCharged_besideWhatIsAboutToBeFree() {
    ConnectionBudget traffic = new ConnectionBudget(MIB, 10, 10, Duration.ofSeconds(20));
    EmbeddedChannel hostile = new FromAddress("192.0.2.1");
    EmbeddedChannel good = new FromAddress("192.0.2.2");
    traffic.closing(MIB * 3 / 2);
    Connection all = traffic.admit(hostile, Connection::new);
    int requests = 0;
    while (all.begin(true) != null) {
      requests++;
    }
    assertThat(requests).isEqualTo((int) (MIB / 4 / Exchange.FIXED_BYTES));
    assertThat(traffic.admit(good, Connection::new).begin(true)).isNotNull();
    var unused = hostile.finishAndReleaseAll();
    var unusedToo = good.finishAndReleaseAll();
  }

  private static final class FromAddress extends EmbeddedChannel {
    private final String address;

    FromAddress(String address) {
      this.address = address;
    }

    @Override
    protected SocketAddress remoteAddress0() {
      return new InetSocketAddress(address, 1);
    }
  }

  @Test
  void largeHeap_hasAllConnections() {
    assertThat(ConnectionBudget.connections(256 * MIB)).isEqualTo(SluiceServer.MAX_CONNECTIONS);
  }
}
