package dev.sluice.redis;

import dev.sluice.redis.RedisObserver.Refusal;
import dev.sluice.redis.RedisObserver.Result;
import dev.sluice.store.Charge;
import dev.sluice.store.Reading;
import dev.sluice.store.StoreException;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/*
 * Coalescing.
 *
 *   callers ──▶ waiting ──▶ drain ──▶ call ──▶ server
 *                             ▲        │
 *                             └────────┘  a call that ends lets the next one leave
 *
 * A call of the script leaves whenever fewer than two are under way, with all that waits (up to a
 * bound): an idle caller waits for nobody, and a busy moment batches itself. No timer holds
 * anything back. Two calls and not one, so that the server works while an answer travels.
 *
 * Order. Requests leave in the order in which they came: there is one queue, and only one thread at
 * a time drains it (`wip` counts what arrives during that time). Two calls may still change places
 * on their way: a connection that is handed one by its own thread writes that one first. By the
 * server's clock nobody can tell, but for one case: a refund that arrives behind a reset (or behind
 * a debt that is forgiven) would give back what was spent after it. So a reset does not leave while
 * a call with a refund is under way. By a client's clock, the second would be decided on by an
 * earlier time than the first, and its denial would give tokens away (it takes a TAT beyond now + τ
 * for the work of a clock that stepped back). So by a client's clock one call is under way, and no
 * more (what goes apart leaves from one thread, in its order).
 *
 * Neighbours. Each request is its own all-or-nothing batch in the script and answered separately. A
 * call that the server refuses whole for the sake of one request (a key that its ACL forbids, a
 * slot that is just moving) was not begun, and is repeated request by request.
 *
 * Deadlines. All requests have the same time-out, so the oldest is due first: one timer a lane,
 * armed only while something is outstanding, ends what is overdue wherever it is. A call whose
 * requests are all done no longer counts as under way, answered or not, and is not sent any more if
 * it has not left yet.
 *
 * Errors. A missing class or a full heap may throw anywhere. The thread that drains must come to
 * the end of it, and a sweep must arm the next one, or no other ever would: what a call throws is
 * the failure of its requests, and what a sweep throws is left to the next sweep.
 *
 * Too late. A request whose deadline is nearer than a round trip would be charged for a caller that
 * has gone by then: it is ended without being sent.
 */

/** The queue in front of one server, or of one slot of a Cluster. Thread-safe, never blocking. */
final class Lane {

  static final String UNKNOWN = "whether anything was charged is unknown";
  static final String NOTHING = "nothing was charged";
  private static final long SWEEP_AT_LEAST_NANOS = 1_000_000;
  private static final long RETRY_NANOS = 10_000_000;
  private static final long MOST_ROUND_TRIP_NANOS = 50_000_000; // a slow moment is not the rule

  private final Server server;
  private final Options options;
  private final Timing timing;
  private final RedisObserver observer;

  private final Queue<Request> waiting = new ConcurrentLinkedQueue<>();
  private final AtomicInteger waitingCount;
  private final AtomicReferenceArray<@Nullable Call> calls;
  private final AtomicInteger wip = new AtomicInteger();
  private final AtomicReference<@Nullable Request> sweepFor = new AtomicReference<>();
  private volatile long roundTripNanos; // of the last call that was answered
  private volatile boolean closed;

  /**
   * A lane.
   *
   * @param waitingCount how many requests wait, which lanes may share, and the bound with it
   */
  Lane(
      Server server,
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
  }

  /**
   * What holds for all lanes of a store.
   *
   * @param clock the client's, null for the server's
   */
  record Options(int maxWaiting, int maxChargesPerCall, @Nullable ClientClock clock) {}

  /** Refuses, in place of a server that was given up. */
  void requireOpen() {
    server.breaker().requireAsked();
  }

  /** Sends a request when its turn comes. Refuses at once where the queue is full. */
  void submit(Request request) {
    Breaker breaker = server.breaker();
    try {
      breaker.requireAsked();
    } catch (StoreException e) {
      observer.refused(breaker.server(), Refusal.GIVEN_UP);
      request.completeExceptionally(e);
      return;
    }
    if (waitingCount.incrementAndGet() > options.maxWaiting) {
      waitingCount.decrementAndGet();
      observer.refused(server.name(), Refusal.QUEUE_FULL);
      request.completeExceptionally(
          new StoreException(
              "queue full: %s requests are waiting for %s; nothing was charged"
                  .formatted(options.maxWaiting, server.name())));
      return;
    }
    waiting.add(request);
    if (closed) {
      refuseWaiting();
      return;
    }
    try {
      armSweep(request);
      drain();
    } catch (Throwable e) { // no memory: without a timer nothing would end it
      if (waiting.remove(request)) {
        waitingCount.decrementAndGet();
      }
      boolean neverLeft = request.leave();
      request.completeExceptionally(
          new StoreException(
              "%s: %s; %s".formatted(server.name(), e, neverLeft ? NOTHING : UNKNOWN), e));
    }
  }

  /**
   * Returns whether nothing waits here or, where lanes share a bound, anywhere; and is under way.
   */
  boolean isIdle() {
    boolean idle = waiting.isEmpty() && waitingCount.get() == 0 && sweepFor.get() == null;
    for (int i = 0; i < calls.length(); i++) {
      idle &= calls.get(i) == null;
    }
    return idle;
  }

  /** Ends whatever is outstanding, now and from now on. */
  void close() {
    closed = true;
    for (int i = 0; i < calls.length(); i++) {
      Call call = calls.get(i);
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
          new StoreException(server.name() + ": the store was closed; " + NOTHING));
    }
  }

  private void drain() {
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
    return next != null && !closed && (!next.resets() || noRefundIsUnderWay());
  }

  private boolean noRefundIsUnderWay() {
    for (int i = 0; i < calls.length(); i++) {
      Call call = calls.get(i);
      if (call != null && call.refunds()) {
        return false;
      }
    }
    return true;
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
    int charges = 0;
    for (Request next = waiting.peek(); next != null; next = waiting.peek()) {
      boolean isFull = charges > 0 && charges + next.charges.size() > options.maxChargesPerCall;
      if (isFull || !mayLeave(next)) {
        break;
      }
      if (!waiting.remove(next)) {
        continue; // overdue, and swept away this moment
      }
      waitingCount.decrementAndGet();
      if (!next.isDone() && next.leave()) { // its caller may have given up
        if (next.overdue(timing.nanoTime() + roundTripNanos)) {
          observer.refused(server.name(), Refusal.WAITED_TOO_LONG);
          next.completeExceptionally(timeOutWhileWaiting());
          continue;
        }
        requests.add(next);
        charges += next.charges.size();
      }
    }
    if (requests.isEmpty()) {
      return;
    }
    Call call = new Call(slot, requests, charges);
    calls.set(slot, call);
    try {
      armSweep(requests.get(0)); // a sweep at this moment may have found it nowhere
      if (closed) {
        call.closed();
      } else {
        call.start();
      }
    } catch (Throwable e) {
      call.failed(e);
    }
  }

  /** Sees to a sweep when a request is due, where none comes by then. */
  private void armSweep(Request due) {
    Request armed = sweepFor.get();
    while (armed == null || armed.deadline - due.deadline > SWEEP_AT_LEAST_NANOS) {
      if (sweepFor.compareAndSet(armed, due)) {
        long nanos = Math.max(due.deadline - timing.nanoTime(), SWEEP_AT_LEAST_NANOS);
        after(nanos, () -> sweep(due));
        return;
      }
      armed = sweepFor.get();
    }
  }

  private void after(long nanos, Runnable task) {
    try {
      timing.after(nanos, task);
    } catch (RejectedExecutionException e) {
      close(); // the store was closed in between
    }
  }

  /** Ends what is overdue, and comes again for the next that will be. */
  private void sweep(Request due) {
    if (sweepFor.get() != due) {
      return; // an earlier one took its place
    }
    try {
      endOverdue(timing.nanoTime());
    } finally {
      sweepFor.compareAndSet(due, null);
      Request oldest = oldest();
      if (oldest != null) {
        armSweep(oldest);
      }
      drain();
    }
  }

  private void endOverdue(long now) {
    for (int i = 0; i < calls.length(); i++) {
      Call call = calls.get(i);
      if (call != null) {
        call.endOverdue(now);
      }
    }
    StoreException timeOut = null; // one for all: thousands may be due at once
    for (Request next = waiting.peek(); next != null && next.overdue(now); next = waiting.peek()) {
      if (waiting.remove(next)) {
        waitingCount.decrementAndGet();
        observer.refused(server.name(), Refusal.WAITED_TOO_LONG);
        timeOut = timeOut == null ? timeOutWhileWaiting() : timeOut;
        if (next.leave()) {
          next.completeExceptionally(timeOut);
        }
      }
    }
  }

  private @Nullable Request oldest() {
    Request oldest = waiting.peek();
    for (int i = 0; i < calls.length(); i++) {
      Call call = calls.get(i);
      Request first = call == null ? null : call.nextDue();
      if (first != null && (oldest == null || first.deadline - oldest.deadline < 0)) {
        oldest = first;
      }
    }
    return oldest;
  }

  private StoreException timeOutWhileWaiting() {
    return timeOut(server.name(), "while waiting for its turn; " + NOTHING);
  }

  private static StoreException timeOut(String name, String where) {
    return new StoreException("timed out on " + name + " " + where);
  }

  /** One call of the script, with the requests that share it. */
  private final class Call {
    private final int slot;
    private final List<Request> requests;
    private final int charges;
    private final Breaker breaker = server.breaker();
    private final String name = breaker.server(); // a slot may get another server in between
    private final long start = timing.nanoTime();
    private final AtomicBoolean ended = new AtomicBoolean();
    private final AtomicReference<@Nullable String> firstOutage = new AtomicReference<>();
    private final Queue<ScriptCall> underWay = new ConcurrentLinkedQueue<>();

    Call(int slot, List<Request> requests, int charges) {
      this.slot = slot;
      this.requests = requests;
      this.charges = charges;
    }

    boolean refunds() {
      return requests.stream().anyMatch(Request::refunds);
    }

    void start() {
      var unused =
          ask(requests)
              .whenComplete(
                  (answer, failure) -> {
                    if (answer != null) {
                      end(null);
                      answer(answer, requests);
                    } else {
                      failed(Link.cause(failure));
                    }
                    drain();
                  });
    }

    private ScriptCall ask(List<Request> some) {
      ScriptCall call;
      try {
        call = send(some);
      } catch (Throwable e) { // a client's clock may throw, and a class may be missing
        call = ScriptCall.failed(e);
      }
      underWay.add(call);
      if (ended.get()) {
        var unused = call.abandon();
      }
      return call;
    }

    private ScriptCall send(List<Request> some) {
      List<byte[]> keys = new ArrayList<>(charges);
      List<List<Charge>> batches = new ArrayList<>(some.size());
      for (Request request : some) {
        keys.addAll(request.keys);
        batches.add(request.charges);
      }
      byte[] argument = ChargeScript.argument(options.clock, batches);
      return server.call(keys.toArray(new byte[0][]), argument);
    }

    private void answer(List<Object> answer, List<Request> some) {
      int first = 0;
      for (Request request : some) {
        try {
          List<Reading> readings = ChargeScript.readings(answer, first, request.charges, name);
          request.answer(readings);
        } catch (ChargeScript.Refusal e) {
          if (e.byReplica()) {
            server.renew();
          }
          request.completeExceptionally(e);
        } catch (StoreException e) {
          request.completeExceptionally(e);
        } catch (Throwable e) { // no answer of our script
          request.completeExceptionally(ServerFault.of(e).exception(name));
        }
        first += request.charges.size();
      }
    }

    private void failed(@Nullable Throwable failure) {
      ServerFault fault = ServerFault.of(failure);
      if (fault.wasNotBegun() && (fault.passes() || requests.size() > 1)) {
        apart();
        return;
      }
      failAll(fault);
    }

    private void failAll(ServerFault fault) {
      StoreException exception = fault.exception(name);
      end(Result.FAILED, fault.isOutage() ? fault.words() : null);
      requests.forEach(request -> request.completeExceptionally(exception));
    }

    /**
     * Asks for each request alone, all of them at once and in their order; again where the fault is
     * transient.
     */
    private void apart() {
      AtomicInteger left = new AtomicInteger(requests.size());
      for (Request request : requests) {
        alone(request, left);
      }
    }

    private void alone(Request request, AtomicInteger left) {
      if (request.isDone()) {
        settled(left, null);
        return;
      }
      var unused =
          ask(List.of(request))
              .whenComplete(
                  (answer, failure) -> {
                    if (answer != null) {
                      answer(answer, List.of(request));
                      settled(left, null);
                      return;
                    }
                    ServerFault fault = ServerFault.of(Link.cause(failure));
                    if (fault.passes() && !request.overdue(timing.nanoTime() + RETRY_NANOS)) {
                      after(RETRY_NANOS, () -> alone(request, left));
                      return;
                    }
                    StoreException exception = fault.exception(name);
                    request.completeExceptionally(exception);
                    settled(left, fault.isOutage() ? fault.words() : null);
                  });
    }

    /** The last request ends the call, and not the first outage: others may still be asked for. */
    private void settled(AtomicInteger left, @Nullable String outage) {
      if (outage != null) {
        firstOutage.compareAndSet(null, outage);
      }
      if (left.decrementAndGet() == 0) {
        end(firstOutage.get());
        drain();
      }
    }

    void closed() {
      boolean neverSent = abandon();
      StoreException exception =
          new StoreException(
              "%s: the store was closed; %s".formatted(name, neverSent ? NOTHING : UNKNOWN));
      requests.forEach(request -> request.completeExceptionally(exception));
    }

    /** The first that is open, else the last: then what holds this place must go. */
    Request nextDue() {
      for (Request request : requests) {
        if (!request.isDone()) {
          return request;
        }
      }
      return requests.get(requests.size() - 1);
    }

    void endOverdue(long now) {
      List<Request> overdue =
          requests.stream().filter(request -> !request.isDone() && request.overdue(now)).toList();
      if (overdue.isEmpty() && !requests.get(0).overdue(now)) {
        return;
      }
      if (requests.stream().anyMatch(request -> !request.isDone() && !request.overdue(now))) {
        endAll(overdue, UNKNOWN);
        return;
      }
      boolean neverSent = abandon();
      end(Result.TIMED_OUT, "timed out"); // before anybody calls again
      endAll(overdue, neverSent ? NOTHING : UNKNOWN);
    }

    /** Whether the server has certainly seen nothing of it. */
    private boolean abandon() {
      boolean neverSent = true;
      for (ScriptCall call : underWay) {
        neverSent &= call.abandon();
      }
      return neverSent;
    }

    private void endAll(List<Request> overdue, String charged) {
      if (overdue.isEmpty()) {
        return;
      }
      StoreException timeOut = timeOut(name, "while waiting for its answer; " + charged);
      overdue.forEach(request -> request.completeExceptionally(timeOut));
    }

    private void end(@Nullable String outage) {
      end(outage == null ? Result.ANSWERED : Result.FAILED, outage);
    }

    /**
     * Once: frees the place of this call, and tells what became of it.
     *
     * @param outage why the server is not there, null where it is, whatever it said
     */
    private void end(Result result, @Nullable String outage) {
      if (!ended.compareAndSet(false, true)) {
        return;
      }
      calls.compareAndSet(slot, this, null);
      if (server.breaker() == breaker) { // else nobody knows which of the two it was
        if (outage == null) {
          breaker.answered();
        } else {
          breaker.failed(outage, start);
        }
      }
      if (result == Result.ANSWERED) {
        roundTripNanos = Math.min(timing.nanoTime() - start, MOST_ROUND_TRIP_NANOS);
      }
      observer.called(name, result, requests.size(), charges, timing.nanoTime() - start);
    }
  }
}
