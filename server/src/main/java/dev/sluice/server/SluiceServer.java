package dev.sluice.server;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.linecorp.armeria.common.SessionProtocol;
import com.linecorp.armeria.server.Server;
import com.linecorp.armeria.server.ServerBuilder;
import com.linecorp.armeria.server.logging.AccessLogWriter;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletionException;

/**
 * One port and the parts that answer on it, running until it is closed.
 *
 * <p>Every bound is set here, none is left to a default: how long a client may be silent or take
 * for a request, how many there may be, and how much each may send. Thread-safe; {@link
 * Builder#start} blocks until the port is open, {@link #close} until the last answer is out, up to
 * {@link #LONGEST_SHUTDOWN}.
 */
public final class SluiceServer implements AutoCloseable {

  /** How long a connection may be silent before it is closed. */
  public static final Duration IDLE_TIMEOUT = Duration.ofSeconds(30);

  /** How long a request may take, from its first header to the answer. */
  public static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(10);

  /** How long {@link #close} waits for answers that are under way. */
  public static final Duration LONGEST_SHUTDOWN = Duration.ofSeconds(3);

  /** The most connections at a time; one more is closed at once. */
  public static final int MAX_CONNECTIONS = 10_000;

  /** The largest request body, in bytes. */
  public static final int MAX_BODY = 1 << 20;

  /** The largest request line, in bytes: an id of 1024 characters, percent-encoded, fits. */
  public static final int MAX_LINE = 16 << 10;

  /** The largest headers of a request, in bytes. */
  public static final int MAX_HEADERS = 16 << 10;

  /** The most requests at a time on one HTTP/2 connection. */
  public static final int MAX_STREAMS = 1000;

  private static final Duration QUIET_PERIOD = Duration.ofMillis(100);

  private final Server server;

  private SluiceServer(Server server) {
    this.server = server;
  }

  /**
   * Starts a server's description.
   *
   * @param address where it listens; port 0 for any free one
   * @return a builder
   */
  public static Builder builder(InetSocketAddress address) {
    return new Builder(address);
  }

  /**
   * Where the server listens.
   *
   * @return the address, with the port that was chosen
   */
  public InetSocketAddress address() {
    return Objects.requireNonNull(server.activePort(), "the server was closed").localAddress();
  }

  @Override
  public void close() {
    server.stop().join();
  }

  /** Makes a {@link SluiceServer}. Not thread-safe. */
  public static final class Builder {
    private final InetSocketAddress address;
    private final List<Part> parts = new ArrayList<>();
    private Duration idleTimeout = IDLE_TIMEOUT;
    private Duration requestTimeout = REQUEST_TIMEOUT;
    private int maxConnections = MAX_CONNECTIONS;
    private boolean requestLog;

    private Builder(InetSocketAddress address) {
      this.address = address;
    }

    /**
     * Adds a part.
     *
     * @param part the part
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder part(Part part) {
      parts.add(part);
      return this;
    }

    /**
     * Sets how long a connection may be silent; {@link #IDLE_TIMEOUT} if not called.
     *
     * @param timeout a positive duration
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder idleTimeout(Duration timeout) {
      this.idleTimeout = timeout;
      return this;
    }

    /**
     * Sets how long a request may take; {@link #REQUEST_TIMEOUT} if not called.
     *
     * @param timeout a positive duration
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder requestTimeout(Duration timeout) {
      this.requestTimeout = timeout;
      return this;
    }

    /**
     * Sets how many connections there may be at a time; {@link #MAX_CONNECTIONS} if not called. One
     * more is closed at once.
     *
     * @param most at least 1
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder maxConnections(int most) {
      this.maxConnections = most;
      return this;
    }

    /**
     * Sets whether each request is logged, with the client's address; not, if not called.
     *
     * @param wanted true for a line for each request
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder requestLog(boolean wanted) {
      this.requestLog = wanted;
      return this;
    }

    /**
     * Opens the port.
     *
     * @return the running server
     * @throws AddressException if the port can't be opened
     */
    public SluiceServer start() {
      ServerBuilder builder =
          Server.builder()
              .port(address, SessionProtocol.HTTP)
              .idleTimeout(idleTimeout)
              .requestTimeout(requestTimeout)
              .maxNumConnections(maxConnections)
              .maxRequestLength(MAX_BODY)
              .http1MaxInitialLineLength(MAX_LINE)
              .http1MaxHeaderSize(MAX_HEADERS)
              .http2MaxHeaderListSize(MAX_HEADERS)
              .http2MaxStreamsPerConnection(MAX_STREAMS)
              .gracefulShutdownTimeout(QUIET_PERIOD, LONGEST_SHUTDOWN)
              .disableServerHeader();
      if (requestLog) {
        builder.accessLogWriter(AccessLogWriter.common(), true);
      }
      parts.forEach(part -> part.addTo(builder));
      Server server = builder.build();
      try {
        server.start().join();
      } catch (CompletionException e) {
        server.close();
        throw AddressException.of(address, e);
      }
      return new SluiceServer(server);
    }
  }
}
