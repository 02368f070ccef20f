// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpResponseWriter;
import com.linecorp.armeria.common.HttpStatus;
import dev.sluice.Decision;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.internal.async.Stages;
import dev.sluice.server.access.Caller;
import dev.sluice.server.access.LimiterCalls;
import dev.sluice.server.base.RefusedException;
import dev.sluice.server.net.Requests.HeldAnswers;
import dev.sluice.wire.DecisionWriter;
import dev.sluice.wire.WireReader;
import dev.sluice.wire.WireRequest;
import java.util.ArrayDeque;
import java.util.Objects;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/*
 * Lines are sent to the store in their order as soon as they are here, and each is answered as soon
 * as it and all lines before it are decided. The next piece of answers is written when the client
 * has read the one before, and no line is sent until then. So a client that does not read spends
 * MOST_UNREAD lines at most.
 *
 * An answer may be much longer than its line. It is charged to the budget before its line is sent,
 * by what it may become, and until it was read. Where the budget has no room, lines wait for those
 * before them. A line that waits for none is refused, and the stream ends.
 *
 * A body that ends too early, too late or never has a last line of answer that says so, and what is
 * left of its last line is not decided. Where no line was answered, its response has the status.
 * The response stays open until that was read, so that its time can end.
 */

/** The acts of one request, one a line. Belongs to one event loop. */
final class DecisionStream {

  private static final int MOST_UNREAD = 64;
  private static final int PIECE_BYTES = 16 << 10;

  /** What an answer takes for each object in its line, beside the ids. */
  private static final int ANSWER_BYTES = 512;

  /** The fewest bytes of an object that is a transaction. */
  private static final int LEAST_OBJECT = 20;

  /** How often an answer tells an id: alone, in the key of its bucket, and in the message. */
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
  private int start; // of the line that comes next
  private int seen; // no line ends between its start and here
  private int objects; // that begin between its start and there
  private int number;
  private boolean whole; // nothing comes any more
  private @Nullable Fault fault; // why
  private boolean counted;
  private boolean begun; // the status is out
  private boolean ending; // the last line is out
  private int unread; // bytes that the client has to read before the next ones

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

  /** A line that was sent, and its answer as soon as it is known. */
  private final class Line {

    private final int number;
    private final int most; // bytes that its answer may have
    private volatile byte @Nullable [] answer;

    Line(int number, int most) {
      this.number = number;
      this.most = most;
    }

    /** Many may be decided at once: the event loop is told once. */
    void answered(byte[] text) {
      answer = text;
      if (told.compareAndSet(false, true)) {
        loop.execute(DecisionStream.this::advance);
      }
    }
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

  /**
   * The time of the stream is nearly over: it ends with a last line if the client has read what is
   * before it.
   */
  void late() {
    if (ending || isDecided()) {
      return; // all that is left is unread
    }
    Line first = underWay.peek();
    if (first != null && first.answer == null) {
      stop(undecided());
    } else {
      stop(whole ? notRead() : tooLate());
    }
    advance();
  }

  private boolean isDecided() {
    return whole && underWay.isEmpty() && endOfLine() < 0;
  }

  private static Fault undecided() {
    return HttpFailures.fault(HttpFailures.storeIsLate());
  }

  /** Why a stream ends whose body has not ended in time. */
  static Fault tooLate() {
    return Fault.ofStatus(HttpStatus.REQUEST_TIMEOUT, "the request took too long to arrive");
  }

  private static Fault notRead() {
    return Fault.ofStatus(
        HttpStatus.REQUEST_TIMEOUT,
        "the answers were not read in time; up to %s lines from this one on may have been decided"
            .formatted(MOST_UNREAD));
  }

  /** Ends without the lines that have no answer yet. */
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

  /** Sends, collects and writes whatever can be now. */
  private void advance() {
    if (unread > 0 || ending || !response.isOpen()) {
      return; // a client that went away decides nothing more
    }
    told.set(true); // what is decided at once need not tell
    boolean fits = send();
    told.set(false); // before the look: what is decided from now on tells again
    byte[] piece = decided();
    if (piece.length > 0) {
      begin();
      write(HttpData.wrap(piece), piece.length);
      return;
    }
    if (!fits && underWay.isEmpty()) {
      stop(
          Fault.refused(
              RefusedException.overloaded("no room for the answer; try again in a second")));
    }
    if (whole && underWay.isEmpty()) {
      end();
    }
  }

  /** Sends what may be under way; false if the budget has no room for the next line. */
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

  /** Returns where the next line ends; -1 if that is not here, or there is none. */
  private int endOfLine() {
    while (seen < size && lines[seen] != '\n') {
      objects += lines[seen] == '{' ? 1 : 0;
      seen++;
    }
    boolean isLast = seen == size && whole && fault == null && start < size;
    return seen < size || isLast ? seen : -1;
  }

  /** Takes the next answers that are known; empty if there are none. */
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

  /** Never fails: a line that cannot be decided has an answer that says why. */
  private void decide(Line line, int offset, int length) {
    try {
      WireRequest wire = READER.read(lines, offset, length);
      Act act = wire.act();
      if (counted) {
        caller.countRequest();
      }
      counted = true; // the first one, with the request
      Stages.onEnd(
          acts.send(act, wire, caller),
          (decision, failure) ->
              line.answered(
                  failure == null
                      ? line(act, wire, decision)
                      : Answers.line(HttpFailures.fault(failure, act == Act.CHECK), line.number)));
    } catch (RuntimeException e) {
      line.answered(Answers.line(HttpFailures.fault(e), line.number));
    }
  }

  private static byte[] line(Act act, WireRequest wire, Optional<Decision> decision) {
    return act == Act.RESET
        ? Answers.line(json -> DecisionWriter.writeReset(decision, json))
        : Answers.line(json -> DecisionWriter.write(decision.orElseThrow(), wire.isBatch(), json));
  }
}
