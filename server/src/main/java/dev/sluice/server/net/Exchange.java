// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.ResponseHeaders;
import com.linecorp.armeria.server.DecoratingHttpServiceFunction;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.internal.async.Stages;
import dev.sluice.server.base.RefusedException;
import dev.sluice.server.net.AnyMethod.AskedByProxies;
import dev.sluice.server.net.Body.LateBodies;
import dev.sluice.server.net.ConnectionBudget.Stage;
import io.netty.channel.Channel;
import io.netty.util.AttributeKey;
import java.util.Objects;

/** One request until the client has read its response; only one event loop may use the object. */
final class Exchange implements Requests.HeldAnswers {

  /** The bytes charged for each request besides body and response: objects, buffers, timers. */
  static final int FIXED_BYTES = 16 << 10;

  static final AttributeKey<Exchange> KEY = AttributeKey.valueOf(Exchange.class, "exchange");

  private static final byte[] NO_BODY = new byte[0];

  /**
   * Once a stream's responses exceed {@link ConnectionBudget#LARGE} bytes, they are charged to the
   * memory budget in steps of this size.
   */
  private static final int ANSWER_STEP = 16 << 10;

  private final Connection connection;
  private final long startNanos;
  private long chargedBytes = FIXED_BYTES;
  private long responseBytes;
  private long answerBytes;
  private long answerChargedBytes;
  private boolean incomplete = true;
  private boolean waitsForClient = true;
  private boolean answered;
  private boolean ended;
  private boolean read;
  private boolean arriving;
  private byte[] body = NO_BODY;

  Exchange(Connection connection, long startNanos) {
    this.connection = connection;
    this.startNanos = startNanos;
  }

  static Exchange of(ServiceRequestContext context) {
    return Objects.requireNonNull(context.attr(KEY), "no exchange was begun for the request");
  }

  long startNanos() {
    return startNanos;
  }

  /** Whether the body is incomplete, or the client has not read the response. */
  boolean waitsForClient() {
    return waitsForClient;
  }

  /** Charges more body bytes to the memory budget; returns false if the budget has no room. */
  boolean grows(long bytes, boolean large) {
    if (ended || !connection.charge(bytes, large)) {
      return false;
    }
    chargedBytes += bytes;
    return true;
  }

  /** Gives the bytes of a dropped body back to the memory budget. */
  void shrinks(long bytes) {
    if (!arriving) {
      giveBack(bytes);
    }
  }

  private void giveBack(long bytes) {
    if (!ended) {
      connection.release(bytes);
      chargedBytes -= bytes;
    }
  }

  @Override
  public boolean hold(long bytes) {
    long more = chargeOf(answerBytes + bytes) - answerChargedBytes;
    if (more > 0) {
      if (!grows(more, true)) {
        return false;
      }
      answerChargedBytes += more;
    }
    answerBytes += bytes;
    return true;
  }

  @Override
  public void drop(long bytes) {
    answerBytes -= bytes;
    long spare = answerChargedBytes - chargeOf(answerBytes);
    if (spare > 0) {
      giveBack(spare);
      answerChargedBytes -= spare;
    }
  }

  /**
   * Returns how many bytes of the budget a stream's responses take: 0 up to {@link
   * ConnectionBudget#LARGE} bytes.
   */
  private static long chargeOf(long answers) {
    return answers <= ConnectionBudget.LARGE
        ? 0
        : (answers + ANSWER_STEP - 1) / ANSWER_STEP * ANSWER_STEP;
  }

  /**
   * Returns the nanoseconds until the client must have read the response; soon after this time, the
   * server closes the connection.
   */
  long nanosLeft() {
    return connection.exchangeNanos() - (System.nanoTime() - startNanos);
  }

  boolean isIncomplete() {
    return incomplete;
  }

  /** Records that the body will be read to its end. */
  void read() {
    read = true;
  }

  boolean isRead() {
    return read;
  }

  /** Records that a service reads the body, and can answer the request, while the body arrives. */
  void readsAsItArrives() {
    read = true;
    arriving = true;
  }

  void arrived(byte[] whole) {
    body = whole;
    arrived();
  }

  /** Returns the whole request body; empty if the server has not collected the body. */
  byte[] body() {
    return body;
  }

  void arrived() {
    incomplete = false;
    waitsForClient = answered;
    connection.changed();
  }

  /** Charges a response's bytes to the memory budget; returns false if the budget has no room. */
  boolean answered(long bytes) {
    incomplete &= arriving;
    answered = true;
    waitsForClient = true;
    responseBytes = bytes;
    connection.unread(bytes);
    connection.changed();
    return bytes <= ConnectionBudget.LARGE || grows(bytes, true);
  }

  void ended() {
    ended = true;
    connection.end(this, chargedBytes, responseBytes);
  }

  boolean isLast() {
    return connection.isLast();
  }

  /** Charges requests, before their bodies are read, and unread responses to the memory budget. */
  record BudgetDecorator(ConnectionBudget traffic) implements DecoratingHttpServiceFunction {

    private static final String CLOSE = "close";

    @Override
    public HttpResponse serve(HttpService next, ServiceRequestContext context, HttpRequest request)
        throws Exception {
      Channel channel =
          Objects.requireNonNull(context.log().partial().channel(), "the request has no channel");
      Connection connection = Connection.of(channel);
      Exchange exchange = connection.begin(context.sessionProtocol().isMultiplex());
      if (exchange == null) {
        if (!connection.leavesAnswersUnread()) {
          traffic.refusedRequest(connection);
        }
        throw RefusedException.overloaded("no memory for more requests; try again in a second");
      }
      Stages.onSuccess(context.log().whenComplete(), log -> inLoop(channel, exchange::ended));
      context.setAttr(Exchange.KEY, exchange);
      boolean bodiless = !request.isEmpty() && AskedByProxies.serves(context);
      HttpResponse response =
          bodiless ? servedWithoutBody(next, context, request) : next.serve(context, request);
      return response.mapHeaders(
          headers -> answered(context, connection, exchange, headers, bodiless));
    }

    /** Answers a request without waiting for its body. */
    private static HttpResponse servedWithoutBody(
        HttpService next, ServiceRequestContext context, HttpRequest request) {
      HttpResponse response = Requests.pass(next, context, HttpRequest.of(request.headers()));
      if (context.sessionProtocol().isMultiplex()) {
        LateBodies.drop(request);
      } else {
        request.abort();
      }
      return response;
    }

    private ResponseHeaders answered(
        ServiceRequestContext context,
        Connection connection,
        Exchange exchange,
        ResponseHeaders headers,
        boolean bodiless) {
      if (headers.status().isInformational()) {
        return headers;
      }
      traffic.answered();
      if (!exchange.answered(Math.max(0, headers.contentLength()))) {
        traffic.close(connection, "no memory for more responses; the connection held %s bytes");
      }
      boolean ends =
          !context.sessionProtocol().isMultiplex()
              && (bodiless || (traffic.stage() == Stage.CLOSING && exchange.isLast()));
      return ends ? headers.withMutations(h -> h.set(HttpHeaderNames.CONNECTION, CLOSE)) : headers;
    }

    private static void inLoop(Channel channel, Runnable task) {
      if (channel.eventLoop().inEventLoop()) {
        task.run();
      } else {
        channel.eventLoop().execute(task);
      }
    }
  }
}
