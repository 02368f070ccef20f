// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.CombinedChannelDuplexHandler;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2ConnectionAdapter;
import io.netty.handler.codec.http2.Http2ConnectionHandler;
import io.netty.util.AttributeKey;
import java.util.ArrayDeque;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/*
 * This class is the first handler of the Netty pipeline, and works as a valve. The valve passes the
 * received bytes on in small slices, and only while the client reads its responses. One read from
 * the network can contain hundreds of pipelined requests, and a response can be a thousand times as
 * large as its request. While the valve is shut, the server reads nothing from the connection.
 *
 * In HTTP/2, the server must read the client's WINDOW_UPDATE frames to send more response bytes. So
 * the valve of an HTTP/2 connection shuts only while the network accepts no bytes. The number of
 * streams and the budget bound the unread HTTP/2 responses.
 */

/**
 * One connection and its requests in flight. Armeria answers all requests of one read at once, and
 * buffers all unread responses; this class bounds the requests and the responses. Only the
 * connection's event loop may call methods of this class, except where noted.
 */
final class Connection extends Client {

  /** The most unanswered requests of one HTTP/1.1 connection. */
  static final int MAX_PIPELINED = 64;

  /** The most unread response bytes of a connection; at this size, the server reads no requests. */
  static final long MAX_UNREAD = 256 << 10;

  private static final AttributeKey<Connection> KEY =
      AttributeKey.valueOf(Connection.class, "connection");
  private static final long PASSING_ON_MILLIS = 2_000;
  private static final int SLICE = 256;

  /** The bytes of the first slice of input: they show the protocol, but hold no whole request. */
  private static final int FIRST_SLICE = 8;

  /**
   * The bytes of an HTTP/2 input slice: many, since the stream limit and the budget bound requests.
   */
  private static final int HTTP2_SLICE = 1 << 10;

  private static final int MAX_LOOSE = 64 << 10;

  /** The server charges headers to the budget in steps of this size; short headers cost nothing. */
  private static final int LOOSE_STEP = 1 << 10;

  private static final long NEVER = Long.MIN_VALUE;

  private final ArrayDeque<ByteBuf> held = new ArrayDeque<>();
  private final Set<Exchange> exchanges = new LinkedHashSet<>();
  private @Nullable Object heldEvent;
  private boolean begun;
  private boolean forwarding;
  private boolean paused;
  private boolean resumes;
  private volatile boolean http2;
  private boolean inputEnded;
  private final AtomicBoolean saidGoodbye = new AtomicBoolean();
  private final ChannelFutureListener answered = written -> wentOut();
  private int unanswered;
  private boolean refusing;
  private long unreadBytes;
  private long looseBytes;
  private long looseChargedBytes;
  private long looseSinceNanos;

  // The event loop writes the next fields, and all threads read them. Stale values of these fields
  // are harmless: they only decide which connection is closed first.
  private volatile int requests;
  private volatile long oldestNanos = NEVER;
  private volatile boolean waitsForClient;
  private volatile long quietSinceNanos = System.nanoTime();

  Connection(ConnectionBudget.Accepted accepted) {
    super(accepted);
    channel.attr(KEY).set(this);
  }

  static Connection of(Channel channel) {
    return channel.attr(KEY).get();
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext removed) {
    drop();
  }

  private void drop() {
    held.forEach(ByteBuf::release);
    held.clear();
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object message) {
    if (message instanceof ByteBuf bytes) {
      held.add(bytes);
      forward(ctx);
    } else {
      ctx.fireChannelRead(message);
    }
  }

  /** Delays the event for the end of the input until all earlier bytes were passed on. */
  @Override
  public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
    boolean ends = event instanceof ChannelInputShutdownEvent;
    inputEnded |= ends;
    if (ends && !held.isEmpty()) {
      heldEvent = event;
      return;
    }
    ctx.fireUserEventTriggered(event);
    if (ends) {
      inputEnds();
    }
  }

  private void forward(ChannelHandlerContext ctx) {
    if (forwarding) {
      return;
    }
    forwarding = true;
    try {
      while (!held.isEmpty() && !isShut()) {
        ByteBuf next = held.element();
        int most = !begun ? FIRST_SLICE : http2 ? HTTP2_SLICE : SLICE;
        boolean last = next.readableBytes() <= most;
        ByteBuf slice = last ? held.remove() : next.readRetainedSlice(most);
        if (!charged(slice.readableBytes())) {
          slice.release();
          close("no memory for more headers; the connection held %s bytes");
          drop(); // closes at once, since thousands of refused connections could be open together
          return;
        }
        ctx.fireChannelRead(slice);
        if (!http2) {
          greet(ctx);
        }
      }
    } finally {
      forwarding = false;
    }
    pauseIfShut();
    Object event = heldEvent;
    if (held.isEmpty() && event != null) {
      heldEvent = null;
      ctx.fireUserEventTriggered(event);
      inputEnds();
    }
  }

  private void pauseIfShut() {
    if (!paused && (isShut() || !held.isEmpty())) {
      paused = true;
      channel.config().setAutoRead(false);
    }
  }

  /**
   * Charges the memory budget for bytes that arrive while no request is in flight, since a client
   * can send endless headers.
   */
  private boolean charged(int bytes) {
    if (!exchanges.isEmpty()) {
      return true;
    }
    if (looseBytes == 0) {
      looseSinceNanos = System.nanoTime();
      quietSinceNanos = looseSinceNanos;
    }
    looseBytes += bytes;
    if (http2 && looseBytes > MAX_LOOSE) {
      forgetLoose(); // headers cannot be so large, so the bytes were HTTP/2 frames
    }
    boolean fits = true;
    if (looseBytes - looseChargedBytes > LOOSE_STEP) {
      fits = charge(LOOSE_STEP, false);
      looseChargedBytes += fits ? LOOSE_STEP : 0;
      changed();
    }
    return fits;
  }

  private void forgetLoose() {
    release(looseChargedBytes);
    looseChargedBytes = 0;
    looseBytes = 0;
  }

  /** Adds this server's handlers after Armeria's own handlers of the protocol. */
  private void greet(ChannelHandlerContext ctx) {
    ChannelPipeline pipeline = ctx.pipeline();
    Http2ConnectionHandler handler = pipeline.get(Http2ConnectionHandler.class);
    if (handler != null) {
      AnyMethod.acceptFrom(handler.decoder());
      greetHttp2(handler.connection());
    } else if (!begun) {
      ChannelHandlerContext decoder = pipeline.context(CombinedChannelDuplexHandler.class);
      begun = decoder != null;
      if (decoder != null) {
        pipeline.addAfter(decoder.name(), null, Http1Messages.INSTANCE);
      }
    }
  }

  /** Sets up HTTP/2. Logs an error that ends the connection in one line, without a stack trace. */
  private void greetHttp2(Http2Connection connection) {
    begun = true;
    http2 = true;
    connection.addListener(
        new Http2ConnectionAdapter() {
          @Override
          public void onGoAwaySent(int lastStreamId, long errorCode, ByteBuf debugData) {
            if (errorCode != 0) {
              broken("HTTP/2 error " + errorCode);
            }
          }
        });
  }

  private boolean isShut() {
    return isDoomed()
        || !channel.isWritable()
        || (!http2 && (refusing || unanswered >= MAX_PIPELINED || unreadBytes >= MAX_UNREAD));
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext ctx) {
    ctx.fireChannelWritabilityChanged();
    pauseIfShut();
    resumeSoon();
  }

  /** Resumes reading the connection's input in a scheduled task. */
  private void resumeSoon() {
    if (resumes || !paused || isDoomed()) {
      return;
    }
    resumes = true;
    var unused = channel.eventLoop().schedule(this::resume, 0, TimeUnit.NANOSECONDS);
  }

  private void resume() {
    resumes = false;
    ChannelHandlerContext ctx = context();
    if (ctx == null || ctx.isRemoved()) {
      return;
    }
    if (!held.isEmpty()) {
      forward(ctx);
      ctx.fireChannelReadComplete();
    }
    if (held.isEmpty() && !isShut()) {
      paused = false;
      channel.config().setAutoRead(true);
    }
  }

  /** Counts an HTTP/1.1 request that has arrived; the server can still refuse the request. */
  void asked() {
    unanswered++;
  }

  /** Returns a listener to be called when an HTTP/1.1 response was completely written. */
  ChannelFutureListener answered() {
    return answered;
  }

  private void wentOut() {
    unanswered--;
    refusing &= unanswered > 0;
    resumeSoon();
  }

  /**
   * Whether the client has left so many bytes of answers unread that it begins no HTTP/2 request.
   */
  boolean leavesAnswersUnread() {
    return unreadBytes >= MAX_UNREAD;
  }

  /** Begins a request; returns null if the budget has no room. */
  @Nullable Exchange begin(boolean multiplex) {
    if (multiplex && leavesAnswersUnread()) {
      return null;
    }
    forgetLoose();
    Exchange exchange = new Exchange(this, System.nanoTime());
    if (!charge(Exchange.FIXED_BYTES, false)) {
      refusing = unanswered > 0;
      return null;
    }
    exchanges.add(exchange);
    changed();
    return exchange;
  }

  void end(Exchange exchange, long chargedBytes, long responseBytes) {
    if (exchanges.remove(exchange)) {
      release(chargedBytes);
      unreadBytes -= responseBytes;
      changed();
      resumeSoon();
      endIfAllAre(other -> false);
    }
  }

  /**
   * Handles the end of the client's input. Two seconds after the input's end, a request whose body
   * is still incomplete counts as ended, since the rest of the body cannot arrive.
   */
  private void inputEnds() {
    endIfAllAre(exchange -> false);
    var unused =
        channel
            .eventLoop()
            .schedule(
                () -> endIfAllAre(Exchange::isIncomplete),
                PASSING_ON_MILLIS,
                TimeUnit.MILLISECONDS);
  }

  /**
   * Closes a connection whose client has closed its sending side, if all requests in flight, if
   * any, pass the test {@code hopeless}.
   */
  private void endIfAllAre(Predicate<Exchange> hopeless) {
    ChannelHandlerContext ctx = context();
    if (ctx != null
        && inputEnded
        && !forwarding
        && held.isEmpty()
        && heldEvent == null
        && exchanges.stream().allMatch(hopeless)) {
      var unused = ctx.close();
    }
  }

  void unread(long bytes) {
    unreadBytes += bytes;
  }

  /** Whether one request is in flight and no input of other requests is held back. */
  boolean isLast() {
    return exchanges.size() == 1 && held.isEmpty();
  }

  /** Updates the fields for other threads after a request began, progressed or ended. */
  void changed() {
    requests = exchanges.size();
    if (!exchanges.isEmpty()) {
      Exchange oldest = exchanges.iterator().next();
      oldestNanos = oldest.startNanos();
      waitsForClient = oldest.waitsForClient();
    } else if (looseChargedBytes > 0) {
      oldestNanos = looseSinceNanos;
      waitsForClient = true;
    } else {
      quietSinceNanos = System.nanoTime();
      oldestNanos = NEVER;
      waitsForClient = false;
    }
  }

  /** Ends an HTTP/2 connection with GOAWAY; over HTTP/1.1, the next response announces the end. */
  @Override
  protected void sayGoodbye() {
    if (http2 && saidGoodbye.compareAndSet(false, true)) {
      // Armeria sends GOAWAY, waits for the requests in flight, and closes the connection.
      channel.eventLoop().execute(this::closeGently);
    }
  }

  private void closeGently() {
    var unused = channel.close();
  }

  @Override
  protected boolean isIdle() {
    return requests == 0 && !isDoomed();
  }

  @Override
  protected long quietNanos(long nowNanos) {
    return nowNanos - quietSinceNanos;
  }

  @Override
  protected @Nullable String lateness(long nowNanos, long mostNanos) {
    return (requests > 0 || !http2) && ageNanos(nowNanos) > mostNanos
        ? "a response was not read in time; the connection held %s bytes"
        : null;
  }

  @Override
  protected long waitsForClientNanos(long nowNanos) {
    return waitsForClient && !isDoomed() ? ageNanos(nowNanos) : 0;
  }

  private long ageNanos(long nowNanos) {
    long since = oldestNanos;
    return since == NEVER ? 0 : nowNanos - since;
  }
}
