// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import java.net.SocketAddress;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** One client connection, of HTTP or Redis, for {@link ConnectionBudget}. */
public abstract class Client extends ChannelDuplexHandler {

  private final ConnectionBudget traffic;

  protected final Channel channel;

  private final Object key;
  private final ConnectionBudget.Peer peer;
  private final AtomicLong heldBytes = new AtomicLong();
  private final AtomicBoolean doomed = new AtomicBoolean();
  private volatile @Nullable ChannelHandlerContext context;

  protected Client(ConnectionBudget.Accepted accepted) {
    this.traffic = accepted.traffic();
    this.channel = accepted.channel();
    this.key = accepted.key();
    this.peer = accepted.peer();
  }

  @Override
  public void handlerAdded(ChannelHandlerContext added) throws Exception {
    context = added;
    super.handlerAdded(added);
  }

  /** Whether no request is in flight, so that closing loses no response. */
  protected abstract boolean isIdle();

  /** Returns the time since the last use of the connection, by {@link System#nanoTime}. */
  protected abstract long quietNanos(long nowNanos);

  /** Returns how long a request waits for its client; 0 while the client waits for the server. */
  protected abstract long waitsForClientNanos(long nowNanos);

  /**
   * Returns why the connection must be closed now.
   *
   * @param mostNanos the longest time from the start of a request until its response was read
   * @return the reason for the log, in which {@code %s} stands for the bytes of memory held for the
   *     connection; null to keep the connection
   */
  protected abstract @Nullable String lateness(long nowNanos, long mostNanos);

  /** Tells the client that the connection will end, if the protocol has such a message. */
  protected abstract void sayGoodbye();

  /** Returns the Netty handler's context, null before the handler was added to the pipeline. */
  protected final @Nullable ChannelHandlerContext context() {
    return context;
  }

  /**
   * Charges memory for the client to the budget; returns false if the budget has no room. Large
   * charges can fill only half of the budget, to leave room for small requests.
   */
  protected final boolean charge(long bytes, boolean large) {
    return !doomed.get() && traffic.tryCharge(this, bytes, large);
  }

  protected final void release(long bytes) {
    if (!doomed.get()) {
      traffic.charge(this, -bytes);
    }
  }

  /** Closes the connection and logs why; {@code %s} stands for the connection's bytes. */
  protected final void close(String why) {
    traffic.close(this, why);
  }

  /** Logs that the client sent malformed data; the connection stays open. */
  protected final void broken(String what) {
    traffic.brokenBy(channel, what);
  }

  /** Logs why the connection failed; does not close the connection. */
  protected final void failed(Throwable cause) {
    traffic.failed(channel, cause);
  }

  final void releaseAll() {
    traffic.charge(this, -heldBytes.get());
  }

  final void hold(long bytes) {
    heldBytes.addAndGet(bytes);
  }

  /** Closes the connection immediately; returns false if the connection is already closing. */
  @CanIgnoreReturnValue
  final boolean closeNow() {
    if (!doomed.compareAndSet(false, true)) {
      return false;
    }
    traffic.forget(this);
    long held = heldBytes();
    traffic.closing(held);
    channel.closeFuture().addListener(closed -> traffic.closing(-held));
    releaseAll();
    channel.eventLoop().execute(this::closeHard);
    return true;
  }

  private void closeHard() {
    ChannelHandlerContext ctx = context;
    if (ctx != null && channel.isActive()) {
      channel.config().setOption(ChannelOption.SO_LINGER, 0); // drops unread bytes
      channel.unsafe().close(channel.newPromise()); // no handler delays the close, not even TLS
    }
  }

  protected final boolean isDoomed() {
    return doomed.get();
  }

  /** Returns the longest time from the start of a request until its response was read. */
  final long exchangeNanos() {
    return traffic.exchangeNanos();
  }

  final Object key() {
    return key;
  }

  final ConnectionBudget.Peer peer() {
    return peer;
  }

  final SocketAddress remoteAddress() {
    return channel.remoteAddress();
  }

  final long heldBytes() {
    return heldBytes.get();
  }
}
