// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpResponseWriter;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.stream.ClosedStreamException;
import com.linecorp.armeria.common.util.Exceptions;
import com.linecorp.armeria.server.RequestTimeoutException;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.Decision;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.internal.async.Stages;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.access.Caller;
import dev.sluice.server.access.LimiterCalls;
import dev.sluice.server.base.RefusedException;
import dev.sluice.server.http.HttpFailures.Bodies;
import dev.sluice.server.http.MethodService.Queries;
import dev.sluice.server.net.Requests;
import dev.sluice.server.net.Requests.HeldAnswers;
import dev.sluice.server.net.Requests.StreamingService;
import dev.sluice.server.net.SluiceServer;
import dev.sluice.wire.DecisionWriter;
import dev.sluice.wire.WireReader;
import dev.sluice.wire.WireRequest;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.ScheduledFuture;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/*
 * The server sends each line to the store when the line arrives. The server answers lines in order:
 * an answer waits for the answers of all earlier lines. The server writes answers in pieces. Until
 * the client has read a piece, the server writes no further piece, and sends no further line to the
 * store. So a client that does not read spends at most MOST_UNREAD lines.
 *
 * An answer can be much longer than its line. Before a line is sent to the store, the largest
 * possible size of its answer is charged to the budget, until the client has read the answer. While
 * the budget has no room, a line waits until the client has read earlier answers. If the budget has
 * no room although no answer is unread, the line is refused and the stream ends.
 *
 * If a body ends too early, too late or never, the last line of the response reports this error. An
 * incomplete last line is not decided. If no line was answered yet, the response has the status of
 * the error instead. The response stays open until the client has read it, so that an unread
 * response can time out.
 */

/** Answers a stream of operations, one per line. Only one event loop may use this object. */
final class DecisionStream {

  private static final int MOST_UNREAD = 64;
  private static final int PIECE_BYTES = 16 << 10;

  /** The most bytes of an answer for each object in the request's line, not counting the ids. */
  private static final int ANSWER_BYTES = 512;

  /** The size of the shortest transaction, in bytes. */
  private static final int LEAST_OBJECT = 20;

  /** How often an answer repeats an id: as a field, in the bucket key, and in the message. */
  private static final int ECHOES = 3;

  private static final byte[] NOTHING = new byte[0];
  private static final WireReader READER = WireReader.ofStream();

  private final LimiterCalls acts;
  private final Caller caller;
  private final HttpResponseWriter response;
  private final Executor loop;
  private final HeldAnswers held;
  private final Queue<Line> underWay = new ArrayDeque<>();
  private final AtomicBoolean told = new AtomicBoolean();
  private byte[] lines = NOTHING;
  private int size;
  private int start; // start of the next line
  private int seen; // no line ends between start and here
  private int objects; // JSON objects that begin between start and seen
  private int number;
  private boolean whole; // whether the body has ended
  private @Nullable Fault fault; // why the body ended early
  private boolean counted;
  private boolean begun; // whether the status was sent
  private boolean ending; // whether the last line was sent
  private int unread; // bytes that were written but not read yet

  DecisionStream(
      LimiterCalls acts,
      Caller caller,
      HttpResponseWriter response,
      Executor loop,
      HeldAnswers held) {
    this.acts = acts;
    this.caller = caller;
    this.response = response;
    this.loop = loop;
    this.held = held;
  }

  /** A line that was sent to the store, with its answer as soon as the line is decided. */
  private final class Line {

    private final int number;
    private final int most; // the most bytes of the answer
    private @Nullable Act act; // null for a malformed line
    private volatile byte @Nullable [] answer;

    Line(int number, int most) {
      this.number = number;
      this.most = most;
    }

    /** Sets the answer. Wakes the event loop only if no wake-up is pending. */
    void answered(byte[] text) {
      answer = text;
      if (told.compareAndSet(false, true)) {
        loop.execute(DecisionStream.this::advance);
      }
    }
  }

  /** Receives more of the body; {@code bytes} begins with the bytes received earlier. */
  void more(byte[] bytes, int length) {
    if (!whole) {
      lines = bytes;
      size = length;
      advance();
    }
  }

  void ended() {
    whole = true;
    advance();
  }

  /** Ends the request body early. The stream reports only the first reason for an early end. */
  void failed(Fault why) {
    if (!whole) {
      fault = why;
      ended();
    }
  }

  /** Ends the stream because its time is nearly over; the last line reports this reason. */
  void late() {
    if (ending || isDecided()) {
      return; // only unread answers are left
    }
    Line first = underWay.peek();
    if (first != null && first.answer == null) {
      boolean onlyChecks = underWay.stream().allMatch(line -> line.act == Act.CHECK);
      stop(HttpFailures.fault(HttpFailures.storeIsLate(), onlyChecks));
    } else {
      stop(whole ? notRead() : tooLate());
    }
    advance();
  }

  private boolean isDecided() {
    return whole && underWay.isEmpty() && endOfLine() < 0;
  }

  static Fault tooLate() {
    return Fault.ofStatus(HttpStatus.REQUEST_TIMEOUT, "the request took too long to arrive");
  }

  private static Fault notRead() {
    return Fault.ofStatus(
        HttpStatus.REQUEST_TIMEOUT,
        "the client did not read the answers in time; up to %s lines, beginning with this one, may have been decided"
            .formatted(MOST_UNREAD));
  }

  /** Ends the stream with an error, and drops the lines that have no answer yet. */
  private void stop(Fault why) {
    Line first = underWay.peek();
    number = first == null ? number : first.number - 1;
    underWay.clear();
    forgetLines();
    fault = why;
    whole = true;
  }

  private void forgetLines() {
    lines = NOTHING;
    size = 0;
    start = 0;
    seen = 0;
  }

  /** Sends lines to the store and writes answers, as many as the stream's bounds allow. */
  private void advance() {
    if (unread > 0 || ending || !response.isOpen()) {
      return; // the client has gone, so nothing more is decided
    }
    told.set(true); // answers that are known at once need not wake this loop
    boolean fits = send();
    told.set(false); // reset before decided(), so that no later answer is missed
    byte[] piece = decided();
    if (piece.length > 0) {
      begin();
      write(HttpData.wrap(piece), piece.length);
      return;
    }
    if (!fits && underWay.isEmpty()) {
      stop(
          Fault.refused(
              RefusedException.overloaded("no memory for the answer; try again in a second")));
    }
    if (whole && underWay.isEmpty()) {
      end();
    }
  }

  /** Sends up to MOST_UNREAD lines to the limiter; false if the budget has no room for more. */
  private boolean send() {
    while (underWay.size() < MOST_UNREAD) {
      int end = endOfLine();
      if (end < 0) {
        return true;
      }
      if (isBlank(start, end)) {
        number++;
      } else {
        int most = mostOfAnswer(end - start);
        if (!held.hold(most)) {
          return false;
        }
        number++;
        Line line = new Line(number, most);
        underWay.add(line);
        decide(line, start, end - start);
      }
      start = end + 1;
      seen = start;
      objects = 0;
    }
    return true;
  }

  private int mostOfAnswer(int length) {
    int transactions = Math.min(Math.max(1, objects), 1 + length / LEAST_OBJECT);
    return ANSWER_BYTES * transactions + ECHOES * length;
  }

  /** Returns the index of the next line's end; -1 if the end has not arrived. */
  private int endOfLine() {
    while (seen < size && lines[seen] != '\n') {
      objects += lines[seen] == '{' ? 1 : 0;
      seen++;
    }
    boolean isLast = seen == size && whole && fault == null && start < size;
    return seen < size || isLast ? seen : -1;
  }

  /** Removes and returns the next answers; empty if the next answer is not known yet. */
  private byte[] decided() {
    int count = 0;
    int bytes = 0;
    long most = 0;
    for (Line line : underWay) {
      byte[] answer = line.answer;
      if (answer == null || bytes >= PIECE_BYTES) {
        break;
      }
      count++;
      bytes += answer.length;
      most += line.most;
    }
    if (count == 0) {
      return NOTHING;
    }
    held.drop(most - bytes);
    byte[] piece = NOTHING;
    int at = 0;
    for (; count > 0; count--) {
      byte[] answer = Objects.requireNonNull(underWay.remove().answer);
      if (answer.length == bytes) {
        return answer;
      }
      piece = at == 0 ? new byte[bytes] : piece;
      System.arraycopy(answer, 0, piece, at, answer.length);
      at += answer.length;
    }
    return piece;
  }

  private void end() {
    forgetLines();
    ending = true;
    Fault why = fault;
    if (why == null) {
      begin();
      response.close();
    } else if (begun) {
      HttpData last = HttpData.wrap(Answers.line(why, number + 1));
      write(last, last.length());
    } else {
      AggregatedHttpResponse refused = Answers.fault(why);
      response.write(refused.headers());
      write(refused.content(), refused.content().length());
    }
  }

  private void begin() {
    if (!begun) {
      begun = true;
      response.write(Answers.stream());
    }
  }

  private void write(HttpData piece, int bytes) {
    unread = bytes;
    response.write(piece);
    Stages.onSuccess(response.whenConsumed(), done -> loop.execute(this::readOn));
  }

  private void readOn() {
    held.drop(ending ? 0 : unread);
    unread = 0;
    if (ending) {
      response.close();
    } else {
      advance();
    }
  }

  private boolean isBlank(int from, int to) {
    for (int i = from; i < to; i++) {
      if (lines[i] != ' ' && lines[i] != '\t' && lines[i] != '\r') {
        return false;
      }
    }
    return true;
  }

  /** Decides a line. Never throws: a failure becomes the answer of the line. */
  private void decide(Line line, int offset, int length) {
    try {
      if (counted) {
        caller.countRequest();
      }
      counted = true; // the first line is counted as the request
      WireRequest wire = READER.read(lines, offset, length);
      Act act = wire.act();
      line.act = act;
      Stages.onEnd(
          acts.send(act, wire, caller),
          (decision, failure) ->
              line.answered(
                  failure == null
                      ? line(act, wire, decision)
                      : Answers.line(HttpFailures.fault(failure), line.number)));
    } catch (RuntimeException e) {
      line.answered(Answers.line(HttpFailures.fault(e), line.number));
    }
  }

  private static byte[] line(Act act, WireRequest wire, Optional<Decision> decision) {
    return act == Act.RESET
        ? Answers.line(json -> DecisionWriter.writeReset(decision, json))
        : Answers.line(json -> DecisionWriter.write(decision.orElseThrow(), wire, json));
  }

  /**
   * {@code POST /v1/decisions}: a stream of operations, one JSON object on each line. Each line is
   * answered by one line, in the same order, even before later lines arrive.
   */
  static final class DecisionsResource extends MethodService implements StreamingService {

    /** The longest time that the server reserves to end a stream properly. */
    private static final long MOST_SPARE_NANOS = TimeUnit.SECONDS.toNanos(2);

    private final LimiterCalls acts;

    DecisionsResource(LimiterCalls acts) {
      super(HttpMethod.POST);
      this.acts = acts;
    }

    @Override
    HttpResponse respond(ServiceRequestContext context, HttpRequest request) {
      Fault fault = Bodies.unreadable(request, Answers.NDJSON);
      if (fault == null && request.headers().contentLength() > SluiceServer.MAX_BODY) {
        fault = Fault.tooLarge(SluiceServer.MAX_BODY);
      }
      try {
        return fault == null ? stream(context, request) : Answers.fault(fault).toHttpResponse();
      } catch (RuntimeException e) {
        return HttpFailures.answer(e).toHttpResponse();
      }
    }

    /** Reports a time-out as the stream's last line; Armeria's time-out would cut the stream. */
    private HttpResponse stream(ServiceRequestContext context, HttpRequest request) {
      Queries.require(context, List.of());
      long mostMillis = context.requestTimeoutMillis();
      context.clearRequestTimeout();
      EventLoop loop = context.eventLoop();
      HttpResponseWriter response = HttpResponse.streaming();
      DecisionStream stream =
          new DecisionStream(
              acts, AccessPart.caller(context), response, loop, Requests.heldAnswers(context));
      CompletableFuture<?> body = Requests.readAsItArrives(context, request, stream::more);
      ScheduledFuture<?> tooLate =
          loop.schedule(
              () -> body.completeExceptionally(RequestTimeoutException.get()),
              mostMillis,
              TimeUnit.MILLISECONDS);
      Stages.onEnd(
          body,
          (nothing, failure) -> {
            tooLate.cancel(false);
            if (failure == null) {
              stream.ended();
            } else if (response.isOpen()) { // otherwise the client is gone
              stream.failed(
                  Exceptions.peel(failure) instanceof RequestTimeoutException
                      ? DecisionStream.tooLate()
                      : HttpFailures.fault(failure));
            }
          });
      endInTime(context, stream, response);
      Stages.onEnd(
          response.whenComplete(),
          (done, failure) -> {
            if (!body.isDone()) { // drops the rest of the body
              loop.execute(() -> body.completeExceptionally(ClosedStreamException.get()));
            }
          });
      return response;
    }

    /**
     * Ends the stream before its time is over, and aborts the response if the client does not read
     * it. If the stream did not end, the server would close the connection, with all other requests
     * on it. Over HTTP/1.1, the server closes the connection even if the stream ends early: an
     * unread response cannot end in another way.
     */
    private static void endInTime(
        ServiceRequestContext context, DecisionStream stream, HttpResponseWriter response) {
      EventLoop loop = context.eventLoop();
      long leftNanos = Requests.nanosLeft(context);
      long spareNanos = Math.min(MOST_SPARE_NANOS, leftNanos / 4);
      ScheduledFuture<?> late =
          loop.schedule(
              () -> {
                stream.late();
                if (context.sessionProtocol().isMultiplex()) {
                  var unused =
                      loop.schedule(() -> response.abort(), spareNanos / 2, TimeUnit.NANOSECONDS);
                }
              },
              leftNanos - spareNanos,
              TimeUnit.NANOSECONDS);
      Stages.onEnd(response.whenComplete(), (done, failure) -> late.cancel(false));
    }
  }
}
