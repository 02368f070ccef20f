// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Observer.Refusal;
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
 *                             └────────┘  when a call has ended and its callers
 *                                         are awake (WakeUp), the next call is sent
 *
 * While fewer than Options.maxCalls calls are in flight (two on Redis), a call is sent with all
 * waiting requests, up to a bound. An idle queue therefore sends a request at once, and a busy
 * queue sends large calls. No timer delays a request. With two calls in flight, the server runs one
 * call while the response to the other call travels.
 *
 * Order. Requests are sent in order of arrival: there is one queue, and one thread at a time drains
 * the queue (`wip` counts requests that arrive then). Two calls can still overtake each other:
 * a connection writes a call first that the connection's own thread has submitted. Calls on two
 * connections can arrive in any order. With the server's clock, the order matters only for charges
 * that refund tokens. A refund that arrives after a reset (or after a forgiven debt) would refund
 * tokens that were spent later. A withdrawal checks only the TAT: after a refund or a reset, a
 * withdrawal can find the expected TAT by chance, and refund tokens that other callers spent. The
 * queue therefore holds a request back while a call is in flight that the request must not
 * overtake. With a client's clock, the call that arrives second could carry an earlier time than
 * the first call. The server would treat a TAT beyond now + τ as the result of a clock step, and
 * forgive the debt. With a client's clock, only one call is therefore in flight (one thread sends
 * separate calls in order).
 *
 * Errors. A missing class or a full heap can throw anywhere. Only the draining thread can finish a
 * drain, and only a sweep schedules the next sweep. An exception of a call therefore fails the
 * call's requests, and after an exception in a sweep the next sweep continues. A sweep finds a
 * request only in the queue or in a call that occupies a slot. A request that leaves the queue is
 * therefore put into a call at once, or fails. A call occupies its slot until all its requests have
 * ended.
 *
 * Giving up. If all callers of a call have given up before the call was sent, the call is not sent.
 * The call still occupies its slot until its connection is open or has failed, or until its
 * time-out. As a result, the breaker learns whether a connection can be opened, and at most one
 * call per slot waits for the connection. The occupied slot does not delay later requests, which
 * wait for the same connection.
 *
 * Too late. If the deadline of a request is nearer than a round trip, the request fails without
 * being sent, since it would be charged after its caller has timed out. The estimate of a round
 * trip is the duration of the last call with a response. If that call was slow, the estimate is too
 * long until another call has a response, so some requests must always be sent. The estimate is at
 * most a quarter of the time-out, so a request with its whole time-out left is always sent. If the
 * estimate rejects all waiting requests, the estimate is reset, and the next request is sent.
 */

/**
 * The queue of requests to one server, or to one slot of a Cluster, where a call can only use keys
 * of one slot. Thread-safe; never blocks.
 */
public final class RequestQueue {

  // The upper bound of the round-trip estimate, so that one slow call does not raise it too far.
  private static final long MOST_ROUND_TRIP_NANOS = 50_000_000;
  // The round-trip estimate is at most the time-out divided by this number.
  private static final int LEAST_ROUND_TRIPS = 4;

  private final Endpoint server;
  private final Options options;
  private final Timing timing;
  private final BucketStore.Observer observer;

  private final Queue<Request> waiting = new ConcurrentLinkedQueue<>();
  private final AtomicInteger waitingCount;
  private final AtomicReferenceArray<@Nullable SharedCall> calls;
  private final AtomicInteger wip = new AtomicInteger();
  private final Deadlines deadlines;
  private volatile long roundTripNanos; // duration of the last call with a response; 0 if reset
  private volatile boolean closed;

  /**
   * Creates a queue.
   *
   * @param waitingCount counts the waiting requests; queues with the same counter share one bound
   */
  public RequestQueue(
      Endpoint server,
      Options options,
      AtomicInteger waitingCount,
      Timing timing,
      BucketStore.Observer observer) {
    this.server = server;
    this.options = options;
    this.calls = new AtomicReferenceArray<>(options.maxCalls);
    this.waitingCount = waitingCount;
    this.timing = timing;
    this.observer = observer;
    this.deadlines = new Deadlines(timing, new OpenRequests());
  }

  /**
   * The settings of all queues of a store.
   *
   * @param maxCalls the largest number of calls in flight; 1 with a client's clock
   * @param timeoutNanos the time-out of a call, from the caller's request to the response
   */
  public record Options(int maxWaiting, int maxCalls, int maxChargesPerCall, long timeoutNanos) {}

  /** Throws if the server is marked down, and reports this to the observer. */
  void requireUp() {
    Breaker breaker = server.breaker();
    try {
      breaker.requireUp();
    } catch (StoreException e) {
      observer.refused(breaker.server(), Refusal.DOWN);
      throw e;
    }
  }

  /** Adds a request, to be sent in its turn. Fails the request at once if the queue is full. */
  public void submit(Request request) {
    try {
      requireUp();
    } catch (StoreException e) {
      request.completeExceptionally(e);
      return;
    }
    if (waitingCount.incrementAndGet() > options.maxWaiting) {
      waitingCount.decrementAndGet();
      observer.refused(server.name(), Refusal.QUEUE_FULL);
      request.completeExceptionally(
          ChargeOutcome.NOTHING.exception(
              "queue full: %s requests are waiting for %s"
                  .formatted(options.maxWaiting, server.name())));
      return;
    }
    try {
      waiting.add(request);
    } catch (Throwable e) { // out of memory
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
    } catch (Throwable e) { // no memory for a timer, so the request would never time out
      if (waiting.remove(request)) {
        waitingCount.decrementAndGet();
      }
      boolean neverLeft = request.leave();
      request.completeExceptionally(
          ChargeOutcome.by(neverLeft).exception(server.name() + ": " + e, e));
    }
  }

  /**
   * Returns whether no request waits in this queue or in queues with the same counter, and no call
   * is in flight.
   */
  public boolean isIdle() {
    boolean idle = waiting.isEmpty() && waitingCount.get() == 0 && !deadlines.isArmed();
    for (int i = 0; i < calls.length(); i++) {
      idle &= calls.get(i) == null;
    }
    return idle;
  }

  /** Fails all outstanding requests and all later requests. */
  public void close() {
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
          ChargeOutcome.NOTHING.exception(server.name() + ": the store was closed"));
    }
  }

  void drain() {
    if (wip.getAndIncrement() != 0) {
      return; // the draining thread also handles this request
    }
    int missed = 1;
    do {
      try {
        for (int slot = freeSlot(); slot >= 0 && mayLeave(waiting.peek()); slot = freeSlot()) {
          send(slot);
        }
      } catch (Throwable e) {
        // The call's requests have failed or will time out. The next drain() sends the requests
        // that still wait in the queue.
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
    } catch (Throwable e) { // requests that are neither in the queue nor in a call would never end
      StoreException exception = ChargeOutcome.NOTHING.exception(server.name() + ": " + e, e);
      requests.forEach(request -> request.completeExceptionally(exception));
      throw e;
    }
    calls.set(slot, call);
    try {
      // A new sweep is needed: a timer that fired during this method found the requests neither in
      // the queue nor in a slot.
      deadlines.arm(requests.get(0));
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
   * Takes from the queue the requests that can share the next call.
   *
   * @param requests receives the requests
   * @return the number of charges of the requests that were taken from the queue
   */
  private int take(List<Request> requests) {
    int charges = 0;
    long estimateNanos = roundTripNanos; // one estimate for all requests
    boolean refusedByEstimate = false;
    // Thousands of requests can be too late at once, so all of them share one exception object.
    StoreException tooLate = null;
    for (Request next = waiting.peek(); next != null; next = waiting.peek()) {
      boolean isFull = charges > 0 && charges + next.charges.size() > options.maxChargesPerCall;
      if (isFull || !mayLeave(next)) {
        break;
      }
      // A request joins a call before it leaves the queue, so that no exception loses the request.
      requests.add(next);
      if (!waiting.remove(next)) {
        requests.remove(requests.size() - 1);
        continue; // a sweep has just removed the overdue request
      }
      waitingCount.decrementAndGet();
      if (!next.isDone() && next.leave()) { // false if the caller has given up
        long now = timing.nanoTime();
        StoreException failure;
        if (next.isLeftBy(now + estimateNanos)) {
          refusedByEstimate |= !next.isLeftBy(now);
          observer.refused(server.name(), Refusal.WAITED_TOO_LONG);
          tooLate = tooLate == null ? timeOutWhileWaiting() : tooLate;
          failure = tooLate;
        } else {
          failure = server.refusal(next.keys, next.charges);
        }
        if (failure == null) {
          charges += next.charges.size();
          continue;
        }
        next.completeExceptionally(failure);
      }
      requests.remove(requests.size() - 1);
    }
    if (refusedByEstimate && requests.isEmpty()) {
      roundTripNanos = 0; // racy, benign since a later response sets the value again
    }
    return charges;
  }

  /** Runs a task after a delay. If the store was closed, closes this queue and drops the task. */
  void after(long nanos, Runnable task) {
    try {
      timing.after(nanos, task);
    } catch (RejectedExecutionException e) {
      close(); // the store was closed meanwhile
    }
  }

  private StoreException timeOutWhileWaiting() {
    return ChargeOutcome.NOTHING.exception(
        "timed out on " + server.name() + " while the request waited in the queue");
  }

  public Endpoint server() {
    return server;
  }

  Timing timing() {
    return timing;
  }

  BucketStore.Observer observer() {
    return observer;
  }

  void free(int slot, SharedCall call) {
    calls.compareAndSet(slot, call, null);
  }

  /** Updates the estimate of a round trip. */
  public void answeredWithin(long nanos) {
    long mostNanos = Math.min(MOST_ROUND_TRIP_NANOS, options.timeoutNanos / LEAST_ROUND_TRIPS);
    roundTripNanos = Math.min(nanos, mostNanos);
  }

  /** The requests that wait in the queue or are in flight. */
  private final class OpenRequests implements Deadlines.Requests {

    @Override
    public void end(long now) {
      for (int i = 0; i < calls.length(); i++) {
        SharedCall call = calls.get(i);
        if (call != null) {
          call.endOverdue(now);
        }
      }
      // Thousands of requests can be overdue at once, so all of them share one exception object.
      StoreException timeOut = null;
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
      RequestQueue.this.after(nanos, task);
    }
  }
}
