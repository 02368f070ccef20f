// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.sun.management.UnixOperatingSystemMXBean;
import dev.sluice.internal.text.LogPace;
import dev.sluice.server.base.FailureLog.OutOfMemory;
import dev.sluice.server.base.Plurals;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.ssl.NotSslRecordException;
import io.netty.util.internal.PlatformDependent;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/*
 * One budget bounds the memory that clients use: request bodies that are still arriving, and
 * responses that clients have not read. Each request in flight is charged a fixed amount, the bytes
 * of its body as they arrive, and the bytes of its response until the client has read it. Large
 * charges can fill only half of the budget, so that small requests still find room. One peer (a
 * client address or network) can hold at most half of the budget, and at most half of the part for
 * large charges. The last quarter of the budget, and of the part for large charges, is reserved for
 * peers that hold little.
 *
 * When a charge does not fit, the server closes connections on which it has waited for the client
 * longer than PRESSURE_AGE, the largest connections first. The bytes of a closed connection count
 * as free at once, although the connection's event loop frees the bytes only in its next turn. An
 * event loop's turn can take long, so the bytes held and the bytes about to be freed are together
 * at most twice the budget. Within twice the budget, a quarter of the budget is reserved for peers
 * that hold little memory. If no connection can be closed, the charge is refused.
 *
 * The number of connections is bounded, in total and for each peer. When a peer exceeds the bound
 * for peers, the server closes the peer's longest idle connection. When the total bound is
 * exceeded, the server closes the longest idle connection of the peer that has the most
 * connections, among the peers with an idle connection. A new connection never displaces a
 * connection of a peer that has fewer connections.
 */

/**
 * Bounds the number of connections of a server, and the memory that all connections hold together.
 * Armeria bounds the memory of each request and each connection, but many clients together could
 * fill the heap. Thread-safe; never blocks.
 */
public final class ConnectionBudget {

  /** The size, in bytes, from which a body or a response is a large charge. */
  static final int LARGE = 4 << 10;

  /** How long the server waits for a client to send or read while the budget is exhausted. */
  static final Duration PRESSURE_AGE = Duration.ofMillis(250);

  /** A peer holds little memory if it holds at most the budget divided by this number. */
  private static final int MODEST_SHARE = 16;

  private static final long SEARCH_EVERY_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  /**
   * How long a connection must have no request before the server tells the client that the
   * connection ends. Some clients drop a response that arrives just before the message that the
   * connection ends.
   */
  private static final long GOODBYE_AFTER_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  private static final int IPV6_PREFIX_BYTES = 8;
  private static final int MOST_LOOKS = 100;
  private static final Duration IDLE_AT_THE_END = Duration.ofSeconds(1);
  private static final Logger log = LoggerFactory.getLogger(SluiceServer.class);

  private final long budgetBytes;
  private final int maxConnections;
  private final int maxPerPeer;
  private final long exchangeNanos;
  private final Set<Client> connections = ConcurrentHashMap.newKeySet();
  private final ConcurrentHashMap<Object, Peer> peers = new ConcurrentHashMap<>();
  private final AtomicLong heldBytes = new AtomicLong();
  private final AtomicLong closingBytes = new AtomicLong();
  private final AtomicLong nextSearchNanos = new AtomicLong(System.nanoTime());
  private final PacedLog closed = new PacedLog(log, System::nanoTime);
  private final PacedLog refused = new PacedLog(log, System::nanoTime);
  private final PacedLog refusedRequests = new PacedLog(log, System::nanoTime);

  private final ConcurrentHashMap<Channel, Listening> listeners = new ConcurrentHashMap<>();
  private volatile Stage stage = Stage.OPEN;
  private final LongAdder answeredAtTheEnd = new LongAdder();
  private final LongAdder cut = new LongAdder();

  /** The stages of the shutdown. */
  enum Stage {
    OPEN,
    UNREADY,
    CLOSING
  }

  /** The connections from one address, and the bytes that they hold. */
  public static final class Peer {
    private final AtomicLong heldBytes = new AtomicLong();
    private int connections; // changed only within compute calls of the map
  }

  /** Returns a budget with the default bounds, which are constants of {@link SluiceServer}. */
  public static ConnectionBudget usual() {
    int most = connections(Runtime.getRuntime().maxMemory());
    int connections = OpenFileLimit.connections(most);
    if (connections < most) {
      log.warn(
          "at most {} connections instead of {}, as the process may open few files: {}",
          connections,
          most,
          OpenFileLimit.REMEDY);
    }
    return new ConnectionBudget(
        usualBudgetBytes(),
        connections,
        SluiceServer.MAX_CONNECTIONS_PER_PEER,
        SluiceServer.REQUEST_TIMEOUT.plus(SluiceServer.READ_TIMEOUT));
  }

  /** Returns the most connections for a heap, so that idle connections cannot fill the heap. */
  static int connections(long heapBytes) {
    return (int)
        Math.min(SluiceServer.MAX_CONNECTIONS, heapBytes / SluiceServer.HEAP_PER_CONNECTION);
  }

  /** Returns the default memory budget: a share of the smaller one of heap and direct memory. */
  private static long usualBudgetBytes() {
    return Math.min(Runtime.getRuntime().maxMemory(), PlatformDependent.maxDirectMemory())
        / SluiceServer.HEAP_PER_BUDGET;
  }

  /** Makes the budget of a server. */
  public ConnectionBudget(long budgetBytes, int maxConnections, int maxPerPeer, Duration exchange) {
    this.budgetBytes = budgetBytes;
    this.maxConnections = maxConnections;
    this.maxPerPeer = maxPerPeer;
    this.exchangeNanos = exchange.toNanos();
  }

  /** Returns the longest time from a request's first byte until its response was read. */
  long exchangeNanos() {
    return exchangeNanos;
  }

  Stage stage() {
    return stage;
  }

  public int connections() {
    return connections.size();
  }

  /** Returns the most open connections; one more connection replaces an idle connection. */
  public int maxConnections() {
    return maxConnections;
  }

  /** Whether the server is shutting down, and so reports that it is not ready. */
  public boolean isEnding() {
    return stage != Stage.OPEN;
  }

  /** A connection that was just accepted. */
  public record Accepted(ConnectionBudget traffic, Channel channel, Object key, Peer peer) {}

  /** Admits a new connection, or closes it. */
  @CanIgnoreReturnValue
  public <C extends Client> C admit(Channel channel, Function<Accepted, C> kind) {
    if (channel.parent() != null) {
      listeners.computeIfAbsent(channel.parent(), this::listening);
    }
    Object key = key(channel);
    Peer peer =
        peers.compute(
            key,
            (k, known) -> {
              Peer same = known == null ? new Peer() : known;
              same.connections++;
              return same;
            });
    C connection = kind.apply(new Accepted(this, channel, key, peer));
    connections.add(connection);
    channel
        .closeFuture()
        .addListener(
            closed -> {
              forget(connection);
              connection.releaseAll();
            });
    boolean fits =
        (peer.connections <= maxPerPeer || dropIdle(connection, other -> other == peer))
            && (connections.size() <= maxConnections
                || dropIdle(connection, other -> other.connections >= peer.connections));
    if (!fits) {
      refused.warn(
          () ->
              "connection from %s refused: %s connections are open, and every idle one belongs to a peer with fewer connections; close some connections, or raise the bound"
                  .formatted(channel.remoteAddress(), connections.size()));
      connection.closeNow();
    }
    return connection;
  }

  /** Stops counting a connection that is closed or is about to be closed. */
  void forget(Client connection) {
    if (connections.remove(connection)) {
      peers.computeIfPresent(
          connection.key(), (key, known) -> --known.connections == 0 ? null : known);
    }
  }

  /**
   * Returns the IPv4 address, or the /64 network of an IPv6 address, since one client usually has a
   * whole /64 network.
   */
  private static Object key(Channel channel) {
    if (!(channel.remoteAddress() instanceof InetSocketAddress address)) {
      return "";
    }
    InetAddress ip = address.getAddress();
    return ip instanceof Inet4Address
        ? ip
        : ByteBuffer.wrap(ip.getAddress(), 0, IPV6_PREFIX_BYTES).slice();
  }

  /**
   * Closes one idle connection. Considers only peers that pass {@code mayLose}, chooses the peer
   * with the most connections, and closes its longest idle connection.
   */
  private boolean dropIdle(Client newcomer, Predicate<Peer> mayLose) {
    long now = System.nanoTime();
    Client first = null;
    for (Client connection : connections) {
      if (connection != newcomer
          && mayLose.test(connection.peer())
          && connection.isIdle()
          && (first == null || goesBefore(connection, first, now))) {
        first = connection;
      }
    }
    if (first == null) {
      return false;
    }
    first.closeNow();
    return true;
  }

  private static boolean goesBefore(Client one, Client other, long now) {
    int more = one.peer().connections - other.peer().connections;
    return more == 0 ? one.quietNanos(now) > other.quietNanos(now) : more > 0;
  }

  /** Charges memory to a connection and the budget; returns false if the budget has no room. */
  boolean tryCharge(Client connection, long bytes, boolean large) {
    return fits(connection, bytes, large)
        || (makeRoom() && !connection.isDoomed() && fits(connection, bytes, large));
  }

  private boolean fits(Client connection, long bytes, boolean large) {
    long peers = connection.peer().heldBytes.get() + bytes;
    long most = large ? budgetBytes / 2 : budgetBytes;
    boolean modest = peers <= budgetBytes / MODEST_SHARE;
    long held = heldBytes.get() + bytes;
    if (held > most - (modest ? 0 : most / 4)
        || peers > most / 2
        || held + closingBytes.get() > 2 * budgetBytes - (modest ? 0 : budgetBytes / 4)) {
      return false;
    }
    charge(connection, bytes);
    return true;
  }

  /** Adds bytes, perhaps negative, to the memory of a connection, its peer and the budget. */
  void charge(Client connection, long bytes) {
    connection.hold(bytes);
    connection.peer().heldBytes.addAndGet(bytes);
    heldBytes.addAndGet(bytes);
  }

  /** Logs that the budget had no room for a request. */
  void refusedRequest(Client connection) {
    refusedRequests.warn(
        () ->
            "request from %s refused: requests in flight hold %s of %s bytes, those of its address %s (at most half)"
                .formatted(
                    connection.remoteAddress(),
                    heldBytes,
                    budgetBytes,
                    connection.peer().heldBytes));
  }

  /** Adds bytes that closed connections still hold; a negative number subtracts bytes. */
  void closing(long bytes) {
    closingBytes.addAndGet(bytes);
  }

  /** Closes connections with slow clients until a quarter of the budget is free again. */
  private boolean makeRoom() {
    long now = System.nanoTime();
    long next = nextSearchNanos.get();
    if (now - next < 0 || !nextSearchNanos.compareAndSet(next, now + SEARCH_EVERY_NANOS)) {
      return false;
    }
    long pressure = PRESSURE_AGE.toNanos();
    List<HeldBytes> waiting =
        connections.stream()
            .filter(connection -> connection.waitsForClientNanos(now) > pressure)
            .map(connection -> new HeldBytes(connection, connection.heldBytes()))
            .sorted(Comparator.comparingLong(HeldBytes::bytes).reversed())
            .toList();
    long room = 0;
    for (HeldBytes one : waiting) {
      if (room >= budgetBytes / 4) {
        break;
      }
      room += one.bytes();
      close(one.connection(), "the connection held %s bytes while the budget was exhausted");
    }
    return room > 0;
  }

  /**
   * A connection and a copy of its byte count, which must not change while connections are sorted.
   */
  private record HeldBytes(Client connection, long bytes) {}

  /** Closes each connection for which {@link Client#lateness} returns a reason. */
  void sweep() {
    long now = System.nanoTime();
    for (Client connection : connections) {
      String late = connection.lateness(now, exchangeNanos);
      if (late != null) {
        close(connection, late);
      }
    }
  }

  void close(Client connection, String why) {
    long held = connection.heldBytes();
    if (connection.closeNow()) {
      closed.warn(
          () ->
              "connection from %s closed: %s"
                  .formatted(connection.remoteAddress(), why.formatted(held)));
    }
  }

  /** Logs why a connection failed; ends the process after an {@link OutOfMemoryError}. */
  void failed(Channel channel, Throwable cause) {
    OutOfMemory.report(cause);
    if (isOwnHealthCheck(channel, cause)) {
      log.debug("connection from {} closed: found no TLS", channel.remoteAddress());
    } else if (!(cause instanceof IOException)) { // an IOException means that the client went away
      brokenBy(channel, OutOfMemory.words(cause));
    }
  }

  /** Whether this machine tried HTTP without TLS, as {@code sluice healthcheck} does. */
  private static boolean isOwnHealthCheck(Channel channel, Throwable cause) {
    return cause.getCause() instanceof NotSslRecordException
        && channel.remoteAddress() instanceof InetSocketAddress peer
        && peer.getAddress().isLoopbackAddress();
  }

  /** Counts a response that is sent while the server shuts down. */
  void answered() {
    if (stage != Stage.OPEN) {
      answeredAtTheEnd.increment();
    }
  }

  /**
   * Returns a log message about the shutdown: the number of HTTP and gRPC requests answered since
   * {@link #unready}, and the number of connections closed with requests in flight.
   */
  public String farewell() {
    long lost = cut.sum();
    return "%s answered over HTTP and gRPC during the shutdown%s"
        .formatted(
            Plurals.of(answeredAtTheEnd.sum(), "request"),
            lost == 0 ? "" : ", " + Plurals.of(lost, "connection") + " cut");
  }

  void brokenBy(Channel channel, String what) {
    closed.warn(() -> "connection from %s closed: %s".formatted(channel.remoteAddress(), what));
  }

  /** Whether the server still accepts work, since its shutdown has not begun. */
  public boolean isOpen() {
    return stage == Stage.OPEN;
  }

  /** Makes the server report that it is not ready; other requests are answered as before. */
  public void unready() {
    if (stage == Stage.OPEN) {
      stage = Stage.UNREADY;
    }
  }

  /** Stops accepting, awaits responses for at most LONGEST_SHUTDOWN, and closes connections. */
  public void drain() {
    try {
      startClosing();
      if (!awaitEnd(IDLE_AT_THE_END, SluiceServer.LONGEST_SHUTDOWN)) {
        cut.add(connections.size());
        log.warn(
            "stopped with requests in flight: they took longer than {}",
            SluiceServer.LONGEST_SHUTDOWN);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    // Armeria would wait for ever for an HTTP/2 response that the client does not read.
    closeAll();
  }

  /** Stops accepting connections. */
  private void startClosing() {
    stage = Stage.CLOSING;
    listeners.values().forEach(Listening::startClosing);
    listeners.keySet().forEach(port -> port.closeFuture().awaitUninterruptibly());
  }

  private Listening listening(Channel port) {
    Listening listening = new Listening(port);
    port.pipeline().addLast(listening);
    return listening;
  }

  /**
   * Waits until every connection has ended. Sends GOAWAY to an HTTP/2 client once it has no request
   * in flight, or after the time {@code idle}. Once the time {@code idle} is over, closes
   * connections without requests.
   */
  private boolean awaitEnd(Duration idle, Duration patience) throws InterruptedException {
    long start = System.nanoTime();
    while (!connections.isEmpty()) {
      long now = System.nanoTime();
      if (now - start > patience.toNanos()) {
        return false;
      }
      for (Client connection : connections) {
        boolean late = now - start > idle.toNanos();
        long quiet = connection.isIdle() ? connection.quietNanos(now) : 0;
        if (late || quiet > GOODBYE_AFTER_NANOS) {
          connection.sayGoodbye();
        }
        if (late && quiet > idle.toNanos()) {
          connection.closeNow();
        }
      }
      TimeUnit.MILLISECONDS.sleep(10);
    }
    return true;
  }

  private void closeAll() {
    connections.forEach(Client::closeNow);
  }

  /**
   * Closes a port once the port's accept queue is empty, since the operating system resets
   * connections that the server has not accepted. Logs failed accepts at a limited rate; Armeria
   * would log a stack trace each second.
   */
  private final class Listening extends ChannelInboundHandlerAdapter {
    private final Channel port;
    private int looks; // read and written by the port's event loop
    private boolean accepted;

    Listening(Channel port) {
      this.port = port;
    }

    void startClosing() {
      try {
        port.eventLoop().execute(() -> look(true));
      } catch (RejectedExecutionException e) {
        var unused = port.close(); // the port's event loop has ended
      }
    }

    /** Closes the port if no connection came since the last call; else checks again in 1 ms. */
    private void look(boolean again) {
      if (again && looks++ < MOST_LOOKS) {
        accepted = false;
        var unused = port.eventLoop().schedule(() -> look(accepted), 1, TimeUnit.MILLISECONDS);
      } else {
        var unused = port.close();
      }
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext context) {
      accepted = true;
      context.fireChannelReadComplete();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
      // This code must load no class before the process exits, since perhaps no file descriptor is
      // free.
      if (cause instanceof Error) {
        OutOfMemory.report(cause);
      }
      refused.warn(
          () ->
              "a connection cannot be accepted (%s); if the process may open only few files, %s"
                  .formatted(cause, OpenFileLimit.REMEDY));
    }
  }

  /**
   * The operating system's limit on the open files and connections of a process. A process at its
   * limit on open files can neither load classes nor accept connections. With a very low limit on
   * open files the server does not start; with a low limit it allows fewer connections.
   */
  public static final class OpenFileLimit {

    /** The server does not start if the limit on open files is below this number. */
    static final int LEAST = 256;

    /** The files that a server needs besides connections: jars, ports, event loops, the store. */
    static final int BESIDE_CONNECTIONS = 192;

    static final String REMEDY =
        "raise the limit with ulimit -n 16384, or LimitNOFILE in a systemd unit";

    private OpenFileLimit() {}

    /** Returns why the limit on open files is too low; empty if it suffices or is unknown. */
    public static Optional<String> tooFew() {
      return tooFew(bound());
    }

    static Optional<String> tooFew(long bound) {
      return bound >= LEAST
          ? Optional.empty()
          : Optional.of(
              "the process may open only %s files and connections, expected at least %s; %s"
                  .formatted(bound, LEAST, REMEDY));
    }

    /** Returns {@code wanted}, or fewer if the limit on open files requires it. */
    static int connections(int wanted) {
      return connections(wanted, bound());
    }

    static int connections(int wanted, long bound) {
      return (int) Math.min(wanted, Math.max(bound, LEAST) - BESIDE_CONNECTIONS);
    }

    private static long bound() {
      return ManagementFactory.getOperatingSystemMXBean()
                  instanceof UnixOperatingSystemMXBean system
              && system.getMaxFileDescriptorCount() > 0
          ? system.getMaxFileDescriptorCount()
          : Long.MAX_VALUE;
    }
  }

  /**
   * A log that clients cannot flood: writes at most one line in ten seconds, without a stack trace,
   * and adds how many lines were omitted. Thread-safe; blocks if the logger blocks.
   */
  private static final class PacedLog {

    private final Logger logger;
    private final LogPace pace;

    PacedLog(Logger logger, LongSupplier nanoTime) {
      this.logger = logger;
      this.pace = new LogPace(nanoTime);
    }

    void warn(Supplier<String> message) {
      String more = pace.next();
      if (more != null) {
        logger.warn("{}{}", message.get(), more);
      }
    }
  }
}
