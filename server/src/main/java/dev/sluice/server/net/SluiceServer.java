// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.linecorp.armeria.common.Flags;
import com.linecorp.armeria.common.SessionProtocol;
import com.linecorp.armeria.common.logging.RequestLog;
import com.linecorp.armeria.common.util.EventLoopGroups;
import com.linecorp.armeria.server.Server;
import com.linecorp.armeria.server.ServerBuilder;
import com.linecorp.armeria.server.ServiceRequestContext;
import com.linecorp.armeria.server.logging.AccessLogWriter;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.server.base.Periodic;
import dev.sluice.server.net.Body.BodyCollector;
import dev.sluice.server.net.Body.LateBodies;
import dev.sluice.server.net.Exchange.BudgetDecorator;
import dev.sluice.server.net.HostPort.AddressException;
import dev.sluice.server.net.HostPort.Authority;
import dev.sluice.server.net.Part.Decorators;
import dev.sluice.server.tls.TlsIdentity.Tls;
import io.micrometer.core.instrument.composite.CompositeMeterRegistry;
import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelConfig;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.ChannelInputShutdownReadComplete;
import io.netty.handler.codec.http.HttpExpectationFailedEvent;
import io.netty.handler.ssl.SslCompletionEvent;
import io.netty.util.concurrent.FastThreadLocalThread;
import io.netty.util.concurrent.Future;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.spi.LoggingEventAware;

/**
 * A running server on one port, with its parts.
 *
 * <p>This class sets all bounds itself and uses no default of Armeria: how long a client may be
 * idle, how long a request may take, the number of clients, the size of requests, and the memory
 * for all clients together.
 *
 * <p>Thread-safe. {@link Builder#start} blocks until the port is open; {@link #close} blocks until
 * the last response was sent, up to {@link #LONGEST_SHUTDOWN}.
 */
public final class SluiceServer implements AutoCloseable {

  /** How long a connection may be idle before the server closes the connection. */
  public static final Duration IDLE_TIMEOUT = Duration.ofSeconds(30);

  /** The longest time from the first header of a request to its response. */
  public static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(10);

  /** How long a client may take to read a response, after {@link #REQUEST_TIMEOUT}. */
  public static final Duration READ_TIMEOUT = Duration.ofSeconds(10);

  /** How long {@link #close} waits for requests in flight. */
  public static final Duration LONGEST_SHUTDOWN = Duration.ofSeconds(10);

  /** The longest life of a connection; reconnecting clients look up the server's name again. */
  public static final Duration MAX_CONNECTION_AGE = Duration.ofHours(24);

  /**
   * The most open connections, if the heap has {@link #HEAP_PER_CONNECTION} bytes for each
   * connection. Beyond this number of connections, a new connection replaces an idle connection.
   */
  public static final int MAX_CONNECTIONS = 10_000;

  /**
   * The heap in bytes that the server reserves for each possible connection. An idle HTTP/2
   * connection over TLS takes up to 10 KB; the rest of the reserved heap is for requests, buckets
   * and the server itself.
   */
  public static final int HEAP_PER_CONNECTION = 24 << 10;

  /** The most connections at a time from one IPv4 address or one IPv6 network of 64 bits. */
  public static final int MAX_CONNECTIONS_PER_PEER = 2_500;

  /** The most bytes of a request body; a batch of 1000 transactions fits. */
  public static final int MAX_BODY = 128 << 10;

  /** The most bytes of a request line; a percent-encoded id of 1024 characters fits. */
  public static final int MAX_LINE = 16 << 10;

  /** The most bytes of a request's headers. */
  public static final int MAX_HEADERS = 16 << 10;

  /** The most concurrent requests on one HTTP/2 connection. */
  public static final int MAX_STREAMS = 100;

  /**
   * The most threads for requests that may block, such as readiness probes, metrics and lists.
   * Decisions do not use task threads. Run-time changes of limits and reloads of files use two
   * other threads.
   */
  public static final int MAX_TASK_THREADS = 16;

  /** The most requests that wait for a task thread; a further request gets a 503. */
  public static final int MAX_WAITING_TASKS = 1_000;

  /**
   * The memory budget of requests in flight is the heap or the JVM's direct memory, whichever is
   * smaller, divided by this number.
   */
  public static final int HEAP_PER_BUDGET = 4;

  private static final int STREAM_WINDOW = 64 << 10;
  private static final int CONNECTION_WINDOW = 256 << 10;
  private static final int READ_BUFFER = 16 << 10;
  private static final int FIRST_READ_BUFFER = 2 << 10;
  private static final int LEAST_READ_BUFFER = 512;
  private static final int LOW_WATER = 32 << 10;
  private static final int HIGH_WATER = 64 << 10;
  private static final WriteBufferWaterMark WATER_MARK =
      new WriteBufferWaterMark(LOW_WATER, HIGH_WATER);
  private static final int BEING_CLOSED = 256;
  private static final Duration SWEEP_EVERY = Duration.ofMillis(250);
  private static final Duration QUIET_PERIOD = Duration.ofMillis(100);

  private static final Logger log = LoggerFactory.getLogger(SluiceServer.class);

  private final Server server;
  private final TaskThreads tasks;
  private final ConnectionBudget traffic;
  private final ScheduledFuture<?> sweeps;

  private SluiceServer(Server server, TaskThreads tasks, ConnectionBudget traffic) {
    this.server = server;
    this.tasks = tasks;
    this.traffic = traffic;
    this.sweeps =
        server
            .config()
            .workerGroup()
            .scheduleAtFixedRate(
                Periodic.task(log, "closing the connections that are too slow", traffic::sweep),
                SWEEP_EVERY.toMillis(),
                SWEEP_EVERY.toMillis(),
                TimeUnit.MILLISECONDS);
  }

  /** Returns a builder of a server that listens on {@code address}; port 0 means any free port. */
  public static Builder builder(InetSocketAddress address, ConnectionBudget traffic) {
    return new Builder(address, traffic);
  }

  public InetSocketAddress address() {
    return Objects.requireNonNull(server.activePort(), "the server was closed").localAddress();
  }

  /**
   * Stops the server without losing a request: closes the port, tells each client that its
   * connection ends, and answers each request in flight.
   */
  @Override
  public void close() {
    unready();
    traffic.drain();
    sweeps.cancel(false);
    server.stop().join();
    tasks.shutdown();
  }

  /** Makes {@code /readyz} respond with 503; other requests are still answered. Never blocks. */
  public void unready() {
    traffic.unready();
  }

  /** Makes a {@link SluiceServer}. Not thread-safe. */
  public static final class Builder {
    private final InetSocketAddress address;
    private final ConnectionBudget traffic;
    private final List<Part> parts = new ArrayList<>();
    private Duration idleTimeout = IDLE_TIMEOUT;
    private Duration requestTimeout = REQUEST_TIMEOUT;
    private Duration maxConnectionAge = MAX_CONNECTION_AGE;
    private final Set<String> hosts = new HashSet<>();
    private final Set<String> origins = new HashSet<>();
    private boolean requestLog;
    private @Nullable Tls tls;

    private Builder(InetSocketAddress address, ConnectionBudget traffic) {
      this.address = address;
      this.traffic = traffic;
    }

    @CanIgnoreReturnValue
    public Builder part(Part part) {
      parts.add(part);
      return this;
    }

    /** Sets how long a connection may be idle; the default is {@link #IDLE_TIMEOUT}. */
    @CanIgnoreReturnValue
    public Builder idleTimeout(Duration timeout) {
      this.idleTimeout = GoDuration.positive("idleTimeout", timeout);
      return this;
    }

    /** Sets how long a request may take; the default is {@link #REQUEST_TIMEOUT}. */
    @CanIgnoreReturnValue
    public Builder requestTimeout(Duration timeout) {
      this.requestTimeout = GoDuration.positive("requestTimeout", timeout);
      return this;
    }

    /**
     * Sets the longest life of a connection, at least a second; the default is {@link
     * #MAX_CONNECTION_AGE}.
     */
    @CanIgnoreReturnValue
    public Builder maxConnectionAge(Duration age) {
      this.maxConnectionAge = age;
      return this;
    }

    /**
     * Adds a host name, without port, that clients may send in the header {@code Host}; {@code *}
     * allows any name. {@code localhost} and IP addresses are always allowed in {@code Host}.
     */
    @CanIgnoreReturnValue
    public Builder host(String name) {
      hosts.add(name.toLowerCase(Locale.ROOT));
      return this;
    }

    /**
     * Adds an origin whose web pages may call this server, such as {@code https://example.com};
     * {@code *} allows any origin. The server's own pages may always call the server.
     */
    @CanIgnoreReturnValue
    public Builder origin(String origin) {
      origins.add(origin.toLowerCase(Locale.ROOT));
      return this;
    }

    /** Encrypts all connections with TLS; null stands for no encryption. */
    @CanIgnoreReturnValue
    public Builder tls(@Nullable Tls newTls) {
      this.tls = newTls;
      return this;
    }

    /** Sets whether each request and its client's address are logged; the default is false. */
    @CanIgnoreReturnValue
    public Builder requestLog(boolean wanted) {
      this.requestLog = wanted;
      return this;
    }

    /** Opens the port, or throws an {@link AddressException}. */
    public SluiceServer start() {
      Tls encryption = tls;
      TaskThreads tasks = new TaskThreads("sluice-tasks", MAX_TASK_THREADS, MAX_WAITING_TASKS);
      ServerBuilder builder =
          Server.builder()
              // The protocol is HTTP even with TLS: the pipeline decrypts TLS before Connection,
              // which bounds decrypted requests.
              .port(address, SessionProtocol.HTTP)
              .bossGroupFactory(Acceptor::of)
              .defaultHostname(Authority.MISSING) // replaces a missing Host header
              .idleTimeout(idleTimeout)
              .maxConnectionAge(maxConnectionAge)
              .requestTimeout(requestTimeout)
              // Armeria must not shut down the executor: a shutdown waits for tasks that hang.
              .blockingTaskExecutor(tasks, /* shutdownOnStop= */ false)
              .maxNumConnections(MAX_CONNECTIONS + BEING_CLOSED)
              .maxRequestLength(MAX_BODY)
              .http1MaxInitialLineLength(MAX_LINE)
              .http1MaxHeaderSize(MAX_HEADERS)
              .http2MaxHeaderListSize(MAX_HEADERS)
              .http2MaxStreamsPerConnection(MAX_STREAMS)
              .http2InitialStreamWindowSize(STREAM_WINDOW)
              .http2InitialConnectionWindowSize(CONNECTION_WINDOW)
              .childChannelOption(ChannelOption.RECVBUF_ALLOCATOR, readBuffers())
              .childChannelPipelineCustomizer(
                  pipeline -> {
                    ChannelConfig config = pipeline.channel().config();
                    config.setWriteBufferWaterMark(WATER_MARK);
                    // A client that has closed its sending side still gets every answer.
                    config.setOption(ChannelOption.ALLOW_HALF_CLOSURE, true);
                    pipeline.addFirst(traffic.admit(pipeline.channel(), Connection::new));
                    if (encryption != null) {
                      encryption.encrypt(pipeline.channel(), true);
                    }
                    TransportErrors errors = new TransportErrors(traffic, pipeline.channel());
                    pipeline.addBefore(pipeline.lastContext().name(), null, errors);
                  })
              .gracefulShutdownTimeout(QUIET_PERIOD, LONGEST_SHUTDOWN)
              .unloggedExceptionsReportInterval(Duration.ZERO) // Sluice logs these exceptions
              // Discards Armeria's metrics, since the server's parts register metrics themselves.
              .meterRegistry(new CompositeMeterRegistry())
              .disableServerHeader();
      if (requestLog) {
        builder.accessLogWriter(new RequestLogWriter(), true);
      }
      if (encryption != null && !hosts.isEmpty()) {
        // HSTS is sent only if host names are set; without them, a browser could apply HSTS to
        // every server on localhost.
        builder.addHeader("strict-transport-security", "max-age=31536000");
      }
      // The decorator that is added last runs first, so decorators that check headers run before
      // decorators that read the body.
      Decorators decorators = new Decorators();
      decorators.add(new BodyCollector());
      parts.forEach(part -> part.addLast(decorators));
      decorators.add(new RequestChecks(Set.copyOf(hosts), Set.copyOf(origins), traffic));
      decorators.add(new BudgetDecorator(traffic));
      parts.forEach(part -> part.addFirst(decorators));
      decorators.add(new LateBodies());
      parts.forEach(part -> part.addTo(builder));
      builder.decorator(decorators::decorate);
      Server server = builder.build();
      try {
        server.start().join();
      } catch (CompletionException e) {
        server.close();
        throw AddressException.of(address, e);
      }
      return new SluiceServer(server, tasks, traffic);
    }

    /**
     * Makes Netty read one buffer at a time, so that {@link Connection} can pause between buffers.
     */
    private static RecvByteBufAllocator readBuffers() {
      return new AdaptiveRecvByteBufAllocator(LEAST_READ_BUFFER, FIRST_READ_BUFFER, READ_BUFFER)
          .maxMessagesPerRead(1);
    }
  }

  /**
   * The thread that accepts the connections of one port. This thread ends as soon as the port is
   * closed; a thread of Netty's own class would end 2 s later. Thread-safe.
   */
  private static final class Acceptor extends MultiThreadIoEventLoopGroup {

    private Acceptor(String name, IoHandlerFactory selector) {
      super(1, threads(name), selector);
    }

    private static ThreadFactory threads(String name) {
      return task -> {
        Thread thread = new FastThreadLocalThread(task, name);
        thread.setDaemon(false); // keeps the JVM running
        return thread;
      };
    }

    /** Returns an acceptor for the transport that Armeria uses on this machine. */
    static EventLoopGroup of(String name) {
      return switch (Flags.transportType()) {
        case EPOLL -> new Acceptor(name, EpollIoHandler.newFactory());
        case NIO -> new Acceptor(name, NioIoHandler.newFactory());
        case KQUEUE, IO_URING -> EventLoopGroups.newEventLoopGroup(1, name);
      };
    }

    @Override
    public Future<?> shutdownGracefully() {
      return shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }
  }

  /**
   * Handles connection errors before Armeria's last handler, which would log a stack trace for each
   * error. Logs an error that clients can cause in one line; limits the rate of these lines.
   */
  private static final class TransportErrors extends ChannelInboundHandlerAdapter {

    private final ConnectionBudget traffic;
    private final Channel channel;

    TransportErrors(ConnectionBudget traffic, Channel channel) {
      this.traffic = traffic;
      this.channel = channel;
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext context, Object event) {
      boolean isDealtWith =
          event instanceof HttpExpectationFailedEvent // answered with 417
              || event instanceof SslCompletionEvent
              || event instanceof ChannelInputShutdownEvent // handled by Connection
              || event instanceof ChannelInputShutdownReadComplete;
      if (!isDealtWith) {
        context.fireUserEventTriggered(event);
      }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
      traffic.failed(channel, cause);
      var unused = context.close();
    }
  }

  /**
   * Writes a log line for each request: as key-value fields if the logger supports fields,
   * otherwise in the common log format. Masks a reservation's token in a path, since anybody with
   * the token can cancel the reservation. Thread-safe.
   */
  private static final class RequestLogWriter implements AccessLogWriter {

    private static final String WITH_TOKEN = "/v1/reservations/";
    private static final String MASKED = WITH_TOKEN + "…/";

    private final Logger logger = LoggerFactory.getLogger("com.linecorp.armeria.logging.access");
    private final AccessLogWriter common = AccessLogWriter.common();
    private final AccessLogWriter cancels = masked("cancel");
    private final AccessLogWriter settles = masked("settle");

    private static AccessLogWriter masked(String use) {
      return AccessLogWriter.custom("%h %l %u %t \"POST " + MASKED + use + "\" %s %b");
    }

    @Override
    public void log(RequestLog log) {
      String path = log.requestHeaders().path();
      boolean hasToken = path.startsWith(WITH_TOKEN);
      boolean settling = path.contains("/settle");
      // For a logger without key-value fields, SLF4J would write the fields before the message.
      if (logger instanceof LoggingEventAware) {
        fields(log, hasToken ? MASKED + (settling ? "settle" : "cancel") : path);
      } else {
        (hasToken ? settling ? settles : cancels : common).log(log);
      }
    }

    private void fields(RequestLog log, String path) {
      String client =
          ((ServiceRequestContext) log.context()).remoteAddress().getAddress().getHostAddress();
      String method = log.requestHeaders().method().name();
      int status = log.responseHeaders().status().code();
      logger
          .atInfo()
          .addKeyValue("client", client)
          .addKeyValue("method", method)
          .addKeyValue("path", path)
          .addKeyValue("protocol", log.sessionProtocol().uriText())
          .addKeyValue("status", status)
          .addKeyValue("bytes", log.responseLength())
          .addKeyValue("micros", TimeUnit.NANOSECONDS.toMicros(log.totalDurationNanos()))
          .log("{} {} {} {}", client, method, path, status);
    }
  }
}
