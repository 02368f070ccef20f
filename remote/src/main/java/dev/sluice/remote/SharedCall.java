// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import dev.sluice.internal.async.Stages;
import dev.sluice.remote.RemoteCall.StayedException;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Observer.Result;
import dev.sluice.store.StoreException;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * One call to a server, with the requests that share the call.
 *
 * <p>Each request is a separate all-or-nothing batch with a separate result. The server can reject
 * a whole call because of one request (a key that the server's ACL forbids, a cluster slot that is
 * being moved). A rejected call has changed nothing, and each of its requests is sent again in a
 * separate call. A call occupies its slot in the queue until all its requests have ended, so that a
 * sweep finds the requests even after an exception.
 *
 * <p>While its connection is being opened, a call occupies its slot even if all its callers have
 * given up. The breaker thus learns whether a connection can be opened, and at most one call per
 * slot waits for a connection. Thread-safe; no method blocks.
 */
final class SharedCall {

  private static final long RETRY_NANOS = 10_000_000;

  private final int slot;
  private final List<Request> requests;
  private final int charges;
  private final RequestQueue queue;
  private final Endpoint server;
  private final Timing timing;
  private final Breaker breaker;
  private final String name; // a copy, since a Cluster's slot can move to another server
  private final long start;
  private final AtomicBoolean ended = new AtomicBoolean();
  private final AtomicReference<@Nullable String> firstOutage = new AtomicReference<>();
  private final Queue<Asked> underWay = new ConcurrentLinkedQueue<>();
  private volatile boolean abandoned;
  private volatile boolean refusedForAKey; // if true, the server is reachable

  /**
   * Creates a call that has not been sent yet.
   *
   * @param slot the index of the call in the queue's list of calls
   * @param requests the requests, at least one
   * @param charges the number of charges of all requests
   */
  SharedCall(RequestQueue queue, int slot, List<Request> requests, int charges) {
    this.queue = queue;
    this.server = queue.server();
    this.timing = queue.timing();
    this.breaker = server.breaker();
    this.name = breaker.server();
    this.start = timing.nanoTime();
    this.slot = slot;
    this.requests = requests;
    this.charges = charges;
  }

  /** A call to the server, and the requests that the call carries. */
  private record Asked(RemoteCall<?> call, List<Request> requests) {

    /** Prevents the call from being sent if all its callers have given up. */
    void keepIfLeft() {
      if (requests.stream().allMatch(Request::isDone)) {
        call.keepHere();
      }
    }
  }

  /** Returns whether a request must not reach the server before this call. */
  boolean mustStayBefore(Request next) {
    for (Request request : requests) {
      if (next.mustFollow(request)) {
        return true;
      }
    }
    return false;
  }

  void start() {
    requests.forEach(request -> request.goesWith(this)); // called after all fields are set
    RemoteCall<?> call = ask(requests);
    Stages.onEnd(
        call,
        (answer, failure) -> {
          if (answer != null) {
            answered(call);
          } else {
            try {
              failed(failure == null ? null : Stages.cause(failure));
            } finally {
              queue.drain();
            }
          }
        });
  }

  /**
   * Frees the slot of this call only after the callers are awake, so that callers that submit
   * another request at once share the next call.
   */
  private void answered(RemoteCall<?> call) {
    try {
      tell(Result.ANSWERED, null);
      answer(call, requests);
    } finally {
      new WakeUp(requests, this::leave).begin();
    }
  }

  private void leave() {
    free();
    queue.drain();
  }

  /** Frees the call's slot if all requests are done. The timer's sweep ends unfinished requests. */
  private void free() {
    for (Request request : requests) {
      if (!request.isDone()) {
        return;
      }
    }
    queue.free(slot, this);
  }

  private RemoteCall<?> ask(List<Request> some) {
    RemoteCall<?> call;
    try {
      call = callWith(some);
    } catch (Throwable e) { // a client's clock can throw
      return RemoteCall.failed(e);
    }
    Asked asked = new Asked(call, some);
    underWay.add(asked); // added before the check, so that abandon() finds this call
    if (abandoned) {
      call.abandon();
    }
    asked.keepIfLeft();
    try {
      call.send();
    } catch (Throwable e) { // an error such as a missing class
      call.notSent(e);
    }
    return call;
  }

  private RemoteCall<?> callWith(List<Request> some) {
    List<byte[]> keys = new ArrayList<>(charges);
    List<List<Charge>> batches = new ArrayList<>(some.size());
    for (Request request : some) {
      keys.addAll(request.keys);
      batches.add(request.charges);
    }
    return server.call(keys, batches);
  }

  private void answer(RemoteCall<?> call, List<Request> some) {
    int first = 0;
    for (Request request : some) {
      try {
        request.answer(call.readings(first, request.charges, name));
      } catch (StoreException e) {
        request.completeExceptionally(e);
      } catch (Throwable e) { // the response has an unknown form
        request.completeExceptionally(server.fault(e).exception(name));
      }
      first += request.charges.size();
    }
  }

  void failed(@Nullable Throwable failure) {
    if (failure instanceof StayedException) {
      stayed();
      return;
    }
    Fault fault = server.fault(failure);
    if (fault.wasNotBegun() && (fault.passes() || requests.size() > 1)) {
      refusedForAKey = true;
      apart();
      return;
    }
    failAll(fault);
  }

  /** Ends a call that was never sent, without a report to the breaker or the observer. */
  private void stayed() {
    // The thread that abandons a request also completes it.
    if (requests.stream().allMatch(Request::isDone)) {
      ended.set(true);
      free();
    }
  }

  private void failAll(Fault fault) {
    StoreException exception = fault.exception(name);
    end(Result.FAILED, fault.isOutage() ? fault.words() : null, exception);
  }

  /**
   * Sends each request in a separate call, in order, without waiting for the responses. Sends a
   * request again after a transient fault. A request that must not overtake another request waits
   * until that request has ended.
   */
  private void apart() {
    AtomicInteger left = new AtomicInteger(requests.size());
    for (int i = 0; i < requests.size(); i++) {
      Request request = requests.get(i);
      CompletableFuture<?>[] before = mustStayBefore(request, requests.subList(0, i));
      if (before.length == 0) {
        alone(request, left);
      } else {
        Stages.onEnd(CompletableFuture.allOf(before), (none, failure) -> alone(request, left));
      }
    }
  }

  private static CompletableFuture<?>[] mustStayBefore(Request next, List<Request> earlier) {
    return next.loosens()
        ? earlier.stream().filter(next::mustFollow).toArray(CompletableFuture[]::new)
        : new CompletableFuture<?>[0];
  }

  private void alone(Request request, AtomicInteger left) {
    StoreException refusal =
        request.isDone() ? null : server.refusal(request.keys, request.charges);
    if (refusal != null) {
      request.completeExceptionally(refusal);
    }
    if (request.isDone()) {
      settled(left, null);
      return;
    }
    RemoteCall<?> call = ask(List.of(request));
    Stages.onEnd(
        call,
        (answer, failure) -> {
          if (answer != null) {
            answer(call, List.of(request));
            request.wake(null);
            settled(left, null);
            return;
          }
          if (failure instanceof StayedException) {
            // If the call was abandoned, the abandoning thread completes the request.
            if (request.isDone()) {
              settled(left, null);
            }
            return;
          }
          Fault fault = server.fault(failure == null ? null : Stages.cause(failure));
          if (fault.passes()
              && !request.isLeftBy(timing.nanoTime() + RETRY_NANOS)
              && askAgainLater(request, left)) {
            return;
          }
          StoreException exception = fault.exception(name);
          request.completeExceptionally(exception);
          settled(left, fault.isOutage() ? fault.words() : null);
        });
  }

  /** Schedules a retry. Returns false if the retry could not be scheduled. */
  private boolean askAgainLater(Request request, AtomicInteger left) {
    try {
      queue.after(RETRY_NANOS, () -> alone(request, left));
      return true;
    } catch (Throwable e) {
      return false;
    }
  }

  /**
   * Counts a request that has ended, and records its outage if there is one. After the last
   * request, reports the first outage or a response, and frees the slot.
   */
  private void settled(AtomicInteger left, @Nullable String oneOutage) {
    if (oneOutage != null) {
      firstOutage.compareAndSet(null, oneOutage);
    }
    if (left.decrementAndGet() == 0) {
      String outage = firstOutage.get();
      try {
        tell(outage == null ? Result.ANSWERED : Result.FAILED, outage);
      } finally {
        leave();
      }
    }
  }

  /** If all callers of an unsent call have given up, the call is never sent. */
  void keepWhatIsLeft() {
    underWay.forEach(Asked::keepIfLeft);
  }

  void closed() {
    boolean neverSent = abandon();
    StoreException exception =
        ChargeOutcome.by(neverSent).exception(name + ": the store was closed");
    requests.forEach(request -> request.completeExceptionally(exception));
  }

  /**
   * Returns the first open request, or the last request if none is open, so that a sweep frees this
   * slot.
   */
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
      StoreException exception = timeOut(ChargeOutcome.UNKNOWN);
      overdue.forEach(request -> request.completeExceptionally(exception));
      keepWhatIsLeft();
      return;
    }
    boolean neverSent = abandon();
    // Cancelled requests are completed too, so that their buckets' remembered denials are cleared.
    end(Result.TIMED_OUT, "timed out", timeOut(ChargeOutcome.by(neverSent)));
  }

  /** Stops sending. Returns whether the server has certainly received nothing. */
  private boolean abandon() {
    abandoned = true; // set first, so that ask() sends nothing more
    boolean neverSent = true;
    for (Asked asked : underWay) {
      neverSent &= asked.call.abandon();
    }
    return neverSent;
  }

  private StoreException timeOut(ChargeOutcome charged) {
    return charged.exception("timed out on " + name + " while waiting for its response");
  }

  /** Reports the result, completes the requests, then frees the slot. */
  private void end(Result result, @Nullable String outage, StoreException exception) {
    try {
      tell(result, outage);
    } finally {
      try {
        requests.forEach(request -> request.completeExceptionally(exception));
      } finally {
        free();
      }
    }
  }

  /**
   * Reports the result of this call once, to the breaker and the observer. If the server rejected a
   * call because of one of its keys, and a later attempt timed out, the server counts as reachable:
   * moving a cluster slot can take longer than the callers' time-out.
   *
   * @param outage why the server is unreachable; null if the server responded, even with an error
   */
  private void tell(Result result, @Nullable String outage) {
    if (!ended.compareAndSet(false, true)) {
      return;
    }
    boolean wasThere = result == Result.TIMED_OUT && refusedForAKey;
    // If the cluster slot has moved to another server, it is unknown which server the call reached.
    if (server.breaker() == breaker) {
      if (outage == null || wasThere) {
        breaker.answered();
      } else {
        breaker.failed(outage, start);
      }
    }
    long elapsedNanos = timing.nanoTime() - start;
    if (result == Result.ANSWERED) {
      queue.answeredWithin(elapsedNanos);
    }
    queue.observer().called(name, result, requests.size(), charges, elapsedNanos);
  }
}
