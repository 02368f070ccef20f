// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.redis.RedisObserver.Refusal;
import dev.sluice.store.StoreException;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/*
 * Coalescing.
 *
 *   callers ──▶ waiting ──▶ drain ──▶ call ──▶ server
 *                             ▲        │
 *                             └────────┘  a call that ends lets the next one leave,
 *                                         when its callers are awake (WakeUp)
 *
 * A call of the script leaves whenever fewer than two are in flight, with all that waits (up to a
 * bound). So an idle caller waits for nobody, and a busy moment batches itself. No timer holds
 * anything back. Two calls and not one, so that the server works while an answer travels.
 *
 * Order. Requests leave in the order in which they came: there is one queue, and only one thread at
 * a time drains it (`wip` counts what arrives during that time). Two calls may still overtake each
 * other: a connection that is handed one by its own thread writes that one first. By the server's
 * clock nobody can tell, but for charges that give tokens back. A refund that arrives behind a
 * reset (or behind a debt that is forgiven) would give back what was spent after it. A withdrawal
 * goes by the TAT alone. Behind a refund or a reset it may find the one that it expects by chance,
 * and would give back what others spent. So a request does not leave while a call with one is under
 * way that it must not overtake. By a client's clock, the call that arrives second would be decided
 * on by an earlier time than the first. Its denial would give tokens away, as it takes a TAT beyond
 * now + τ for the work of a clock that stepped back. So by a client's clock, only one call is in
 * flight (what goes apart leaves from one thread, in its order).
 *
 * Errors. A missing class or a full heap may throw anywhere. The thread that drains must finish the
 * drain, and a sweep must arm the next one, or no other ever would. So what a call throws is the
 * failure of its requests, and what a sweep throws is left to the next sweep. A sweep finds a
 * request only in the queue, or in a call that has its place. So a request that leaves the queue is
 * in a call at once, or fails. A call keeps its place until all its requests have ended.
 *
 * Giving up. A call whose callers have all gone before it left is not sent. It keeps its place
 * until its connection is made or has failed, or until its time-out. So the breaker hears what
 * became of the connection, and no more calls wait for it than there are places. Those behind lose
 * nothing: they wait for the same connection, and leave as soon as it is there.
 *
 * Too late. A request whose deadline is nearer than a round trip would be charged for a caller that
 * has gone by then: it is ended without being sent. How long a round trip takes is known only from
 * the last answer, which may have been a slow one, and only another answer corrects it. So requests
 * must go on leaving. The estimate is a quarter of the time-out at most: one that has its whole
 * time-out leaves. Where all come late in theirs, the estimate is forgotten once those that wait
 * together are refused by it: the next one leaves.
 */

/** The queue in front of one server, or of one slot of a Cluster. Thread-safe, never blocking. */
final class Lane {

  private static final long MOST_ROUND_TRIP_NANOS = 50_000_000; // a slow moment is not the rule
  private static final int LEAST_ROUND_TRIPS = 4; // within a time-out

  private final Endpoint server;
  private final Options options;
  private final Timing timing;
  private final RedisObserver observer;

  private final Queue<Request> waiting = new ConcurrentLinkedQueue<>();
  private final AtomicInteger waitingCount;
  private final AtomicReferenceArray<@Nullable SharedCall> calls;
  private final AtomicInteger wip = new AtomicInteger();
  private final Deadlines deadlines;
  private volatile long roundTripNanos; // of the last call that was answered; 0 if forgotten
  private volatile boolean closed;

  /**
   * A lane.
   *
   * @param waitingCount how many requests wait, which lanes may share, and the bound with it
   */
  Lane(
      Endpoint server,
      Options options,
      AtomicInteger waitingCount,
      Timing timing,
      RedisObserver observer) {
    this.server = server;
    this.options = options;
    this.calls = new AtomicReferenceArray<>(options.clock == null ? 2 : 1);
    this.waitingCount = waitingCount;
    this.timing = timing;
    this.observer = observer;
    this.deadlines = new Deadlines(timing, new OpenRequests());
  }

  /**
   * The settings of all lanes of a store.
   *
   * @param timeoutNanos how long a call may take, from the question to its end
   * @param clock the client's, null for the server's
   */
  record Options(
      int maxWaiting, int maxChargesPerCall, long timeoutNanos, @Nullable ClientClock clock) {}

  /** Refuses, in place of a server that is marked down. */
  void requireOpen() {
    server.breaker().requireUp();
  }

  /** Sends a request when its turn comes. Refuses at once where the queue is full. */
  void submit(Request request) {
    Breaker breaker = server.breaker();
    try {
      breaker.requireUp();
    } catch (StoreException e) {
      observer.refused(breaker.server(), Refusal.DOWN);
      request.completeExceptionally(e);
      return;
    }
    if (waitingCount.incrementAndGet() > options.maxWaiting) {
      waitingCount.decrementAndGet();
      observer.refused(server.name(), Refusal.QUEUE_FULL);
      request.completeExceptionally(
          Charged.NOTHING.exception(
              "queue full: %s requests are waiting for %s"
                  .formatted(options.maxWaiting, server.name())));
      return;
    }
    try {
      waiting.add(request);
    } catch (Throwable e) { // no memory
      waitingCount.decrementAndGet();
      throw e;
    }
    if (closed) {
      refuseWaiting();
      return;
    }
    try {
      deadlines.arm(request);
      drain();
    } catch (Throwable e) { // no memory: without a timer nothing would end it
      if (waiting.remove(request)) {
        waitingCount.decrementAndGet();
      }
      boolean neverLeft = request.leave();
      request.completeExceptionally(Charged.by(neverLeft).exception(server.name() + ": " + e, e));
    }
  }

  /**
   * Returns whether nothing waits here or, where lanes share a bound, anywhere; and is under way.
   */
  boolean isIdle() {
    boolean idle = waiting.isEmpty() && waitingCount.get() == 0 && !deadlines.isArmed();
    for (int i = 0; i < calls.length(); i++) {
      idle &= calls.get(i) == null;
    }
    return idle;
  }

  /** Ends whatever is outstanding, now and from now on. */
  void close() {
    closed = true;
    for (int i = 0; i < calls.length(); i++) {
      SharedCall call = calls.get(i);
      if (call != null) {
        call.closed();
      }
    }
    refuseWaiting();
  }

  private void refuseWaiting() {
    for (Request next = waiting.poll(); next != null; next = waiting.poll()) {
      waitingCount.decrementAndGet();
      next.completeExceptionally(
          Charged.NOTHING.exception(server.name() + ": the store was closed"));
    }
  }

  void drain() {
    if (wip.getAndIncrement() != 0) {
      return; // the draining thread sees it
    }
    int missed = 1;
    do {
      try {
        for (int slot = freeSlot(); slot >= 0 && mayLeave(waiting.peek()); slot = freeSlot()) {
          send(slot);
        }
      } catch (Throwable e) {
        // Its requests have failed, or a sweep ends them; the next drain goes on.
      }
      missed = wip.addAndGet(-missed);
    } while (missed != 0);
  }

  private boolean mayLeave(@Nullable Request next) {
    return next != null && !closed && !wouldOvertake(next);
  }

  private boolean wouldOvertake(Request next) {
    if (!next.loosens()) {
      return false;
    }
    for (int i = 0; i < calls.length(); i++) {
      SharedCall call = calls.get(i);
      if (call != null && call.mustStayBefore(next)) {
        return true;
      }
    }
    return false;
  }

  private int freeSlot() {
    for (int i = 0; i < calls.length(); i++) {
      if (calls.get(i) == null) {
        return i;
      }
    }
    return -1;
  }

  private void send(int slot) {
    List<Request> requests = new ArrayList<>();
    SharedCall call;
    try {
      int charges = take(requests);
      if (requests.isEmpty()) {
        return;
      }
      call = new SharedCall(this, slot, requests, charges);
    } catch (Throwable e) { // no sweep would find them
      StoreException exception = Charged.NOTHING.exception(server.name() + ": " + e, e);
      requests.forEach(request -> request.completeExceptionally(exception));
      throw e;
    }
    calls.set(slot, call);
    try {
      deadlines.arm(requests.get(0)); // a sweep at this moment may have found it nowhere
      if (closed) {
        call.closed();
      } else {
        call.start();
      }
    } catch (Throwable e) {
      call.failed(e);
    }
  }

  /**
   * Takes what may leave together out of the queue.
   *
   * @param requests gets them
   * @return how many charges they have
   */
  private int take(List<Request> requests) {
    int charges = 0;
    long estimateNanos = roundTripNanos; // the same for all
    boolean refusedByEstimate = false;
    StoreException tooLate = null; // one for all: thousands may be due at once
    for (Request next = waiting.peek(); next != null; next = waiting.peek()) {
      boolean isFull = charges > 0 && charges + next.charges.size() > options.maxChargesPerCall;
      if (isFull || !mayLeave(next)) {
        break;
      }
      requests.add(next); // first: it is in the queue or here, whatever is thrown
      if (!waiting.remove(next)) {
        requests.remove(requests.size() - 1);
        continue; // overdue, and swept away this moment
      }
      waitingCount.decrementAndGet();
      if (!next.isDone() && next.leave()) { // its caller may have given up
        long now = timing.nanoTime();
        if (!next.isLeftBy(now + estimateNanos)) {
          charges += next.charges.size();
          continue;
        }
        refusedByEstimate |= !next.isLeftBy(now);
        observer.refused(server.name(), Refusal.WAITED_TOO_LONG);
        tooLate = tooLate == null ? timeOutWhileWaiting() : tooLate;
        next.completeExceptionally(tooLate);
      }
      requests.remove(requests.size() - 1);
    }
    if (refusedByEstimate && requests.isEmpty()) {
      roundTripNanos = 0; // racy, benign because an answer that comes now is followed by others
    }
    return charges;
  }

  /** Runs a task later, unless the store is closed by then, which closes this lane. */
  void after(long nanos, Runnable task) {
    try {
      timing.after(nanos, task);
    } catch (RejectedExecutionException e) {
      close(); // the store was closed in between
    }
  }

  private StoreException timeOutWhileWaiting() {
    return Charged.NOTHING.exception(
        "timed out on " + server.name() + " while waiting for its turn");
  }

  Endpoint server() {
    return server;
  }

  Timing timing() {
    return timing;
  }

  RedisObserver observer() {
    return observer;
  }

  /** Returns the client's clock, null for the server's. */
  @Nullable ClientClock clock() {
    return options.clock;
  }

  /** Frees the place of a call that has ended. */
  void free(int slot, SharedCall call) {
    calls.compareAndSet(slot, call, null);
  }

  /** Learns how long an answer takes. */
  void answeredWithin(long nanos) {
    long mostNanos = Math.min(MOST_ROUND_TRIP_NANOS, options.timeoutNanos / LEAST_ROUND_TRIPS);
    roundTripNanos = Math.min(nanos, mostNanos);
  }

  /** The requests that wait here or are under way. */
  private final class OpenRequests implements Deadlines.Requests {

    @Override
    public void end(long now) {
      for (int i = 0; i < calls.length(); i++) {
        SharedCall call = calls.get(i);
        if (call != null) {
          call.endOverdue(now);
        }
      }
      StoreException timeOut = null; // one for all: thousands may be due at once
      for (Request next = waiting.peek();
          next != null && next.overdue(now);
          next = waiting.peek()) {
        timeOut = timeOut == null ? timeOutWhileWaiting() : timeOut;
        if (waiting.remove(next)) {
          waitingCount.decrementAndGet();
          observer.refused(server.name(), Refusal.WAITED_TOO_LONG);
          if (next.leave()) {
            next.completeExceptionally(timeOut);
          }
        }
      }
    }

    @Override
    public @Nullable Request oldest() {
      Request oldest = waiting.peek();
      for (int i = 0; i < calls.length(); i++) {
        SharedCall call = calls.get(i);
        Request first = call == null ? null : call.nextDue();
        if (first != null && (oldest == null || first.deadline - oldest.deadline < 0)) {
          oldest = first;
        }
      }
      return oldest;
    }

    @Override
    public void swept() {
      drain();
    }

    @Override
    public void after(long nanos, Runnable task) {
      Lane.this.after(nanos, task);
    }
  }
}
