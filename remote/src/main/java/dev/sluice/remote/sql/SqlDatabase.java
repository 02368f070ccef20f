// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote.sql;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.internal.async.Stages;
import dev.sluice.remote.Breaker;
import dev.sluice.remote.Endpoint;
import dev.sluice.remote.RequestQueue;
import dev.sluice.remote.StoreContext;
import dev.sluice.remote.Topology;
import dev.sluice.remote.sql.SqlDialect.SqlFault;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Observer.Refusal;
import dev.sluice.store.StoreException;
import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/*
 * Connections and threads.
 *
 *   callers ──▶ RequestQueue ──▶ calls ──▶ link ──▶ connection      one thread for each connection,
 *                                     └──▶ link ──▶ connection      2 by default
 *
 * The queue allows as many calls in flight as there are connections, so a call seldom waits for a
 * link. A call waits while connections are being opened, or while a connection hangs. If all
 * callers of a waiting call time out, the call is not sent. A link without a connection would fail
 * each call at once, and would thus take most of the calls. While another link has a connection, a
 * link without a connection therefore takes no calls.
 *
 * A call that times out after it was sent is also cancelled in the database. The SQL functions
 * bound their waits for locks themselves, and a connection that does not respond is closed. Batches
 * with a bucket that another transaction has locked are rejected: see LockedBuckets.
 *
 * A call leaves nothing in its session except prepared statements, and the store also works without
 * prepared statements. A pooler is therefore allowed to run each call in a different session.
 */

/** One database: its connections, and the queue in front of them. Thread-safe. */
public final class SqlDatabase implements Endpoint, Topology {

  private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(5);
  private static final int VALID_SECONDS = 2;
  private static final long REOPEN_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
  private static final long PATIENT_MILLIS = 10_000; // time-out of rare operations
  private static final long OPEN_MILLIS = 5_000; // the time-out of connecting
  // A connection that is silent for this many time-outs is closed.
  private static final int SILENT_TIMEOUTS = 2;
  private static final int ATTEMPTS = 3; // tries of a call that has changed nothing

  private final String name;
  private final DataSource source;
  private final SqlDialect dialect;
  private final StoreContext context;
  private final Breaker breaker;
  private final RequestQueue queue;
  private final BlockingQueue<SqlCall> calls;
  private final LockedBuckets locked;
  private final List<Link> links = new ArrayList<>();
  private final AtomicInteger opened = new AtomicInteger(); // connections that are open now
  private final AtomicInteger broken = new AtomicInteger(); // connections broken so far
  private volatile @Nullable String refusal;
  private final CompletableFuture<String> closing = new CompletableFuture<>();
  private volatile boolean closed;

  /**
   * Creates a database whose connections are not open yet.
   *
   * @param name the name for messages, without a password
   * @param source opens or lends connections
   * @param connections the number of connections to use
   */
  public SqlDatabase(
      String name, DataSource source, SqlDialect dialect, int connections, StoreContext context) {
    this.name = name;
    this.source = source;
    this.dialect = dialect;
    this.context = context;
    this.locked = new LockedBuckets(context.timeoutNanos(), this::nanoTime);
    this.breaker = context.breaker(name, this::probeOnce);
    this.queue = context.queue(this, new AtomicInteger());
    this.calls = context.timing().queue();
    ThreadFactory threads = context.timing().threads(dialect.kind(), "connection");
    for (int i = 0; i < connections; i++) {
      links.add(new Link(threads, i == 0 && context.clock() == null));
    }
  }

  /** Begins to connect. */
  public void start() {
    links.forEach(link -> link.thread.start());
  }

  /** Returns the reason why this database cannot hold the buckets; null if no reason is known. */
  public @Nullable String refusal() {
    // If there are several hosts, one can be a replica while another host is usable.
    return opened.get() > 0 ? null : refusal;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Breaker breaker() {
    return breaker;
  }

  @Override
  public SqlCall call(List<byte[]> keys, List<List<Charge>> batches) {
    return dialect.call(calls::add, keys, batches);
  }

  @Override
  public SqlFault fault(@Nullable Throwable failure) {
    return dialect.fault(failure);
  }

  @Override
  public @Nullable StoreException refusal(List<byte[]> keys, List<Charge> batch) {
    Throwable lock = lockOf(keys, batch);
    return lock == null ? null : dialect.fault(lock).exception(name);
  }

  private @Nullable Throwable lockOf(List<byte[]> keys, List<Charge> batch) {
    Throwable lock = locked.refusal(keys, batch);
    if (lock != null) {
      context.observer().refused(name, Refusal.LOCKED);
    }
    return lock;
  }

  @Override
  public RequestQueue queueOf(byte[] key) {
    return queue;
  }

  /**
   * Writes to a bucket that no client uses, since a database can be able to read but not to write.
   */
  private CompletionStage<?> probeOnce() {
    Charge spend = new Charge("", Op.SPEND, 1, Long.MAX_VALUE, Effect.NO_END);
    SqlCall call = call(List.of(context.probeKey()), List.of(List.of(spend)));
    calls.add(call);
    CompletableFuture<String> ran =
        call.handle(
            (answer, failure) -> {
              if (failure != null && dialect.fault(Stages.cause(failure)).isOutage()) {
                throw new CompletionException(Stages.cause(failure));
              }
              return "ran";
            });
    CompletableFuture<String> inTime = context.timing().within(ran, context.timeoutNanos());
    Stages.onEnd(inTime, (answer, failure) -> call.abandon());
    return inTime;
  }

  @Override
  public CompletionStage<Void> ping() {
    SqlCall call = call(List.of(context.probeKey()), List.of(List.of(context.nobodys())));
    calls.add(call);
    CompletableFuture<Void> pong =
        call.handle(
            (answer, failure) -> {
              if (failure != null) {
                Throwable cause = Stages.cause(failure);
                throw new StoreException(name + ": " + dialect.fault(cause).words(), cause);
              }
              return null;
            });
    return context.timing().within(pong, context.timeoutNanos());
  }

  @Override
  public CompletionStage<?> probe() {
    return CompletableFuture.allOf(
        links.stream().map(link -> link.connected).toArray(CompletableFuture[]::new));
  }

  @Override
  public void close() {
    closed = true;
    breaker.close();
    queue.close();
    closing.complete("closed");
    for (Link link : links) {
      link.thread.interrupt();
    }
    long end = nanoTime() + context.timeoutNanos();
    for (Link link : links) {
      link.awaitEnd(end - nanoTime());
    }
  }

  private long nanoTime() {
    return context.timing().nanoTime();
  }

  /** Thrown if the database responds, but cannot hold the buckets of this store. */
  private static final class RefusedException extends SQLException {
    private static final long serialVersionUID = 1;

    RefusedException(String why) {
      super(why);
    }
  }

  /** Checks a new connection: throws if the database cannot hold the buckets of this store. */
  private void look(Connection connection) throws SQLException {
    String why = dialect.refusal(connection);
    refusal = why;
    if (why != null) {
      throw new RefusedException(why);
    }
  }

  /** One connection, and the thread that uses it. */
  private final class Link {

    final CompletableFuture<String> connected = new CompletableFuture<>();
    private final CompletableFuture<String> ended = new CompletableFuture<>();
    private final Thread thread;
    private final @Nullable Cleaning cleaning;
    private final Map<String, PreparedStatement> statements = new HashMap<>();
    private @Nullable Connection open; // this thread's connection
    private int brokenBefore; // the value of `broken` when this connection last worked
    private boolean keepsStatements = true;
    private boolean committed; // the auto-commit mode that the pool had set
    private int lentMillis; // the network time-out that the pool had set
    private @Nullable SqlCall current; // guarded by this
    private @Nullable PreparedStatement running; // guarded by this

    Link(ThreadFactory threads, boolean cleans) {
      this.thread =
          threads.newThread(
              () -> {
                try {
                  serve();
                } finally {
                  ended.complete("ended");
                }
              });
      this.cleaning = cleans ? new Cleaning() : null;
    }

    void awaitEnd(long nanos) {
      try {
        context.timing().await(ended, Math.max(nanos, 1));
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      } catch (ExecutionException | TimeoutException e) {
        // The connection's thread did not end in time; it ends when the connection is closed.
      }
    }

    private void serve() {
      try {
        var unused = connection();
        connected.complete("connected");
      } catch (Throwable e) {
        connected.completeExceptionally(e);
      }
      while (!closed) {
        try {
          if (open == null && opened.get() > 0) {
            openBesidesOthers();
            continue;
          }
          long pause = cleaning == null || open == null ? IDLE_NANOS : cleaning.pause();
          SqlCall call = calls.poll(pause, TimeUnit.NANOSECONDS);
          if (call == null) {
            checkIdle();
          } else {
            serve(call);
          }
          Connection on = open;
          if (cleaning != null && on != null && cleaning.pause() == 0) {
            clean(cleaning, on);
          }
        } catch (InterruptedException e) {
          // The store was closed; the loop's condition ends the thread.
        } catch (Throwable e) { // no memory, or a missing class: the next call may succeed
          leave();
        }
      }
      leave();
    }

    private void clean(Cleaning full, Connection on) throws SQLException {
      try {
        bound(on, PATIENT_MILLIS);
        full.clean(on);
        bound(on, 0);
      } catch (SQLException e) {
        full.failed(e);
        if (dialect.fault(e).breaksConnection()) {
          broken.incrementAndGet();
          leave();
        } else {
          bound(on, 0);
        }
      }
    }

    private void openBesidesOthers() throws InterruptedException, ExecutionException {
      try {
        var unused = connection();
      } catch (Throwable e) {
        pause();
      }
    }

    private void pause() throws InterruptedException, ExecutionException {
      try {
        context.timing().await(closing, REOPEN_NANOS);
      } catch (TimeoutException e) {
        // The pause is over: try again to open a connection.
      }
    }

    private void serve(SqlCall call) {
      Throwable lock = call.batches.size() == 1 ? lockOf(call.keys, call.batches.get(0)) : null;
      if (lock != null) {
        call.completeExceptionally(lock);
        return;
      }
      Connection on;
      try {
        on = connection();
      } catch (Throwable e) {
        if (opened.get() > 0 && !closed) {
          calls.add(call);
        } else {
          locked.failed(call.keys, call.batches, null);
          call.notSent(e);
        }
        return;
      }
      if (!call.mayLeave(() -> cancelLater(call))) {
        locked.failed(call.keys, call.batches, null);
        call.stayedHere();
        return;
      }
      try {
        long[] answer = answer(call, on);
        locked.succeeded(call.keys, call.batches);
        call.complete(answer);
      } catch (Throwable e) {
        SqlFault fault = dialect.fault(e);
        locked.failed(call.keys, call.batches, fault.isLocked() ? e : null);
        if (fault.breaksConnection()) {
          broken.incrementAndGet();
          leave();
        }
        call.completeExceptionally(e);
      }
    }

    private long[] answer(SqlCall call, Connection on) throws SQLException {
      for (int attempt = 1; ; attempt++) {
        try {
          return run(call, on);
        } catch (SQLException e) { // a failed call has changed nothing
          boolean again = e instanceof SqlCall.TryAgainException || doWithoutPrepared(e);
          if (!again || attempt == ATTEMPTS || call.isAbandoned()) {
            throw e;
          }
        }
      }
    }

    private long[] run(SqlCall call, Connection on) throws SQLException {
      PreparedStatement statement = statements.get(call.sql());
      if (statement == null) {
        statement = on.prepareStatement(keepsStatements ? call.sql() : KeyScan.asNew(call.sql()));
        statements.put(call.sql(), statement);
      }
      synchronized (this) {
        current = call;
        running = statement;
      }
      try {
        return call.run(on, statement);
      } finally {
        synchronized (this) { // waits for a cancellation, which must not hit the next call
          current = null;
          running = null;
        }
        if (!keepsStatements) {
          statements.remove(call.sql());
          discard(statement);
        }
      }
    }

    /**
     * Stops using prepared statements if the failure shows that the session lacks the statement, as
     * behind a pooler that runs each call in a different session.
     */
    private boolean doWithoutPrepared(SQLException failure) throws SQLException {
      if (!dialect.fault(failure).isLostStatement()) {
        return false;
      }
      keepsStatements = false;
      for (PreparedStatement statement : statements.values()) {
        discard(statement);
      }
      statements.clear();
      return true;
    }

    /** Closes a statement so that the driver does not cache it. */
    private static void discard(PreparedStatement statement) throws SQLException {
      statement.setPoolable(false);
      statement.close();
    }

    private void cancelLater(SqlCall call) {
      try {
        context.timing().elsewhere(() -> cancel(call));
      } catch (Throwable e) {
        // No thread is available to cancel the statement, so the connection's time-out and the
        // functions' lock time-outs end the statement.
      }
    }

    private synchronized void cancel(SqlCall call) {
      PreparedStatement its = running;
      if (current == call && its != null) {
        try {
          its.cancel();
        } catch (SQLException e) {
          // If the database does not respond, the connection's time-out closes the connection.
        }
      }
    }

    private Connection connection() throws SQLException {
      int since = broken.get();
      // The event that broke another connection, such as a failover, can break this connection.
      if (open != null && since != brokenBefore) {
        checkIdle();
      }
      brokenBefore = since;
      Connection known = open;
      if (known != null) {
        return known;
      }
      Connection fresh = source.getConnection();
      try {
        committed = fresh.getAutoCommit();
        if (!committed) {
          fresh.setAutoCommit(true);
        }
        lentMillis = fresh.getNetworkTimeout();
        bound(fresh, OPEN_MILLIS);
        look(fresh);
        bound(fresh, 0);
      } catch (Throwable e) {
        close(fresh);
        throw e;
      }
      open = fresh;
      opened.incrementAndGet();
      return fresh;
    }

    /**
     * Sets the network time-out of a connection from the store's time-out, but to at least the
     * given time.
     */
    private void bound(Connection on, long leastMillis) throws SQLException {
      long millis = SILENT_TIMEOUTS * context.timeoutNanos() / 1_000_000 + 1;
      on.setNetworkTimeout(Runnable::run, (int) Math.max(millis, leastMillis));
    }

    private void checkIdle() throws SQLException {
      Connection idle = open;
      if (idle != null && !idle.isValid(VALID_SECONDS)) {
        leave();
      }
    }

    private void leave() {
      Connection left = open;
      open = null;
      if (left != null) {
        opened.decrementAndGet();
        close(left);
      }
      statements.clear();
    }

    private void close(Connection left) {
      try (left) {
        if (!left.isClosed()) {
          for (PreparedStatement statement : statements.values()) {
            statement.close();
          }
          if (!committed) {
            left.setAutoCommit(false);
          }
          left.setNetworkTimeout(Runnable::run, lentMillis);
        }
      } catch (SQLException e) {
        // The connection is broken, so its settings no longer matter.
      }
    }
  }

  /**
   * Returns the pause after a step that deleted full buckets. Because of the pauses, deleting full
   * buckets takes a twentieth of one connection's time, or up to half of it while the steps find
   * many full buckets, as when many new ids arrive.
   */
  static long pauseNanos(long tookNanos, int deleted) {
    long times = Math.min(Math.max(Cleaning.LOT / Math.max(deleted, 1), 1), Cleaning.SHARE);
    return times * Math.max(tookNanos, Cleaning.SHORTEST_NANOS);
  }

  /**
   * Deletes full buckets in small steps, in the order of the keys. Only one process at a time
   * deletes buckets. Not thread-safe.
   */
  private final class Cleaning {

    private static final int LOT = 1_000;
    private static final int SHARE = 20;
    private static final long SHORTEST_NANOS = 2_500_000;
    private static final long ROUND_NANOS = 60_000_000_000L;

    private byte[] after = new byte[0];
    private final SplittableRandom random = new SplittableRandom(nanoTime());
    private long due = nanoTime() + untilNextRound();
    private boolean logged; // whether a failure was logged since the last complete round

    private long untilNextRound() {
      return random.nextLong(ROUND_NANOS / 2, ROUND_NANOS);
    }

    long pause() {
      return Math.max(Math.min(due - nanoTime(), IDLE_NANOS), 0);
    }

    void clean(Connection on) throws SQLException {
      long start = nanoTime();
      due = start + ROUND_NANOS; // set first, in case cleaning fails
      SqlDialect.Cleaned cleaned = dialect.clean(on, after, LOT);
      byte[] last = cleaned.last;
      after = last == null ? new byte[0] : last;
      long end = nanoTime();
      due = end + (last == null ? untilNextRound() : pauseNanos(end - start, cleaned.deleted));
      if (last == null && logged) {
        logged = false;
        context.log().log(Level.INFO, "{0}: full buckets are deleted again", name);
      }
    }

    /** Lets the next round begin with the first key, so that only keys behind a failure stay. */
    void failed(SQLException failure) {
      after = new byte[0];
      if (!logged) {
        logged = true;
        context.log().log(
            Level.WARNING,
            "{0}: full buckets cannot be deleted, so the table grows: {1}",
            name,
            dialect.fault(failure).words());
      }
    }
  }
}
