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
 * One budget for what clients make the server hold: request bodies that have not arrived as a
 * whole, and responses that have not been read. Each request in flight is charged a fixed amount,
 * its body as it grows, and its response from its headers on. A large charge may fill the budget
 * only to one half, so that bulk leaves room for small requests. A peer may hold one half of
 * either, and the last quarter is for peers that hold little.
 *
 * When a charge does not fit, those who make the server wait go: connections whose oldest request
 * waits for its client longer than PRESSURE_AGE, the largest first. What they hold counts as free
 * at once, since they close within a turn of their event loop. A turn may be long, so what is held
 * and what is about to be free are together at most twice the budget. The last quarter of a budget
 * is for peers that hold little here too. If nobody can go, the charge is refused.
 *
 * Connections are bounded in number, all and for each peer. When they are too many, the longest
 * idle one goes. It is one of the same peer, or of the peer that has most among those with an idle
 * one. A peer never takes the place of one with fewer connections than its own.
 */

/**
 * All connections of a server, and what they hold together. The library bounds each request and
 * each connection, but not the sum of them: many clients that stay within their bounds could fill
 * the heap. Thread-safe; never blocks.
 */
public final class ConnectionBudget {

  /** The size from which a body or a response counts as large. */
  static final int LARGE = 4 << 10;

  /** How long a request may wait for its client while the budget is exhausted. */
  static final Duration PRESSURE_AGE = Duration.ofMillis(250);

  /** The part of the budget below which a peer counts as modest: one in this many. */
  private static final int MODEST_SHARE = 16;

  private static final long SEARCH_EVERY_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  /** Some clients give up an answer that has only just arrived when they are told of the end. */
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

  /** How far the server's end has come. */
  enum Stage {
    OPEN,
    UNREADY,
    CLOSING
  }

  /** The resources that the connections from one address hold. */
  public static final class Peer {
    private final AtomicLong heldBytes = new AtomicLong();
    private int connections; // guarded by the map's entry
  }

  /**
   * Returns the traffic of a server with the usual bounds, which {@link SluiceServer} lists. There
   * are fewer connections where the heap is small, or where the process may open fewer files; a log
   * line says the latter.
   *
   * @return a traffic without connections
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

  /** How many connections a heap may have: idle ones alone must not fill it. */
  static int connections(long heapBytes) {
    return (int)
        Math.min(SluiceServer.MAX_CONNECTIONS, heapBytes / SluiceServer.HEAP_PER_CONNECTION);
  }

  /** Headers and bodies under way are in direct memory, where the JVM may have less. */
  static long usualBudgetBytes() {
    return Math.min(Runtime.getRuntime().maxMemory(), PlatformDependent.maxDirectMemory())
        / SluiceServer.HEAP_PER_BUDGET;
  }

  /**
   * Makes the traffic of a server.
   *
   * @param budgetBytes what all connections may hold together
   * @param maxConnections how many there may be
   * @param maxPerPeer how many there may be from one address
   * @param exchange how long a request may be in flight, until its response was read
   */
  public ConnectionBudget(long budgetBytes, int maxConnections, int maxPerPeer, Duration exchange) {
    this.budgetBytes = budgetBytes;
    this.maxConnections = maxConnections;
    this.maxPerPeer = maxPerPeer;
    this.exchangeNanos = exchange.toNanos();
  }

  /** How long a request may be in flight, until its response was read. */
  long exchangeNanos() {
    return exchangeNanos;
  }

  Stage stage() {
    return stage;
  }

  /**
   * Returns how many clients are connected, over all doors.
   *
   * @return 0 or more
   */
  public int connections() {
    return connections.size();
  }

  /**
   * Returns whether the server is about to end: it says that it is not ready.
   *
   * @return false while it is open
   */
  public boolean isEnding() {
    return stage != Stage.OPEN;
  }

  /**
   * A connection that was just accepted.
   *
   * @param traffic where it is counted
   * @param channel the connection
   * @param key what its peer is known by
   * @param peer the peer
   */
  public record Accepted(ConnectionBudget traffic, Channel channel, Object key, Peer peer) {}

  /**
   * Watches a new connection, or closes it.
   *
   * @param <C> what speaks the protocol
   * @param channel the connection; the call must come from its event loop
   * @param kind makes the client, which the caller then adds to the pipeline
   * @return the client
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
              "connection from %s refused: %s are open, and none of them is idle and of a peer with as many; close some, or raise the bound"
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

  /** A whole /64 for IPv6: a client with one address of it has all. */
  private static Object key(Channel channel) {
    if (!(channel.remoteAddress() instanceof InetSocketAddress address)) {
      return "";
    }
    InetAddress ip = address.getAddress();
    return ip instanceof Inet4Address
        ? ip
        : ByteBuffer.wrap(ip.getAddress(), 0, IPV6_PREFIX_BYTES).slice();
  }

  /** Closes the longest idle connection of the peer that has most, of those that may lose one. */
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

  /** Charges a connection; false if it must do without. */
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

  /** Counts bytes, negative ones too; what a connection holds is always in all three sums. */
  void charge(Client connection, long bytes) {
    connection.hold(bytes);
    connection.peer().heldBytes.addAndGet(bytes);
    heldBytes.addAndGet(bytes);
  }

  /** Counts what a connection holds that will be closed within a turn of its event loop. */
  void closing(long bytes) {
    closingBytes.addAndGet(bytes);
  }

  /** Closes who makes the server wait, one quarter of the budget at a time. */
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

  /** What a connection held at one moment. It goes on, and a sort must not see that. */
  private record HeldBytes(Client connection, long bytes) {}

  /** Closes those whose oldest request is too old. */
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

  /** A connection ends by what was thrown, and so does the process if the heap ran out. */
  void failed(Channel channel, Throwable cause) {
    OutOfMemory.report(cause);
    if (!(cause instanceof IOException)) { // the network's: the client went away
      brokenBy(channel, OutOfMemory.words(cause));
    }
  }

  /** A request was answered. */
  void answered() {
    if (stage != Stage.OPEN) {
      answeredAtTheEnd.increment();
    }
  }

  /**
   * Says how the end went, for people.
   *
   * @return how many requests of HTTP and gRPC were answered since {@link #unready}, and how many
   *     connections were cut
   */
  public String farewell() {
    long lost = cut.sum();
    return "%s answered since then over HTTP and gRPC%s"
        .formatted(
            Plurals.of(answeredAtTheEnd.sum(), "request"),
            lost == 0 ? "" : ", " + Plurals.of(lost, "connection") + " cut");
  }

  void brokenBy(Channel channel, String what) {
    closed.warn(() -> "connection from %s closed: %s".formatted(channel.remoteAddress(), what));
  }

  /**
   * Whether the server was not yet told that it goes away.
   *
   * @return false from {@link #unready} on
   */
  public boolean isOpen() {
    return stage == Stage.OPEN;
  }

  /** From now on the server says that it is not ready, and otherwise answers as before. */
  public void unready() {
    if (stage == Stage.OPEN) {
      stage = Stage.UNREADY;
    }
  }

  /**
   * Accepts nobody any more, lets every client have its answers, and closes all connections. Blocks
   * until that is done, up to {@link SluiceServer#LONGEST_SHUTDOWN}; a thread that is interrupted
   * waits for no answers. Later calls find nothing to do.
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
    closeAll(); // an unread HTTP/2 response would hold up the library for ever
  }

  /** Accepts nobody any more; from now on each answer over HTTP/1.1 ends its connection. */
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
   * Waits until every connection has ended. An HTTP/2 client is told when no request of its is in
   * flight, or after a while; a connection without requests is closed after that while.
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
   * Closes a port when nobody is left in its queue: the system resets the connections that it has
   * completed and that the server has not accepted. It also logs that the port cannot accept; the
   * library would log a stack trace each second.
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
        var unused = port.close(); // its event loop has ended
      }
    }

    /** The event loop accepts between two looks. */
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
      if (cause instanceof Error) { // otherwise no class more than needed: no descriptor is left
        OutOfMemory.report(cause);
      }
      refused.warn(
          () ->
              "a connection cannot be accepted (%s); where the process may open few files, %s"
                  .formatted(cause, OpenFileLimit.REMEDY));
    }
  }

  /**
   * The bound of the system on the files and connections that a process has open. Beyond it a JVM
   * cannot load classes, and a port cannot accept. So a server with too few does not start, and one
   * with few bounds its connections instead of meeting the system's bound. Stateless.
   */
  public static final class OpenFileLimit {

    /** The least bound with which a server starts. */
    static final int LEAST = 256;

    /** Kept for jars, files, ports, event loops, the store, and connections about to be closed. */
    static final int BESIDE_CONNECTIONS = 192;

    /** What to do about a bound that is too low. */
    static final String REMEDY =
        "raise that with ulimit -n 16384, or LimitNOFILE in a systemd unit";

    private OpenFileLimit() {}

    /**
     * Returns why this process cannot serve, with what to do about it.
     *
     * @return a message; empty if the bound is high enough or not known
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

    /**
     * Returns how many connections fit.
     *
     * @param wanted the most there should be
     * @return that, or less
     */
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
   * A log that clients cannot flood: at most one line in ten seconds, without a stack trace, which
   * says how many were left out. Thread-safe; blocks as long as the logger does.
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
