// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.sun.management.UnixOperatingSystemMXBean;
import dev.sluice.internal.text.LogPace;
import dev.sluice.server.base.OutOfMemory;
import dev.sluice.server.base.Plurals;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
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
 * One budget bounds the memory that clients occupy: request bodies that have not completely
 * arrived, and responses that have not been read. Each request in flight is charged a fixed amount,
 * plus the bytes of its body as they arrive, plus the bytes of its response from the headers on.
 * Large charges can fill only half of the budget, so that small requests still find room. One peer
 * can hold at most half of the budget, and half of the part for large charges. The last quarter of
 * each is reserved for peers that hold little.
 *
 * When a charge does not fit, connections are closed whose oldest request waits for its client
 * longer than PRESSURE_AGE, the largest connections first. Their bytes count as free at once, since
 * they close within a turn of their event loop. A turn can be long, so bytes held and bytes about
 * to be free are together at most twice the budget. A quarter of the budget is again reserved for
 * peers that hold little. If no connection can be closed, the charge is refused.
 *
 * The number of connections is bounded, in total and for each peer. Above the bound, the connection
 * that has been idle longest is closed. It belongs to the same peer, or to the peer with the most
 * connections among those with an idle one. So a peer never displaces a peer with fewer
 * connections.
 */

/**
 * Bounds the number of connections of a server and the memory that they hold together. The library
 * bounds each request and each connection, but not their sum: many clients within their bounds
 * could fill the heap. Thread-safe; never blocks.
 */
public final class ConnectionBudget {

  /** The size from which a body or a response counts as large. */
  static final int LARGE = 4 << 10;

  /** How long a request may wait for its client while the budget is exhausted. */
  static final Duration PRESSURE_AGE = Duration.ofMillis(250);

  /** A peer counts as modest if it holds at most the budget divided by this number. */
  private static final int MODEST_SHARE = 16;

  private static final long SEARCH_EVERY_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  /**
   * How long a connection must be quiet before the server announces its end: some clients drop an
   * answer that arrives just before the announcement.
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

  /** The resources that the connections from one address hold. */
  public static final class Peer {
    private final AtomicLong heldBytes = new AtomicLong();
    private int connections; // changed only within compute calls of the map
  }

  /**
   * Returns a budget with the default bounds, which {@link SluiceServer} lists. The bound on
   * connections is lower with a small heap, or with a low limit on open files, which a log line
   * reports.
   */
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

  /** Returns how many connections a heap allows, so that idle connections alone cannot fill it. */
  static int connections(long heapBytes) {
    return (int)
        Math.min(SluiceServer.MAX_CONNECTIONS, heapBytes / SluiceServer.HEAP_PER_CONNECTION);
  }

  /**
   * Returns the default budget, by the heap or the direct memory, whichever is smaller: headers and
   * bodies in flight are in direct memory.
   */
  private static long usualBudgetBytes() {
    return Math.min(Runtime.getRuntime().maxMemory(), PlatformDependent.maxDirectMemory())
        / SluiceServer.HEAP_PER_BUDGET;
  }

  /**
   * Makes the budget of a server. {@code exchange} is the longest time of a request, from its first
   * byte until its response was read.
   */
  public ConnectionBudget(long budgetBytes, int maxConnections, int maxPerPeer, Duration exchange) {
    this.budgetBytes = budgetBytes;
    this.maxConnections = maxConnections;
    this.maxPerPeer = maxPerPeer;
    this.exchangeNanos = exchange.toNanos();
  }

  /** Returns how long a request may be in flight, until its response was read. */
  long exchangeNanos() {
    return exchangeNanos;
  }

  Stage stage() {
    return stage;
  }

  /** Returns the number of connections of all doors. */
  public int connections() {
    return connections.size();
  }

  /** Returns the bound of {@link #connections}, above which an idle connection is closed. */
  public int maxConnections() {
    return maxConnections;
  }

  /** Returns whether the server is shutting down, and so reports that it is not ready. */
  public boolean isEnding() {
    return stage != Stage.OPEN;
  }

  /** A connection that was just accepted. */
  public record Accepted(ConnectionBudget traffic, Channel channel, Object key, Peer peer) {}

  /**
   * Admits a new connection, or closes it.
   *
   * @param channel the connection; the call must come from its event loop
   * @param kind makes the client, which the caller then adds to the pipeline
   */
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

  /** Stops counting a connection that is closed, or about to be. */
  void forget(Client connection) {
    if (connections.remove(connection)) {
      peers.computeIfPresent(
          connection.key(), (key, known) -> --known.connections == 0 ? null : known);
    }
  }

  /** Returns the address, or its /64 network for IPv6: a client usually controls its whole /64. */
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
   * Closes the connection that has been idle longest of one peer: among the peers that may lose a
   * connection and have an idle one, the peer with the most connections.
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

  /** Charges a connection; returns false if the budget has no room. */
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

  /**
   * Adds bytes to the sums of the connection, its peer and the budget; the number can be negative.
   */
  void charge(Client connection, long bytes) {
    connection.hold(bytes);
    connection.peer().heldBytes.addAndGet(bytes);
    heldBytes.addAndGet(bytes);
  }

  /** Counts bytes as free soon: their connection closes within a turn of its event loop. */
  void closing(long bytes) {
    closingBytes.addAndGet(bytes);
  }

  /** Closes connections whose clients make the server wait, up to a quarter of the budget. */
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
      close(one.connection(), "it held %s bytes while the budget was exhausted");
    }
    return room > 0;
  }

  /** A connection with its bytes at one moment, since they must not change during a sort. */
  private record HeldBytes(Client connection, long bytes) {}

  /** Closes connections whose oldest request is too old. */
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

  /** Logs why a connection failed; ends the process if the heap ran out. */
  void failed(Channel channel, Throwable cause) {
    OutOfMemory.report(cause);
    if (!(cause instanceof IOException)) { // an IOException means that the client went away
      brokenBy(channel, OutOfMemory.words(cause));
    }
  }

  /** Counts an answer, while the server shuts down. */
  void answered() {
    if (stage != Stage.OPEN) {
      answeredAtTheEnd.increment();
    }
  }

  /**
   * Describes the shutdown, for people: the number of HTTP and gRPC requests answered since {@link
   * #unready}, and of connections cut.
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

  /** Whether the server is not shutting down. */
  public boolean isOpen() {
    return stage == Stage.OPEN;
  }

  /** Makes the server report that it is not ready; other requests are answered as before. */
  public void unready() {
    if (stage == Stage.OPEN) {
      stage = Stage.UNREADY;
    }
  }

  /**
   * Stops accepting connections, waits for the answers in flight, and closes all connections.
   * Blocks up to {@link SluiceServer#LONGEST_SHUTDOWN}; an interrupted thread does not wait. Later
   * calls do nothing.
   */
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
    // The library would wait for ever for an HTTP/2 response that the client does not read.
    closeAll();
  }

  /** Stops accepting connections; from now on each HTTP/1.1 answer ends its connection. */
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
   * Waits until every connection has ended. An HTTP/2 client gets a GOAWAY once it has no request
   * in flight, or after the idle time; a connection without requests is closed after the idle time.
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
   * Closes a port once its accept queue is empty: the system resets connections that the server has
   * not accepted. Also logs accept failures, since the library would log a stack trace each second.
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

    /**
     * Closes the port if no connection was accepted since the last call; otherwise looks again in 1
     * ms.
     */
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
      // Exits without loading another class, since no file descriptor may be left.
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
   * The system's limit on the open files and connections of a process. At this limit, a JVM cannot
   * load classes, and a port cannot accept connections. So with a very low limit the server does
   * not start, and with a low limit it allows fewer connections.
   */
  public static final class OpenFileLimit {

    /** The lowest limit with which a server starts. */
    static final int LEAST = 256;

    /**
     * The files reserved for jars, ports, event loops, the store, and connections that are closing.
     */
    static final int BESIDE_CONNECTIONS = 192;

    /** The advice for a limit that is too low. */
    static final String REMEDY =
        "raise the limit with ulimit -n 16384, or LimitNOFILE in a systemd unit";

    private OpenFileLimit() {}

    /**
     * Returns why this process cannot serve, with advice; empty if the limit is high enough or
     * unknown.
     */
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

    /** Returns how many of the wanted connections the limit on open files allows. */
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
   * A log that clients cannot flood: at most one line in ten seconds, without a stack trace, with
   * the number of lines left out. Thread-safe; blocks if the logger blocks.
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
