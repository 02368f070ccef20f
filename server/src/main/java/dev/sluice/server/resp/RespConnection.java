// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import dev.sluice.server.access.Access;
import dev.sluice.server.access.AuditLog.Noted;
import dev.sluice.server.access.Caller;
import dev.sluice.server.access.Identity;
import dev.sluice.server.access.Permission;
import dev.sluice.server.base.RefusedException;
import dev.sluice.server.net.Client;
import dev.sluice.server.net.ConnectionBudget;
import dev.sluice.server.resp.Command.CommandTable;
import dev.sluice.server.resp.ErrorReplies.AccessRefusals;
import dev.sluice.server.resp.ErrorReplies.ProtocolException;
import dev.sluice.server.resp.ErrorReplies.UnknownCommand;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.DuplexChannel;
import io.netty.handler.ssl.SslHandler;
import java.net.SocketAddress;
import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/*
 * All requests of one read are answered by one write. While the client does not read its replies,
 * or while too many of its requests wait for the store, the server reads no further bytes from the
 * connection. The server keeps the bytes that it has already read: the current request, and at most
 * the bytes of one read. All bytes that the server keeps count in its memory budget.
 */

/** One connection of a Redis client: parses requests, calls commands, and sends replies. */
final class RespConnection extends Client {

  /** The most bytes of requests that wait for the store: 1,024 typical requests. */
  private static final int MAX_WAITING_BYTES = 512 << 10;

  /** The number of reply bytes from which the connection sends replies before the end of a read. */
  private static final int SEND_AT = 32 << 10;

  private static final long LINGER_MILLIS = 500;
  private static final long NEVER = Long.MIN_VALUE;

  /** Stands for every unknown command, which counts as a request like any other. */
  private static final Command UNKNOWN =
      Command.of(
          "UNKNOWN [argument...]",
          Permission.NOTHING,
          "Replies with an error",
          (request, session) -> session.error("ERR", UnknownCommand.error(request)));

  private final CommandTable commands;
  private final long idleNanos;
  private final RequestReader reader = new RequestReader();
  private final Replies replies;
  private final Session session;
  private @Nullable Command last; // the last command called
  private int uncounted; // calls of the last command that were not counted yet
  private boolean inputEnded;
  private boolean leaving; // whether the server reads no further bytes from the network
  private boolean ended;
  private long chargedBytes;
  private @Nullable ChannelFuture lastSent; // the last write that did not finish at once

  // What the client must do, which it has not done since waitsSinceNanos: read replies, or complete
  // a request.
  private @Nullable ChannelFuture awaitedReading;
  private boolean awaitsRequest;

  // The event loop writes the next fields, and all threads read them.
  private volatile boolean busy;
  private volatile long quietSinceNanos = System.nanoTime();
  private volatile long waitsSinceNanos = NEVER; // since when the server has waited for the client

  RespConnection(
      ConnectionBudget.Accepted accepted,
      CommandTable commands,
      Access access,
      long id,
      long idleNanos) {
    super(accepted);
    this.commands = commands;
    this.idleNanos = idleNanos;
    this.replies = new Replies(channel.eventLoop(), reader.request(), this::goOn);
    this.session =
        new Session(
            id,
            channel.remoteAddress(),
            replies,
            new Identity(access, channel.remoteAddress(), this::tls));
  }

  private @Nullable SSLSession tls() {
    SslHandler handler = channel.pipeline().get(SslHandler.class);
    return handler == null ? null : handler.engine().getSession();
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object message) {
    ByteBuf read = (ByteBuf) message;
    if (ended) {
      read.release(); // the bytes arrived too late
      return;
    }
    reader.add(read);
    answer();
  }

  /** Handles more requests after a reply is known, or after the client has read replies. */
  private void goOn() {
    if (channel.isActive()) {
      answer();
    }
  }

  private void answer() {
    boolean asked = false;
    try {
      while (channel.isWritable() && replies.writeKnown()) {
        sendMuch();
      }
      while (!ended && !isFull() && next()) {
        asked = true;
        call(reader.request());
        ended |= session.isEnding();
        sendMuch();
      }
    } catch (ProtocolException e) {
      breaksProtocol(String.valueOf(e.getMessage()));
    } finally {
      count();
    }
    replies.settle();
    reader.keep();
    send();
    awaitsRequest &= !asked;
    account();
    endIfDone();
  }

  /** Finds the next request; if there is none and no bytes can arrive, ends the connection. */
  private boolean next() throws ProtocolException {
    boolean found = reader.next();
    ended |= !found && (inputEnded || leaving);
    return found;
  }

  private void call(Request request) {
    Command command = find(request);
    if (command == null && isHttp(request)) {
      breaksProtocol("found an HTTP request, expected the Redis protocol");
    } else {
      admitted(command == null ? UNKNOWN : command, request);
    }
  }

  /** Finds the command of a request. */
  private @Nullable Command find(Request request) {
    Command command = last;
    return command != null && command.isNamed(request, 0) ? command : commands.find(request, 0);
  }

  private void admitted(Command command, Request request) {
    try {
      if (!command.gathers()) {
        replies.settle(); // earlier requests are decided first
      }
      session.admit(command.need(), command.acts(request));
      count(command);
      command.call(request, session);
    } catch (RefusedException e) {
      if (request.is(0, ConnectionCommands.QUIT)) {
        session.end();
      }
      String code = AccessRefusals.code(e);
      String text = AccessRefusals.text(e, session.caller(), command);
      replies.error(code, text);
    }
  }

  /** Counts a call. */
  private void count(Command command) {
    if (command != last) {
      count();
      last = command;
    }
    uncounted++;
    if (!command.gathers()) {
      count();
    }
  }

  private void count() {
    Command called = last;
    if (called != null && uncounted > 0) {
      called.count(uncounted);
      uncounted = 0;
    }
  }

  /** Whether a request is HTTP. A web page can make a browser send HTTP to this port. */
  private static boolean isHttp(Request request) {
    return request.is(0, "POST") || request.is(0, "HOST:");
  }

  private void breaksProtocol(String how) {
    replies.error("ERR", "Protocol error: " + how);
    broken("RESP protocol error, " + how);
    ended = true;
  }

  private boolean isFull() {
    return replies.waitingBytes() >= MAX_WAITING_BYTES || !channel.isWritable();
  }

  private void sendMuch() {
    if (replies.writer().size() >= SEND_AT) {
      send();
    }
  }

  private void send() {
    ReplyWriter writer = replies.writer();
    int size = writer.size();
    if (size == 0) {
      return;
    }
    ByteBuf out = channel.alloc().directBuffer(size);
    writer.moveTo(out);
    ChannelFuture sent = channel.writeAndFlush(out);
    if (!sent.isDone()) { // the client reads slowly
      lastSent = sent;
      // The memory budget stays charged for the replies until the write has finished.
      sent.addListener(later -> channel.eventLoop().execute(this::account));
    }
  }

  /** Charges the budget for this connection, and updates the fields that the budget reads. */
  private void account() {
    if (!channel.isActive()) {
      return; // closing releases all charges
    }
    int held = reader.heldBytes();
    long unsent = unsentBytes();
    long owed = held + unsent + replies.waitingBytes();
    if (owed > chargedBytes && !charge(owed - chargedBytes, owed > RequestReader.MAX_REQUEST)) {
      close("no memory for more requests or replies; the connection held %s bytes");
      return;
    }
    if (owed < chargedBytes) {
      release(chargedBytes - owed);
    }
    chargedBytes = owed;
    long now = System.nanoTime();
    quietSinceNanos = now;
    busy = owed > 0;
    await(unsent > 0, held > 0 && replies.waiting() == 0, now);
    boolean reads = ended || (!leaving && !isFull());
    if (channel.config().isAutoRead() != reads) {
      channel.config().setAutoRead(reads);
    }
  }

  /** Records the wait for a client, which ends only when the client has read all replies. */
  private void await(boolean reading, boolean request, long now) {
    boolean comes = awaitsRequest || (awaitedReading != null && !awaitedReading.isDone());
    if (!reading && !request) {
      waitsSinceNanos = NEVER;
    } else if (waitsSinceNanos == NEVER || !comes) {
      waitsSinceNanos = now;
      awaitedReading = reading ? lastSent : null;
      awaitsRequest = request;
    }
  }

  private long unsentBytes() {
    ChannelOutboundBuffer unsent = channel.unsafe().outboundBuffer();
    return unsent == null ? 0 : unsent.totalPendingWriteBytes();
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext ctx) {
    if (channel.isWritable()) {
      channel.eventLoop().execute(this::goOn); // not during the current flush
    }
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
    if (event instanceof ChannelInputShutdownEvent) {
      inputEnded = true;
      goOn();
    }
  }

  /** Ends the connection if {@code ended} is set and every reply was written. */
  private void endIfDone() {
    if (!ended || replies.waiting() > 0 || !channel.isActive()) {
      return;
    }
    var sent = channel.writeAndFlush(channel.alloc().buffer(0));
    if (inputEnded) {
      sent.addListener(ChannelFutureListener.CLOSE);
    } else {
      sent.addListener(done -> endOutput());
    }
  }

  /**
   * Closes the sending side of the connection, but reads further input for {@value #LINGER_MILLIS}
   * ms. Unread input would reset the connection, and the client would lose the last replies.
   */
  private void endOutput() {
    SslHandler tls = channel.pipeline().get(SslHandler.class);
    if (tls == null) {
      shutdownOutput();
    } else {
      tls.closeOutbound().addListener(told -> shutdownOutput());
    }
    closeLater();
  }

  private void shutdownOutput() {
    var unused = ((DuplexChannel) channel).shutdownOutput();
  }

  private void closeLater() {
    var unused =
        channel.eventLoop().schedule(this::closeWhole, LINGER_MILLIS, TimeUnit.MILLISECONDS);
  }

  private void closeWhole() {
    var unused = channel.close();
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    failed(cause);
    var unused = ctx.close();
  }

  @Override
  protected boolean isIdle() {
    return !busy && !isDoomed();
  }

  @Override
  protected long quietNanos(long nowNanos) {
    return nowNanos - quietSinceNanos;
  }

  @Override
  protected long waitsForClientNanos(long nowNanos) {
    long since = waitsSinceNanos;
    return since == NEVER || isDoomed() ? 0 : nowNanos - since;
  }

  @Override
  protected @Nullable String lateness(long nowNanos, long mostNanos) {
    if (waitsForClientNanos(nowNanos) > mostNanos) {
      return "a request was not sent, or a reply not read, in time; the connection held %s bytes";
    }
    return isIdle() && quietNanos(nowNanos) > idleNanos ? "idle, with %s bytes in memory" : null;
  }

  /**
   * Closes the sending side once all requests are answered, since the Redis protocol has no message
   * for the end of a connection.
   */
  @Override
  protected void sayGoodbye() {
    channel.eventLoop().execute(this::leave);
  }

  private void leave() {
    if (!leaving) {
      leaving = true;
      goOn();
    }
  }

  /** The state of one connection's client. Only the connection's thread may use this object. */
  static final class Session {

    private final long id;
    private final SocketAddress remote;
    private final Replies replies;
    private final Identity identity;
    private Caller caller;
    private String clientName = "";
    private boolean counted; // whether admit() has counted the command, if it was admitted
    private boolean ending;

    Session(long id, SocketAddress remote, Replies replies, Identity identity) {
      this.id = id;
      this.remote = remote;
      this.replies = replies;
      this.identity = identity;
      this.caller = identity.anybody();
    }

    /** Returns a number that is unique among the connections of this server. */
    long id() {
      return id;
    }

    SocketAddress remote() {
      return remote;
    }

    Identity identity() {
      return identity;
    }

    Caller caller() {
      return caller;
    }

    /**
     * Identifies the caller of a command, and requires a permission; if the audit log records an
     * operation of the command, the role {@code admin}.
     */
    void admit(Permission command, List<Noted> acts) {
      Permission need = acts.isEmpty() ? command : Permission.ADMIN;
      counted = need != Permission.NOTHING;
      if (identity.isOpen()) {
        identity.admitStranger();
        caller = acts.isEmpty() ? identity.anybody() : identity.caller(need, acts);
      } else {
        caller = identity.caller(need, acts);
      }
      identity.require(caller, need);
    }

    /**
     * Counts a command that needs no permission, unless the client has sent a known token. {@link
     * #admit} cannot count such a command, since the command can contain a valid token.
     */
    void countWithoutToken() {
      identity.countWithoutToken();
    }

    /** Replies with an error, and counts the command if {@link #admit} has not counted it. */
    void error(String code, String text) {
      if (!counted) {
        countWithoutToken();
      }
      replies.error(code, text);
    }

    /** Records in the audit log that the command's operations, if any, were refused. */
    void noteRefused(String why) {
      identity.audit().refused(caller, "resp", why);
    }

    Replies replies() {
      return replies;
    }

    /** Returns the name that the client set, empty if the client set no name. */
    String clientName() {
      return clientName;
    }

    void clientName(String newName) {
      clientName = newName;
    }

    /** Closes the connection after all replies up to now are sent. */
    void end() {
      ending = true;
    }

    boolean isEnding() {
      return ending;
    }
  }
}
