// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.internal.async.Stages;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.BucketStore.Tentative;
import dev.sluice.store.StoreException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A store on one or several servers. Converts batches to requests, repeats remembered denials, and
 * waits for responses.
 *
 * <p>Every charge ends at the latest after the time-out. Actions chained to a future of {@link
 * #chargeAsync} run on threads that are allowed to block. Thread-safe. {@link #charge} and {@link
 * #ping} block for a round trip, and throw on the store's own threads, where they would deadlock.
 * {@link #chargeAsync} never blocks.
 */
public final class RemoteStore implements BucketStore {

  private static final int LATE = 25; // a deadline is missed by at most 1/25 of the time-out
  // Requests in the warm-up: two requests are sent, the third request stays in the queue.
  private static final int REHEARSED = 3;
  // The time-out of the warm-up requests, long enough to send two of them.
  private static final long REHEARSED_NANOS = 5_000_000;

  private final String name;
  private final Topology topology;
  private final StoreContext context;
  private final DenialMemory denials;
  private final Runnable release;
  private final CallbackExecutor callbacks;
  private final Map<Long, CompletableFuture<?>> mustArrive = new ConcurrentHashMap<>();
  private final AtomicLong arrivals = new AtomicLong();
  private volatile boolean closed;

  /**
   * Creates a store.
   *
   * @param name the store's address without a password, for messages
   * @param release a task that runs after the store and its connections were closed
   */
  public RemoteStore(String name, Topology topology, StoreContext context, Runnable release) {
    this.name = name;
    this.topology = topology;
    this.context = context;
    this.denials = context.denials();
    this.release = release;
    this.callbacks = new CallbackExecutor(context.timing());
  }

  /**
   * Connects and makes one call, since the first call of a JVM can take longer than a caller's
   * time-out. Never fails. If a server is unreachable, later charges fail, and the callers' failure
   * rules decide.
   *
   * @return whether every server responded
   */
  @CanIgnoreReturnValue
  public boolean warmUp(long nanos) {
    return awaited(() -> topology.probe().toCompletableFuture(), nanos);
  }

  /** Returns whether a task succeeds within the given time. */
  @CanIgnoreReturnValue
  private boolean awaited(Supplier<CompletableFuture<?>> task, long nanos) {
    try {
      context.timing().await(task.get(), nanos);
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    } catch (Exception e) {
      return false;
    }
  }

  /**
   * Reads a bucket that no client uses, so that classes are not loaded during a caller's time-out.
   * The read of this bucket uses the same code as a caller's charge, but the observer is not
   * notified of this read.
   */
  public void rehearse() {
    awaited(this::lookAtNobodys, context.timeoutNanos());
    awaited(this::handOver, context.timeoutNanos());
  }

  private CompletableFuture<List<Reading>> lookAtNobodys() {
    Request request = look(context.timing().nanoTime(), fromNow());
    context.unseenQueue(topology.queueOf(request.keys.get(0)).server()).submit(request);
    return request;
  }

  private Request look(long sent, long until) {
    Charge look = context.nobodys();
    return new Remembered(List.of(look), List.of(context.key(look.key())), sent, until);
  }

  /**
   * Makes calls to a server that never responds, so that the classes that a time-out needs are
   * loaded before an outage. Without this warm-up, all callers would wait at the first outage until
   * the time-out thread had loaded its classes. The observer does not see the warm-up's calls.
   */
  public void rehearseTimeOuts() {
    long nanos = REHEARSED_NANOS;
    while (!timedOutTogether(nanos) && nanos < context.timeoutNanos()) {
      nanos *= 2; // the machine is busy, but has loaded some classes by now
    }
    long now = context.timing().nanoTime();
    HandedOver late = new HandedOver(look(now, now), ChargeOutcome.UNKNOWN);
    late.timeOut(); // does what the charge's own timer does if it fires before the queue's
    awaited(() -> late, context.timeoutNanos());
  }

  /** Returns whether all requests were submitted before the first request timed out. */
  private boolean timedOutTogether(long nanos) {
    RequestQueue queue = context.queueToUnreachable();
    long until = context.timing().nanoTime() + nanos;
    List<CompletableFuture<?>> ends = new ArrayList<>();
    for (int i = 0; i < REHEARSED; i++) {
      Request request = look(until - context.timeoutNanos(), until);
      HandedOver stage = new HandedOver(request, ChargeOutcome.UNKNOWN);
      queue.submit(request);
      ends.add(stage);
    }
    boolean together = context.timing().nanoTime() - until < 0;
    ends.forEach(end -> awaited(() -> end, context.timeoutNanos()));
    return together;
  }

  private CompletableFuture<String> handOver() {
    CompletableFuture<String> done = new CompletableFuture<>();
    callbacks.run(() -> done.complete("this task ran on a thread for callers"));
    return done;
  }

  @Override
  public List<Reading> charge(List<Charge> charges) {
    return charge(charges, MultiServerBatch.ALONE);
  }

  @Override
  public List<Reading> charge(List<Charge> charges, Tentative tentative) {
    return charge(charges, tentative, fromNow());
  }

  private List<Reading> charge(List<Charge> charges, Tentative tentative, long until) {
    requireThreadThatMayWait(
        "charge()", "call chargeAsync() in a function that is chained to a stage");
    return await(ask(charges, tentative, until), ChargeOutcome.ofSent(charges), until);
  }

  /** Returns the time at which a call that begins now has to end. */
  private long fromNow() {
    return context.timing().nanoTime() + context.timeoutNanos();
  }

  private String timedOut() {
    return "timed out on " + name;
  }

  private static void requireThreadThatMayWait(String call, String instead) {
    if (Thread.currentThread() instanceof StoreThread) {
      throw new IllegalStateException(
          "%s was called on a thread of the store, which would deadlock: %s"
              .formatted(call, instead));
    }
  }

  /** Waits for a response with its own time-out, since the store's time-out thread can be late. */
  @CanIgnoreReturnValue
  private <T> T await(CompletableFuture<T> answer, @Nullable ChargeOutcome ifSent, long until) {
    try {
      long latest = until + context.timeoutNanos() / LATE;
      return context.timing().await(answer, Math.max(latest - context.timing().nanoTime(), 0));
    } catch (ExecutionException e) {
      Throwable cause = e.getCause();
      throw failure(told(cause == null ? e : Stages.cause(cause), ifSent));
    } catch (TimeoutException e) {
      throw leave(answer, ifSent, timedOut(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw leave(answer, ifSent, "interrupted while waiting for " + name, e);
    }
  }

  /** Withdraws the request if it is still in the queue. Returns an exception with the message. */
  private static StoreException leave(
      CompletableFuture<?> answer,
      @Nullable ChargeOutcome ifSent,
      String message,
      @Nullable Exception cause) {
    boolean neverLeft = answer instanceof Request request && request.withdraw();
    answer.cancel(false);
    ChargeOutcome charged = neverLeft ? ChargeOutcome.NOTHING : ifSent;
    if (charged != null) {
      return charged.exception(message, cause);
    }
    return cause == null ? new StoreException(message) : new StoreException(message, cause);
  }

  /** If all charges were checks, adds "nothing was charged" to the message of a failure. */
  private static Throwable told(Throwable failure, @Nullable ChargeOutcome ifSent) {
    return ifSent == ChargeOutcome.NOTHING ? ifSent.said(failure) : failure;
  }

  /** Returns a new exception, so that the stack trace shows the caller and the cause. */
  private StoreException failure(Throwable cause) {
    if (cause instanceof ChargedException its) {
      return its.charged().exception(its.what(), its);
    }
    return cause instanceof StoreException
        ? new StoreException(String.valueOf(cause.getMessage()), cause)
        : new StoreException(name + ": " + cause, cause);
  }

  @Override
  public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges) {
    return chargeAsync(charges, MultiServerBatch.ALONE);
  }

  @Override
  public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges, Tentative tentative) {
    return chargeAsync(charges, tentative, fromNow());
  }

  private CompletionStage<List<Reading>> chargeAsync(
      List<Charge> charges, Tentative tentative, long until) {
    CompletableFuture<List<Reading>> answer = ask(charges, tentative, until);
    ChargeOutcome ifSent = ChargeOutcome.ofSent(charges);
    if (answer.isDone()) {
      return ifSent == ChargeOutcome.NOTHING && answer.isCompletedExceptionally()
          ? CompletableFuture.failedFuture(told(Failures.of(answer), ifSent))
          : answer;
    }
    HandedOver stage = new HandedOver(answer, ifSent);
    long leftNanos = until - context.timing().nanoTime();
    if (leftNanos < context.timeoutNanos() - context.timeoutNanos() / LATE) {
      // The operation's time-out began before this charge, so the queue would end the charge too
      // late.
      try {
        context.timing().after(leftNanos, stage::timeOut);
      } catch (RejectedExecutionException e) {
        // The store was closed after the charge was submitted, and closing ends this stage too.
      } catch (Throwable e) {
        // There is no memory for the timer, so the charge must end now.
        stage.completeExceptionally(leave(answer, ifSent, name + ": " + e, null));
      }
    }
    return stage;
  }

  @Override
  public BucketStore forOneCall() {
    return new OneCall();
  }

  /**
   * A view whose charges share one time-out: each charge has only the time that is left after the
   * earlier charges.
   */
  private final class OneCall implements BucketStore {
    private final long until = fromNow();

    @Override
    public List<Reading> charge(List<Charge> charges) {
      return RemoteStore.this.charge(charges, MultiServerBatch.ALONE, until);
    }

    @Override
    public List<Reading> charge(List<Charge> charges, Tentative tentative) {
      return RemoteStore.this.charge(charges, tentative, until);
    }

    @Override
    public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges) {
      return chargeAsync(charges, MultiServerBatch.ALONE);
    }

    @Override
    public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges, Tentative tentative) {
      return RemoteStore.this.chargeAsync(charges, tentative, until);
    }

    @Override
    public long clockSkewNanos() {
      return RemoteStore.this.clockSkewNanos();
    }

    @Override
    public OptionalLong nowNanos() {
      return RemoteStore.this.nowNanos();
    }
  }

  /**
   * A future that completes on a thread that callers are allowed to block. Cancelling the future
   * cancels the request.
   */
  private final class HandedOver extends CompletableFuture<List<Reading>> {
    private final CompletableFuture<List<Reading>> answer;
    private final ChargeOutcome ifSent;

    HandedOver(CompletableFuture<List<Reading>> answer, ChargeOutcome ifSent) {
      this.answer = answer;
      this.ifSent = ifSent;
      Stages.onEnd(answer, this::handOver);
    }

    private void handOver(List<Reading> readings, @Nullable Throwable failure) {
      try {
        callbacks.run(() -> settle(readings, failure));
      } catch (Throwable e) { // no memory: completes the future on this thread
        settle(readings, failure);
      }
    }

    private void settle(List<Reading> readings, @Nullable Throwable failure) {
      if (failure instanceof CancellationException) {
        return; // the code that cancelled the request completes this future itself
      }
      if (failure == null) {
        complete(readings);
      } else {
        Throwable cause = Stages.cause(failure);
        Throwable told = told(cause, ifSent);
        super.completeExceptionally(Failures.passedOn(told == cause ? failure : told));
      }
    }

    void timeOut() {
      if (!isDone()) {
        callbacks.run(() -> super.completeExceptionally(leave(answer, ifSent, timedOut(), null)));
      }
    }

    @Override
    public boolean cancel(boolean interrupt) {
      boolean cancelled = super.cancel(interrupt); // completes this future before the request can
      answer.cancel(false);
      return cancelled;
    }

    /**
     * Completes this future and cancels the request. A time-out that the caller has set ({@code
     * orTimeout}) calls this method too.
     */
    @Override
    @CanIgnoreReturnValue
    public boolean completeExceptionally(Throwable failure) {
      boolean ended = super.completeExceptionally(failure);
      answer.cancel(false);
      return ended;
    }
  }

  /** Sends charges. The future reports every failure, also an Error. */
  private CompletableFuture<List<Reading>> ask(
      List<Charge> charges, Tentative tentative, long until) {
    BucketStore.requireDifferentKeys(charges);
    if (closed) {
      return CompletableFuture.failedFuture(
          ChargeOutcome.NOTHING.exception("the store " + name + " is closed"));
    }
    try {
      if (until - context.timing().nanoTime() <= 0) {
        return CompletableFuture.failedFuture(ChargeOutcome.NOTHING.exception(timedOut()));
      }
      return charges.size() == 1 ? one(charges, until) : several(charges, tentative, until);
    } catch (Throwable e) { // no request was submitted, or the queue has failed the request
      return CompletableFuture.failedFuture(failure(e));
    }
  }

  private CompletableFuture<List<Reading>> several(
      List<Charge> charges, Tentative tentative, long until) {
    List<byte[]> bytes = new ArrayList<>(charges.size());
    List<RequestQueue> queues = new ArrayList<>(charges.size());
    boolean together = true;
    for (Charge charge : charges) {
      byte[] key = context.key(charge.key());
      bytes.add(key);
      queues.add(topology.queueOf(key));
      together &= queues.get(0) == queues.get(queues.size() - 1);
    }
    return together
        ? send(queues.get(0), charges, bytes, until)
        : spread(queues, charges, bytes, tentative, until);
  }

  /**
   * Sends a batch over several servers. Before a part of the batch is sent, remembered denials and
   * servers that are marked down are checked. A part of the batch that is sent unchecked could take
   * tokens that are refunded later, and other callers would lack these tokens until the refund.
   */
  private CompletableFuture<List<Reading>> spread(
      List<RequestQueue> queues,
      List<Charge> charges,
      List<byte[]> bytes,
      Tentative tentative,
      long until) {
    queues.forEach(RequestQueue::requireUp);
    Map<String, byte[]> keyOf = new HashMap<>();
    List<@Nullable Reading> known = new ArrayList<>();
    for (int i = 0; i < charges.size(); i++) {
      keyOf.put(charges.get(i).key(), bytes.get(i));
      known.add(denials.denial(charges.get(i)));
    }
    if (known.stream().anyMatch(Objects::nonNull)) {
      context.observer().deniedFromMemory();
    }
    MultiServerBatch batch =
        new MultiServerBatch(
            charges,
            known,
            tentative,
            (queue, part) -> send(queue, part, bytesOf(part, keyOf), until),
            (queue, part) -> send(queue, part, bytesOf(part, keyOf), fromNow()));
    CompletableFuture<List<Reading>> verdict = batch.charge(queues);
    keepOpenFor(batch.over());
    return verdict;
  }

  private static List<byte[]> bytesOf(List<Charge> part, Map<String, byte[]> keyOf) {
    return part.stream().map(charge -> keyOf.get(charge.key())).toList();
  }

  private CompletableFuture<List<Reading>> one(List<Charge> charges, long until) {
    Charge charge = charges.get(0);
    Reading known = denials.denial(charge);
    if (known != null) {
      context.observer().deniedFromMemory();
      return CompletableFuture.completedFuture(List.of(known));
    }
    byte[] key = context.key(charge.key());
    return send(topology.queueOf(key), charges, List.of(key), until);
  }

  /**
   * A request whose response updates the remembered denials before the caller gets the response.
   */
  private final class Remembered extends Request {
    private final long sent;
    private final int[] stamps;

    Remembered(List<Charge> charges, List<byte[]> keys, long sent, long until) {
      super(charges, keys, sent + context.timeoutNanos(), until);
      this.sent = sent;
      this.stamps = new int[charges.size()];
      for (int i = 0; i < stamps.length; i++) {
        stamps[i] = denials.stamp(charges.get(i).key());
      }
    }

    @Override
    void answer(List<Reading> readings) {
      for (int i = 0; i < stamps.length; i++) {
        Charge charge = charges.get(i);
        if (charge.op().loosens()) {
          denials.forget(charge.key());
        } else {
          denials.learn(charge, readings.get(i), sent, stamps[i]);
        }
      }
      super.answer(readings);
    }

    @Override
    public boolean completeExceptionally(Throwable failure) {
      forgetDenials(charges); // the server can have applied the failed call
      return super.completeExceptionally(failure);
    }

    /**
     * Cancels the request, and clears the remembered denials if the request was sent, since the
     * response of a cancelled request can be lost.
     */
    @Override
    @CanIgnoreReturnValue
    public boolean cancel(boolean interrupt) {
      if (!withdraw() && !isDone()) {
        forgetDenials(charges);
      }
      return super.cancel(interrupt);
    }
  }

  private Request send(RequestQueue queue, List<Charge> charges, List<byte[]> bytes, long until) {
    Request request = new Remembered(charges, bytes, context.timing().nanoTime(), until);
    if (request.loosens()) {
      forgetDenials(charges);
      keepOpenFor(request);
    }
    queue.submit(request);
    return request;
  }

  /**
   * Registers a call that refunds tokens or can need a refund, so that {@link #close} waits for it.
   */
  private void keepOpenFor(CompletableFuture<?> call) {
    long number = arrivals.incrementAndGet();
    mustArrive.put(number, call);
    Stages.onEnd(call, (readings, failure) -> mustArrive.remove(number));
  }

  /** Returns whether the server of a bucket has no request in flight and no pending refund. */
  public boolean isIdle(String bucketKey) {
    return mustArrive.isEmpty() && topology.queueOf(context.key(bucketKey)).isIdle();
  }

  private void forgetDenials(List<Charge> charges) {
    charges.forEach(charge -> denials.forget(charge.key()));
  }

  @Override
  public OptionalLong nowNanos() {
    ClientClock clock = context.clock();
    return clock == null ? OptionalLong.empty() : OptionalLong.of(clock.time().nanos());
  }

  @Override
  public long clockSkewNanos() {
    ClientClock clock = context.clock();
    return clock == null ? 0 : clock.skew().toNanos();
  }

  @Override
  public void ping() {
    requireThreadThatMayWait("ping()", "call it on another thread");
    await(topology.ping().toCompletableFuture(), null, fromNow()); // a ping charges nothing
  }

  /**
   * Waits up to the time-out for refunds and for batches over several servers in flight, then
   * closes the connections, which fails the requests that are still in flight. If one of the
   * store's own threads calls this method, another thread closes the store, since the store's
   * threads must not wait for their own work.
   */
  @Override
  public void close() {
    if (closed) {
      return;
    }
    closed = true;
    if (Thread.currentThread() instanceof StoreThread) {
      new Thread(this::shutDown, "sluice-" + context.kind() + "-close").start();
    } else {
      shutDown();
    }
  }

  private void shutDown() {
    long deadline = context.timing().nanoTime() + context.timeoutNanos();
    boolean waits = true;
    while (waits && !mustArrive.isEmpty()) {
      waits = awaitAll(List.copyOf(mustArrive.values()), deadline - context.timing().nanoTime());
    }
    topology.close();
    release.run();
  }

  /**
   * Waits for calls. Returns false if the calls have not ended in time; tokens that were not
   * refunded in time stay spent.
   */
  private boolean awaitAll(List<CompletableFuture<?>> calls, long nanos) {
    try {
      CompletableFuture<Boolean> all =
          CompletableFuture.allOf(calls.toArray(CompletableFuture[]::new))
              .handle((done, failure) -> true); // each call reports its own failure
      return context.timing().await(all, nanos);
    } catch (ExecutionException | TimeoutException e) {
      return false;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  @Override
  public String toString() {
    return name;
  }
}
