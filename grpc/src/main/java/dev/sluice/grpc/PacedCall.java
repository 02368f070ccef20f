// SPDX-License-Identifier: Apache-2.0
package dev.sluice.grpc;

import dev.sluice.internal.async.Stages;
import dev.sluice.outbound.Pacer;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Context;
import io.grpc.Deadline;
import io.grpc.ForwardingClientCallListener.SimpleForwardingClientCallListener;
import io.grpc.Metadata;
import io.grpc.Status;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A client call that starts only after its wait for the {@link Pacer}. Methods that the application
 * calls during the wait are recorded, and run in order when the call starts. A waiting call is not
 * ready, so gRPC does not request messages from the application.
 */
final class PacedCall<Q, A> extends ClientCall<Q, A> {

  private static final Duration FOREVER = Duration.ofNanos(Long.MAX_VALUE);

  private final Pacer pacer;
  private final URI uri;
  private final CallOptions options;
  private final Supplier<ClientCall<Q, A>> call;
  private final Context context = Context.current();
  private final Context.CancellationListener onCancel =
      cancelled -> cancel("the context was cancelled", cancelled.cancellationCause());

  private final Queue<Consumer<ClientCall<Q, A>>> later = new ArrayDeque<>(); // guarded by this
  private @Nullable CompletableFuture<Void> admission; // guarded by this
  private volatile @Nullable ClientCall<Q, A> sent; // set when all calls in `later` have run

  PacedCall(Pacer pacer, URI uri, CallOptions options, Supplier<ClientCall<Q, A>> call) {
    this.pacer = pacer;
    this.uri = uri;
    this.options = options;
    this.call = call;
  }

  @Override
  public void start(Listener<A> listener, Metadata headers) {
    CompletableFuture<Void> turn = pacer.admit(uri, untilDeadline());
    synchronized (this) {
      admission = turn;
    }
    context.addListener(onCancel, Runnable::run);
    Stages.onEnd(
        turn,
        (admitted, failure) -> {
          context.removeListener(onCancel);
          if (failure == null) {
            leave(new Learning(listener), headers);
          } else {
            refuse(listener, failure);
          }
        });
  }

  private Duration untilDeadline() {
    Deadline own = options.getDeadline();
    Deadline outer = context.getDeadline();
    Deadline deadline = own == null || (outer != null && outer.isBefore(own)) ? outer : own;
    return deadline == null
        ? FOREVER
        : Duration.ofNanos(deadline.timeRemaining(TimeUnit.NANOSECONDS));
  }

  /** Starts the call. If the start throws an exception, closes the call to notify the caller. */
  private void leave(Listener<A> listener, Metadata headers) {
    Context before = context.attach();
    try {
      ClientCall<Q, A> made = call.get();
      made.start(listener, headers);
      drain(made);
    } catch (RuntimeException | Error e) {
      String what = "the call could not be started after it had waited for its turn";
      close(listener, Status.INTERNAL.withDescription(what).withCause(e));
    } finally {
      context.detach(before);
    }
  }

  /** Runs the recorded methods in order, and then the methods that were called in the meantime. */
  private void drain(ClientCall<Q, A> made) {
    while (true) {
      Consumer<ClientCall<Q, A>> next;
      synchronized (this) {
        next = later.poll();
        if (next == null) {
          sent = made;
          return;
        }
      }
      next.accept(made);
    }
  }

  private void refuse(Listener<A> listener, Throwable failure) {
    Throwable cause = Stages.cause(failure);
    Status status =
        cause instanceof CancellationException
            ? Status.CANCELLED.withDescription("the call was cancelled while waiting for its turn")
            : Status.RESOURCE_EXHAUSTED.withDescription(cause.getMessage()).withCause(cause);
    close(listener, status);
  }

  private void close(Listener<A> listener, Status status) {
    Executor executor = options.getExecutor(); // a blocking stub has its own executor
    Runnable end = () -> listener.onClose(status, new Metadata());
    if (executor == null) {
      end.run();
    } else {
      executor.execute(end);
    }
  }

  private void perform(Consumer<ClientCall<Q, A>> act) {
    ClientCall<Q, A> made = sent;
    if (made == null) {
      synchronized (this) {
        made = sent;
        if (made == null) {
          later.add(act);
          return;
        }
      }
    }
    act.accept(made);
  }

  @Override
  public void request(int numMessages) {
    perform(made -> made.request(numMessages));
  }

  @Override
  public void sendMessage(Q message) {
    perform(made -> made.sendMessage(message));
  }

  @Override
  public void halfClose() {
    perform(ClientCall::halfClose);
  }

  @Override
  public void setMessageCompression(boolean enabled) {
    perform(made -> made.setMessageCompression(enabled));
  }

  @Override
  public void cancel(@Nullable String message, @Nullable Throwable cause) {
    perform(made -> made.cancel(message, cause));
    CompletableFuture<Void> turn;
    synchronized (this) {
      turn = admission;
    }
    if (turn != null) {
      turn.cancel(false);
    }
  }

  @Override
  public boolean isReady() {
    ClientCall<Q, A> made = sent;
    return made != null && made.isReady();
  }

  /** Passes the server's responses to the pacer. */
  private final class Learning extends SimpleForwardingClientCallListener<A> {

    Learning(Listener<A> listener) {
      super(listener);
    }

    @Override
    public void onHeaders(Metadata headers) {
      pacer.learn(uri, Statuses.http(Status.OK), name -> CallRequest.values(headers, name));
      super.onHeaders(headers);
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      pacer.learn(uri, Statuses.http(status), name -> CallRequest.values(trailers, name));
      try {
        if (status.getCode() == Status.Code.RESOURCE_EXHAUSTED
            || status.getCode() == Status.Code.UNAVAILABLE) {
          pacer.pause(uri, Statuses.wait(status, trailers));
        }
      } finally {
        super.onClose(status, trailers); // otherwise the application would wait for ever
      }
    }
  }
}
