// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class TrafficTest {

  private static final long MIB = 1 << 20;
  private static final long IDLE_HTTP2_OVER_TLS = 10 << 10; // bytes of heap, at most

  @Test
  void smallHeap_hasFewerConnections_soThatIdleOnesCannotFillIt() {
    for (long heap : new long[] {64 * MIB, 72 * MIB, 96 * MIB}) {
      int connections = Traffic.connections(heap);
      assertThat(connections).isGreaterThan(SluiceServer.MAX_CONNECTIONS_PER_PEER);
      assertThat(connections * IDLE_HTTP2_OVER_TLS).isLessThan(heap / 2);
    }
  }

  @Test
  void largeHeap_hasAllConnections() {
    assertThat(Traffic.connections(256 * MIB)).isEqualTo(SluiceServer.MAX_CONNECTIONS);
  }
}
