// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import dev.sluice.internal.async.Stages;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The replies of a connection, in the order of its requests, whenever they become known: one that
 * is known waits for those before it. Belongs to the connection's thread.
 */
final class Replies {

  private final ReplyWriter writer = new ReplyWriter();
  private final Executor connection;
  private final Request request;
  private final Runnable whenKnown;
  private final Queue<Waiting<?>> waiting = new ArrayDeque<>();
  private final AtomicBoolean told = new AtomicBoolean();
  private long waitingBytes;
  private @Nullable Gathered gathered;
  private boolean resp3;

  /**
   * Makes the replies of a connection.
   *
   * @param connection runs what it is given on the connection's thread
   * @param request the one that is being answered
   * @param whenKnown called on that thread when {@link #writeKnown} has something to write
   */
  Replies(Executor connection, Request request, Runnable whenKnown) {
    this.connection = connection;
    this.request = request;
    this.whenKnown = whenKnown;
  }

  /** A reply that is not known yet, or waits for one that is not. */
  private record Waiting<T>(
      CompletableFuture<T> answer,
      BiConsumer<? super T, ReplyWriter> writes,
      boolean resp3,
      int bytes) {

    boolean isKnown() {
      return answer.isDone();
    }

    void write(ReplyWriter writer) {
      writer.resp3(resp3);
      writeNow(answer, writes, writer);
    }
  }

  /** Requests whose replies are decided on together. */
  interface Gathered {

    /** Decides, and writes the replies in the order of the requests. */
    void write(ReplyWriter writer);
  }

  /** Replies before the next one of another kind; not while a reply waits. */
  void gather(Gathered requests) {
    if (gathered != requests) {
      settle(); // what came before is decided before
      gathered = requests;
    }
  }

  /** Decides on the requests that were gathered. */
  void settle() {
    Gathered requests = gathered;
    if (requests != null) {
      gathered = null;
      writer.resp3(resp3);
      requests.write(writer);
    }
  }

  /** Chooses the version of the replies to the requests that follow. */
  void resp3(boolean wanted) {
    settle();
    resp3 = wanted;
  }

  boolean isResp3() {
    return resp3;
  }

  /** How many requests wait for their reply. */
  int waiting() {
    return waiting.size();
  }

  /** About how many bytes of memory those requests hold. */
  long waitingBytes() {
    return waitingBytes;
  }

  /** The bytes that were written and not sent yet. */
  ReplyWriter writer() {
    return writer;
  }

  /** Replies with what is known already. */
  void now(Consumer<ReplyWriter> reply) {
    settle();
    if (waiting.isEmpty()) {
      writer.resp3(resp3);
      reply.accept(writer);
    } else {
      add(CompletableFuture.completedFuture(reply), Consumer::accept);
    }
  }

  void error(String code, String text) {
    now(writer -> writer.error(code, text));
  }

  /** Replies when the answer is known, or with the error that it ends with. */
  <T> void later(CompletionStage<T> stage, BiConsumer<? super T, ReplyWriter> reply) {
    settle();
    CompletableFuture<T> answer = stage.toCompletableFuture();
    if (waiting.isEmpty() && answer.isDone()) {
      writer.resp3(resp3);
      writeNow(answer, reply, writer);
      return;
    }
    add(answer, reply);
    Stages.onEnd(answer, (known, failure) -> tell()); // at once if it is known by now
  }

  private <T> void add(CompletableFuture<T> answer, BiConsumer<? super T, ReplyWriter> reply) {
    int bytes = request.bytesWhileWaiting();
    waiting.add(new Waiting<>(answer, reply, resp3, bytes));
    waitingBytes += bytes;
  }

  /** Many may become known at once: the connection's thread is told once. */
  private void tell() {
    if (told.compareAndSet(false, true)) {
      connection.execute(this::look);
    }
  }

  private void look() {
    told.set(false); // before the look: what becomes known from now on tells again
    Waiting<?> first = waiting.peek();
    if (first != null && first.isKnown()) {
      whenKnown.run();
    }
  }

  /**
   * Writes the first reply that waits. One at a time, since they may be large: the caller sends
   * what is written, and stops while its client does not read.
   *
   * @return false if none waits, or the first is not known yet
   */
  boolean writeKnown() {
    Waiting<?> first = waiting.peek();
    if (first == null || !first.isKnown()) {
      return false;
    }
    waiting.remove();
    waitingBytes -= first.bytes();
    first.write(writer);
    return true;
  }

  private static <T> void writeNow(
      CompletableFuture<T> answer, BiConsumer<? super T, ReplyWriter> writes, ReplyWriter writer) {
    T known;
    try {
      known = answer.join();
    } catch (RuntimeException e) {
      ErrorReplies.write(e, writer);
      return;
    }
    writes.accept(known, writer);
  }
}
