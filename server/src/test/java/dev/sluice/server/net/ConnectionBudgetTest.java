// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import static dev.sluice.server.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
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

  /** The system has completed these connections while the accepting thread was busy. */
  @Test
  void drain_acceptsWhoIsInTheQueue_beforeItClosesThePort() throws Exception {
    ConnectionBudget traffic = new ConnectionBudget(MIB, 100, 100, Duration.ofSeconds(20));
    EventLoopGroup boss = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    List<Socket> clients = new ArrayList<>();
    try {
      Channel port = listen(traffic, boss, loops);
      SocketAddress address = port.localAddress();
      clients.add(connect(address));
      assertThat(clients.get(0).getInputStream().read()).isEqualTo('x');
      CountDownLatch busy = new CountDownLatch(1);
      boss.execute(
          () -> {
            try {
              busy.await();
            } catch (InterruptedException e) {
              throw new IllegalStateException(e);
            }
          });
      for (int i = 0; i < 40; i++) {
        clients.add(connect(address));
      }
      Thread draining = new Thread(traffic::drain);
      draining.start();
      await().until(() -> traffic.stage() == ConnectionBudget.Stage.CLOSING);
      busy.countDown();
      for (Socket client : clients.subList(1, clients.size())) {
        assertThat(client.getInputStream().read()).isEqualTo('x');
      }
      draining.join();
      assertThat(port.isOpen()).isFalse();
    } finally {
      for (Socket client : clients) {
        client.close();
      }
      boss.shutdownGracefully(0, 1, TimeUnit.SECONDS).awaitUninterruptibly();
      loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).awaitUninterruptibly();
    }
  }

  private static Socket connect(SocketAddress address) throws IOException {
    Socket socket = new Socket();
    socket.connect(address);
    socket.setSoTimeout(60_000);
    return socket;
  }

  /** A port that greets each connection. */
  private static Channel listen(
      ConnectionBudget traffic, EventLoopGroup boss, EventLoopGroup loops) {
    return new ServerBootstrap()
        .group(boss, loops)
        .channel(NioServerSocketChannel.class)
        .childHandler(
            new ChannelInitializer<SocketChannel>() {
              @Override
              protected void initChannel(SocketChannel channel) {
                channel.pipeline().addLast(traffic.admit(channel, Connection::new));
                var unused =
                    channel.writeAndFlush(Unpooled.copiedBuffer("x", StandardCharsets.US_ASCII));
              }
            })
        .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
        .syncUninterruptibly()
        .channel();
  }

  @Test
  void largeHeap_hasAllConnections() {
    assertThat(ConnectionBudget.connections(256 * MIB)).isEqualTo(SluiceServer.MAX_CONNECTIONS);
  }
}
