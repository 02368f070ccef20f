// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import com.linecorp.armeria.common.util.EventLoopGroups;
import com.linecorp.armeria.common.util.TransportType;
import dev.sluice.Limiter;
import dev.sluice.server.access.Access;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.net.ConnectionBudget;
import dev.sluice.server.net.HostPort.AddressException;
import dev.sluice.server.reservation.Reservations;
import dev.sluice.server.resp.Command.CommandTable;
import dev.sluice.server.stats.Denials;
import dev.sluice.server.tls.TlsIdentity.Tls;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.WriteBufferWaterMark;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * A port for Redis clients. The port serves {@code CL.THROTTLE} and {@code THROTTLE} with quotas
 * that the client sends, and {@code SLUICE.*} for configured limits. Supports RESP2 and RESP3.
 *
 * <p>Thread-safe. {@link #start} blocks until the port is open; {@link #close} blocks until the
 * last reply was sent.
 */
public final class RespServer implements AutoCloseable {

  /** How long a connection may send no request before the server closes the connection. */
  public static final Duration IDLE_TIMEOUT = Duration.ofMinutes(5);

  private static final int BACKLOG = 1024;
  private static final int LEAST_READ = 512;
  private static final int FIRST_READ = 2 << 10;
  private static final int MOST_READ = 16 << 10;
  private static final WriteBufferWaterMark WATER_MARK =
      new WriteBufferWaterMark(32 << 10, 64 << 10);

  private final ConnectionBudget traffic;
  private final EventLoopGroup loops;
  private final Channel listening;

  private RespServer(ConnectionBudget traffic, EventLoopGroup loops, Channel listening) {
    this.traffic = traffic;
    this.loops = loops;
    this.listening = listening;
  }

  /** Opens a port; port 0 stands for any free port. */
  public static RespServer start(
      InetSocketAddress address,
      Limiter limiter,
      Reservations reservations,
      Access access,
      Denials denials,
      @Nullable Tls tls,
      MeterRegistry meters,
      ConnectionBudget traffic) {
    Clients clients = new Clients(limiter, reservations, access, denials, tls, meters, traffic);
    int threads = Runtime.getRuntime().availableProcessors();
    EventLoopGroup loops = EventLoopGroups.newEventLoopGroup(threads, "sluice-resp", true);
    ChannelFuture bound =
        new ServerBootstrap()
            .group(loops)
            .channel(TransportType.serverChannelType(loops))
            .option(ChannelOption.SO_BACKLOG, BACKLOG)
            .option(ChannelOption.SO_REUSEADDR, true)
            .childOption(ChannelOption.TCP_NODELAY, true)
            .childOption(ChannelOption.ALLOW_HALF_CLOSURE, true)
            .childOption(ChannelOption.WRITE_BUFFER_WATER_MARK, WATER_MARK)
            .childOption(ChannelOption.RECVBUF_ALLOCATOR, readBuffers())
            .childHandler(clients)
            .bind(address)
            .awaitUninterruptibly();
    Throwable failure = bound.cause();
    if (failure != null) {
      var unused = loops.shutdownGracefully(0, 0, TimeUnit.SECONDS);
      throw AddressException.of(address, failure);
    }
    return new RespServer(traffic, loops, bound.channel());
  }

  /**
   * Makes Netty read one buffer at a time, and answer the buffer's requests before the next read.
   */
  private static RecvByteBufAllocator readBuffers() {
    return new AdaptiveRecvByteBufAllocator(LEAST_READ, FIRST_READ, MOST_READ)
        .maxMessagesPerRead(1);
  }

  /** Returns the address on which the server listens, with the port that was opened. */
  public InetSocketAddress address() {
    return (InetSocketAddress) listening.localAddress();
  }

  /** Waits until all clients have got the replies to their requests, then closes the port. */
  @Override
  public void close() {
    traffic.drain();
    listening.close().awaitUninterruptibly();
    loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).awaitUninterruptibly();
  }

  static List<Command> commands(
      Limiter limiter,
      AuditLog audit,
      Denials denials,
      Reservations reservations,
      ConnectionCommands connection) {
    List<Command> all = new ArrayList<>(new ThrottleCommands(limiter, denials).all());
    LimitCommands limits = new LimitCommands(limiter, audit, denials);
    all.addAll(limits.all());
    all.addAll(new ReservationCommands(limits, reservations).all());
    all.addAll(connection.all());
    return all;
  }

  /** Initializes connections; holds the objects that all connections share. Thread-safe. */
  @ChannelHandler.Sharable
  private static final class Clients extends ChannelInitializer<Channel> {

    private final ConnectionBudget traffic;
    private final Access access;
    private final @Nullable Tls tls;
    private final CommandTable commands;
    private final AtomicInteger connections = new AtomicInteger();
    private final AtomicLong accepted = new AtomicLong();

    Clients(
        Limiter limiter,
        Reservations reservations,
        Access access,
        Denials denials,
        @Nullable Tls tls,
        MeterRegistry meters,
        ConnectionBudget traffic) {
      this.traffic = traffic;
      this.access = access;
      this.tls = tls;
      ConnectionCommands connection = new ConnectionCommands(version(), this::statistics);
      this.commands =
          new CommandTable(commands(limiter, access.audit(), denials, reservations, connection));
      connection.table(commands);
      register(meters);
    }

    private static String version() {
      String version = RespServer.class.getPackage().getImplementationVersion();
      return version == null ? "unknown" : version;
    }

    private void register(MeterRegistry registry) {
      Gauge.builder("sluice.resp.connections", connections, AtomicInteger::get)
          .description("Connections of Redis clients")
          .register(registry);
      for (Command command : commands.all()) {
        FunctionCounter.builder("sluice.resp.commands", command, Command::calls)
            .description("Commands of Redis clients")
            .tag("command", command.lowerCaseName())
            .register(registry);
      }
    }

    private String statistics() {
      long calls = commands.all().stream().mapToLong(Command::calls).sum();
      return "# Clients\r\nconnected_clients:%s\r\n\r\n# Stats\r\ntotal_connections_received:%s\r\ntotal_commands_processed:%s\r\n"
          .formatted(connections.get(), accepted.get(), calls);
    }

    @Override
    protected void initChannel(Channel channel) {
      connections.incrementAndGet();
      channel.closeFuture().addListener(closed -> connections.decrementAndGet());
      long id = accepted.incrementAndGet();
      RespConnection connection =
          traffic.admit(
              channel,
              client -> new RespConnection(client, commands, access, id, IDLE_TIMEOUT.toNanos()));
      channel.pipeline().addLast(connection);
      if (tls != null) {
        tls.encrypt(channel, false);
      }
    }
  }
}
