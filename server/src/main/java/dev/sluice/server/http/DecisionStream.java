// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpResponseWriter;
import dev.sluice.Decision;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.async.Stages;
import dev.sluice.server.access.Caller;
import dev.sluice.server.wire.Acts;
import dev.sluice.server.wire.DecisionWriter;
import dev.sluice.server.wire.WireReader;
import dev.sluice.server.wire.WireRequest;
import java.io.ByteArrayOutputStream;
import java.util.ArrayDeque;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/*
 * Lines are sent to the store in their order as soon as they are here, up to MOST_UNDER_WAY at a
 * time, and each is answered as soon as it and all lines before it are decided. The next piece is
 * written when the client has read the one before, so a client that does not read holds one piece,
 * and spends no more.
 *
 * A body that ends too early, too late or never has a last line of answer that says so, and what is
 * left of its last line is not decided. Where no line was answered, its response has the status.
 */

/** The acts of one request, one a line. Belongs to one event loop. */
final class DecisionStream {

  private static final int MOST_UNDER_WAY = 64;
  private static final int PIECE_BYTES = 16 << 10;
  private static final WireReader READER = WireReader.ofStream();

  private final Acts acts;
  private final Caller caller;
  private final HttpResponseWriter response;
  private final Executor loop;
  private final Queue<CompletableFuture<byte[]>> underWay = new ArrayDeque<>();
  private final ByteArrayOutputStream piece = new ByteArrayOutputStream();
  private final AtomicBoolean told = new AtomicBoolean();
  private byte[] lines = new byte[0];
  private int size;
  private int start; // of the line that comes next
  private int seen; // no line ends between its start and here
  private int number;
  private boolean whole; // nothing comes any more
  private @Nullable Fault fault; // why
  private boolean counted;
  private boolean begun; // the status is out
  private boolean reading;

  DecisionStream(Acts acts, Caller caller, HttpResponseWriter response, Executor loop) {
    this.acts = acts;
    this.caller = caller;
    this.response = response;
    this.loop = loop;
  }

  /** More of the body is here, which begins with what was here before. */
  void more(byte[] bytes, int length) {
    if (!whole) {
      lines = bytes;
      size = length;
      advance();
    }
  }

  /** The body is here. */
  void ended() {
    whole = true;
    advance();
  }

  /** The rest of the body does not come. The first reason counts. */
  void failed(Fault why) {
    if (!whole) {
      fault = why;
      ended();
    }
  }

  /** Sends, collects and writes whatever can be now. */
  private void advance() {
    told.set(false); // before the look: what is decided from now on tells again
    if (reading || !response.isOpen()) {
      return; // a client that went away decides nothing more
    }
    while (piece.size() < PIECE_BYTES) {
      send();
      CompletableFuture<byte[]> next = underWay.peek();
      if (next == null || !next.isDone()) {
        break;
      }
      piece.writeBytes(underWay.remove().join());
    }
    if (piece.size() > 0) {
      write();
    } else if (underWay.isEmpty() && whole) {
      end();
    }
  }

  private void send() {
    while (underWay.size() < MOST_UNDER_WAY) {
      int end = endOfLine();
      if (end < 0) {
        return;
      }
      number++;
      if (!isBlank(start, end)) {
        CompletableFuture<byte[]> answer = answer(start, end - start, number);
        underWay.add(answer);
        Stages.onSuccess(answer, text -> tell());
      }
      start = end + 1;
      seen = start;
    }
  }

  /** Returns where the next line ends; -1 if that is not here, or there is none. */
  private int endOfLine() {
    while (seen < size && lines[seen] != '\n') {
      seen++;
    }
    boolean isLast = seen == size && whole && fault == null && start < size;
    return seen < size || isLast ? seen : -1;
  }

  /** Many may be decided at once: the event loop is told once. */
  private void tell() {
    if (told.compareAndSet(false, true)) {
      loop.execute(this::advance);
    }
  }

  private void end() {
    Fault why = fault;
    if (why != null && !begun) {
      AggregatedHttpResponse refused = Answers.fault(why);
      response.write(refused.headers());
      response.write(refused.content());
    } else if (why != null) {
      response.write(HttpData.wrap(Answers.line(why, number + 1)));
    } else {
      begin();
    }
    response.close();
  }

  private void begin() {
    if (!begun) {
      begun = true;
      response.write(Answers.stream());
    }
  }

  private void write() {
    reading = true;
    begin();
    response.write(HttpData.wrap(piece.toByteArray()));
    piece.reset();
    Stages.onSuccess(response.whenConsumed(), done -> loop.execute(this::readOn));
  }

  private void readOn() {
    reading = false;
    advance();
  }

  private boolean isBlank(int from, int to) {
    for (int i = from; i < to; i++) {
      if (lines[i] != ' ' && lines[i] != '\t' && lines[i] != '\r') {
        return false;
      }
    }
    return true;
  }

  /** Never fails: a line that cannot be decided has an answer that says why. */
  private CompletableFuture<byte[]> answer(int offset, int length, int line) {
    try {
      WireRequest wire = READER.read(lines, offset, length);
      acts.requireSound(wire, caller);
      if (counted) {
        caller.countRequest();
      }
      counted = true; // the first one, with the request
      return acts.send(wire.act(), wire, caller)
          .handle(
              (decision, failure) ->
                  failure == null
                      ? line(decision, wire.isBatch())
                      : Answers.line(Failures.fault(failure, wire.act() == Act.CHECK), line))
          .toCompletableFuture();
    } catch (RuntimeException e) {
      return CompletableFuture.completedFuture(Answers.line(Failures.fault(e), line));
    }
  }

  private static byte[] line(Optional<Decision> decision, boolean batch) {
    return decision.isPresent()
        ? Answers.line(json -> DecisionWriter.write(decision.get(), batch, json))
        : Answers.line(DecisionWriter::writeReset);
  }
}
