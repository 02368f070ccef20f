// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.linecorp.armeria.common.util.EventLoopGroups;
import com.linecorp.armeria.common.util.TransportType;
import dev.sluice.Limiter;
import dev.sluice.internal.text.Durations;
import dev.sluice.server.access.Access;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.net.ConnectionBudget;
import dev.sluice.server.net.HostPort.AddressException;
import dev.sluice.server.reservation.Reservations;
import dev.sluice.server.resp.Command.CommandTable;
import dev.sluice.server.tls.TlsIdentity.Tls;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.composite.CompositeMeterRegistry;
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
 * A port for Redis clients: {@code CL.THROTTLE} and {@code THROTTLE} with quotas of the caller, and
 * {@code SLUICE.*} on configured limits. Speaks RESP2 and RESP3.
 *
 * <p>Thread-safe. {@link Builder#start} blocks until the port is open, {@link #close} until the
 * last reply was sent.
 */
public final class RespServer implements AutoCloseable {

  /** How long a connection may be silent before it is closed. */
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

  /**
   * Returns a builder.
   *
   * @param address the address to listen on; port 0 for any free port
   * @param limiter the limiter that decides
   * @param reservations the reservations of the same limiter
   * @return a builder
   */
  public static Builder builder(
      InetSocketAddress address, Limiter limiter, Reservations reservations) {
    return new Builder(address, limiter, reservations);
  }

  /**
   * Returns the address of the port.
   *
   * @return the address, with the port that was opened
   */
  public InetSocketAddress address() {
    return (InetSocketAddress) listening.localAddress();
  }

  /** Closes the port once every connection of the budget got its answers. */
  @Override
  public void close() {
    traffic.drain();
    listening.close().awaitUninterruptibly();
    loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).awaitUninterruptibly();
  }

  /** Makes a {@link RespServer}. Not thread-safe. */
  public static final class Builder {
    private final InetSocketAddress address;
    private final Limiter limiter;
    private final Reservations reservations;
    private Access access = Access.open(AuditLog.none(), new CompositeMeterRegistry());
    private Duration idleTimeout = IDLE_TIMEOUT;
    private String version = "unknown";
    private @Nullable MeterRegistry registry;
    private @Nullable Tls tls;

    private Builder(InetSocketAddress address, Limiter limiter, Reservations reservations) {
      this.address = address;
      this.limiter = limiter;
      this.reservations = reservations;
    }

    /**
     * Sets access control; everybody may do everything if not called.
     *
     * @param newAccess the access control
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder access(Access newAccess) {
      this.access = newAccess;
      return this;
    }

    /**
     * Sets how long a connection may be silent; {@link #IDLE_TIMEOUT} if not called.
     *
     * @param timeout a positive duration
     * @return this
     * @throws IllegalArgumentException if the duration is not positive, or longer than 292 years
     */
    @CanIgnoreReturnValue
    public Builder idleTimeout(Duration timeout) {
      this.idleTimeout = Durations.positive("idleTimeout", timeout);
      return this;
    }

    /**
     * Sets Sluice's version for INFO.
     *
     * @param newVersion the version
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder version(String newVersion) {
      this.version = newVersion;
      return this;
    }

    /**
     * Encrypts all connections; no TLS if not called.
     *
     * @param newTls the certificate and what clients must show; null for no TLS
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder tls(@Nullable Tls newTls) {
      this.tls = newTls;
      return this;
    }

    /**
     * Sets the registry that counts commands and connections; none if not called.
     *
     * @param newRegistry the registry for the meters
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder registry(MeterRegistry newRegistry) {
      this.registry = newRegistry;
      return this;
    }

    /**
     * Opens the port.
     *
     * @param traffic the budget of all connections of the process
     * @return the running server
     * @throws AddressException if the port can't be opened
     */
    public RespServer start(ConnectionBudget traffic) {
      Clients clients = new Clients(this, traffic);
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

    /** Reads one buffer at a time, and answers its requests before the next one. */
    private static RecvByteBufAllocator readBuffers() {
      return new AdaptiveRecvByteBufAllocator(LEAST_READ, FIRST_READ, MOST_READ)
          .maxMessagesPerRead(1);
    }
  }

  static List<Command> commands(
      Limiter limiter, AuditLog audit, Reservations reservations, ConnectionCommands connection) {
    List<Command> all = new ArrayList<>(new ThrottleCommands(limiter).all());
    LimitCommands limits = new LimitCommands(limiter, audit);
    all.addAll(limits.all());
    all.addAll(new ReservationCommands(limits, reservations).all());
    all.addAll(connection.all());
    return all;
  }

  /** Initializes the connections of a port, and holds the objects that they share. Thread-safe. */
  @ChannelHandler.Sharable
  private static final class Clients extends ChannelInitializer<Channel> {

    private final ConnectionBudget traffic;
    private final Access access;
    private final long idleNanos;
    private final @Nullable Tls tls;
    private final CommandTable commands;
    private final AtomicInteger connections = new AtomicInteger();
    private final AtomicLong accepted = new AtomicLong();

    Clients(Builder builder, ConnectionBudget traffic) {
      this.traffic = traffic;
      this.access = builder.access;
      this.idleNanos = builder.idleTimeout.toNanos();
      this.tls = builder.tls;
      ConnectionCommands connection = new ConnectionCommands(builder.version, this::statistics);
      this.commands =
          new CommandTable(
              commands(builder.limiter, access.audit(), builder.reservations, connection));
      connection.table(commands);
      if (builder.registry != null) {
        register(builder.registry);
      }
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
              channel, client -> new RespConnection(client, commands, access, id, idleNanos));
      channel.pipeline().addLast(connection);
      if (tls != null) {
        tls.encrypt(channel, false);
      }
    }
  }
}
