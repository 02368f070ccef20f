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
 * A valve at the very beginning of the pipeline. It passes on what was read in small slices, and
 * only while the client reads what it asked for. A single read may hold hundreds of pipelined
 * requests, each with a response a thousand times its size. While the valve is shut, nothing more
 * is read.
 *
 * HTTP/2 has windows of its own for responses, and the frames that open them must come in. Its
 * valve shuts only where the network does not take what is written; its unread responses are
 * bounded by the number of streams and by the budget.
 */

/**
 * One connection and its requests in flight. The library answers all requests of one read at once,
 * however many there are, and keeps what the client does not read; this bounds both. Belongs to its
 * event loop, but for what says so.
 */
final class Connection extends Client {

  /** The most requests of one HTTP/1.1 connection before its next answer; more are read then. */
  static final int MAX_PIPELINED = 64;

  /** The most bytes of unread responses of one connection, before it is read no further. */
  static final long MAX_UNREAD = 256 << 10;

  private static final AttributeKey<Connection> KEY =
      AttributeKey.valueOf(Connection.class, "connection");
  private static final long PASSING_ON_MILLIS = 2_000;
  private static final int SLICE = 256;

  /** Shows the library which protocol it is, and is shorter than any request. */
  private static final int FIRST_SLICE = 8;

  /** Larger: the number of streams and the budget bound what it asks for. */
  private static final int HTTP2_SLICE = 1 << 10;

  private static final int MAX_LOOSE = 64 << 10;

  /** Most requests have smaller headers and are not charged for them. */
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

  // Written by the event loop, read by all; racy, benign because they only choose who goes first.
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

  /** The end of what a client sends must not overtake what it sent before. */
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
          close("no room for its headers; it held %s bytes");
          drop(); // at once: thousands may be refused before the first of them is closed
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

  /** Charges what arrives while no request is in flight: headers that may never end. */
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
      forgetLoose(); // frames that were dealt with: no headers are as large
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

  /** Joins the library's handlers, which come when it has seen which protocol it is. */
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

  /** An HTTP/2 connection that ends with an error is worth one line, not a stack trace. */
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

  /**
   * Not at once: this may be called amid a flush, and what goes on may flush too. Not as a plain
   * task either: the loop runs all tasks, and those that they lead to, before it looks for what
   * other clients sent. What is scheduled comes after that.
   */
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

  /** A request of HTTP/1.1 came in, which may be refused before it begins. */
  void asked() {
    unanswered++;
  }

  /**
   * To be told when an answer of HTTP/1.1 went out as a whole. Not when it is made: all that one
   * read has brought would be answered in a single turn of the event loop.
   */
  ChannelFutureListener answered() {
    return answered;
  }

  private void wentOut() {
    unanswered--;
    refusing &= unanswered > 0;
    resumeSoon();
  }

  /**
   * Begins a request; null if the budget does not allow it. Over HTTP/1.1, no more are read then
   * until all are answered: refusals too are in memory while they wait for their turn.
   */
  @Nullable Exchange begin(boolean multiplex) {
    if (multiplex && unreadBytes >= MAX_UNREAD) {
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

  /** Bodies that are under way inside get a moment; those that are still incomplete never end. */
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

  /** Closes when all is answered that a client asked before it ended its side. */
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

  /** Whether this is the only request that the client waits for. */
  boolean isLast() {
    return exchanges.size() == 1 && held.isEmpty();
  }

  /** The oldest request began, went on, or ended. */
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

  /** Tells an HTTP/2 client; one of HTTP/1.1 is told by its next response. */
  @Override
  protected void sayGoodbye() {
    if (http2 && saidGoodbye.compareAndSet(false, true)) {
      // The library's way: GOAWAY, the ends of the streams, then the close.
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
        ? "a response was not read in time; it held %s bytes"
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
