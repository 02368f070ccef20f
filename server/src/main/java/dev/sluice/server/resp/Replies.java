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
 * Writes the replies of a connection in the order of its requests. A reply that is known early
 * waits for the replies to earlier requests. Only the connection's thread may use this object.
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

  /** Makes the replies of a connection. */
  Replies(Executor connection, Request request, Runnable whenKnown) {
    this.connection = connection;
    this.request = request;
    this.whenKnown = whenKnown;
  }

  /** A reply that is not known yet, or waits for an earlier reply. */
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

  /** Requests that are decided together. */
  interface Gathered {

    /** Decides the gathered requests, and writes the replies in the order of these requests. */
    void write(ReplyWriter writer);
  }

  /** Defers the reply to the current request, to decide several requests together. */
  void gather(Gathered requests) {
    if (gathered != requests) {
      settle(); // earlier requests are decided first
      gathered = requests;
    }
  }

  /** Decides the requests that {@link #gather} deferred. */
  void settle() {
    Gathered requests = gathered;
    if (requests != null) {
      gathered = null;
      writer.resp3(resp3);
      requests.write(writer);
    }
  }

  void resp3(boolean wanted) {
    settle();
    resp3 = wanted;
  }

  boolean isResp3() {
    return resp3;
  }

  /** Returns how many requests wait for their reply. */
  int waiting() {
    return waiting.size();
  }

  /** Returns the approximate memory of the requests that wait for their reply, in bytes. */
  long waitingBytes() {
    return waitingBytes;
  }

  /** Returns the writer, which contains the reply bytes that were not sent yet. */
  ReplyWriter writer() {
    return writer;
  }

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

  /** Adds a reply with a stage's result; if the stage fails, the reply is an error. */
  <T> void later(CompletionStage<T> stage, BiConsumer<? super T, ReplyWriter> reply) {
    settle();
    CompletableFuture<T> answer = stage.toCompletableFuture();
    if (waiting.isEmpty() && answer.isDone()) {
      writer.resp3(resp3);
      writeNow(answer, reply, writer);
      return;
    }
    add(answer, reply);
    Stages.onEnd(answer, (known, failure) -> tell()); // immediately if the answer is known
  }

  private <T> void add(CompletableFuture<T> answer, BiConsumer<? super T, ReplyWriter> reply) {
    int bytes = request.bytesWhileWaiting();
    waiting.add(new Waiting<>(answer, reply, resp3, bytes));
    waitingBytes += bytes;
  }

  /** Wakes the connection's thread, unless a wake-up is already pending. */
  private void tell() {
    if (told.compareAndSet(false, true)) {
      connection.execute(this::look);
    }
  }

  private void look() {
    told.set(false); // reset before the check, so that no later reply is missed
    Waiting<?> first = waiting.peek();
    if (first != null && first.isKnown()) {
      whenKnown.run();
    }
  }

  /** Writes the first waiting reply if it is known. */
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
