package dev.sluice.redis;

import io.lettuce.core.RedisException;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.NestedMultiOutput;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One call of the script, and its answer. It knows whether the server may have seen it: what
 * certainly never left can be sent once more, and be said to have charged nothing. Thread-safe.
 */
final class ScriptCall extends CompletableFuture<List<Object>> {

  private final byte[][] keys;
  private final byte[] argument;
  private boolean abandoned; // guarded by this
  private @Nullable Wire lastWire; // guarded by this

  ScriptCall(byte[][] keys, byte[] argument) {
    this.keys = keys;
    this.argument = argument;
  }

  /** A call that never began. */
  static ScriptCall failed(Throwable failure) {
    ScriptCall call = new ScriptCall(new byte[0][], new byte[0]);
    call.notSent(failure);
    return call;
  }

  /** Asks by the script's digest, which the server should know. */
  Wire evalsha(StatefulConnection<byte[], byte[]> on) {
    return send(on, CommandType.EVALSHA, ChargeScript.DIGEST);
  }

  /** Asks with the whole script. */
  Wire eval(StatefulConnection<byte[], byte[]> on) {
    return send(on, CommandType.EVAL, ChargeScript.SOURCE);
  }

  private Wire send(StatefulConnection<byte[], byte[]> on, CommandType type, String script) {
    CommandArgs<byte[], byte[]> args =
        new CommandArgs<>(ByteArrayCodec.INSTANCE)
            .add(script)
            .add(keys.length)
            .addKeys(keys)
            .add(argument);
    Wire wire = new Wire(type, args);
    if (!begin(wire)) {
      wire.cancel();
      return wire;
    }
    try {
      var unused = on.dispatch(wire);
    } catch (RuntimeException e) {
      wire.completeExceptionally(e);
    }
    return wire;
  }

  private synchronized boolean begin(Wire wire) {
    if (!abandoned) {
      lastWire = wire;
    }
    return !abandoned;
  }

  synchronized boolean isAbandoned() {
    return abandoned;
  }

  /** It fails, and the server has certainly not seen it. */
  void notSent(Throwable failure) {
    completeExceptionally(new NotSentException(failure));
  }

  /**
   * Nobody waits for it any more: where it has not left yet, it never will. It does not complete
   * then.
   *
   * @return whether the server has certainly not seen it
   */
  boolean abandon() {
    Wire wire;
    synchronized (this) {
      abandoned = true;
      wire = lastWire;
    }
    if (wire != null) {
      wire.cancel();
    }
    return wire == null;
  }

  /**
   * One command on its way; a call takes two where the server does not know the script.
   *
   * <p>In a Cluster the client connects anew by itself, and writes again what had no answer yet,
   * abandoned or not. The server may have run it. So a PING goes out in the place of a command that
   * is done or that was sent before: the client expects one answer for each command that it writes.
   */
  static final class Wire extends AsyncCommand<byte[], byte[], List<Object>> {

    private static final Command<byte[], byte[], byte[]> IN_ITS_PLACE =
        new Command<>(CommandType.PING, null);

    private final boolean eval;
    private final Answer answer;
    private volatile boolean sent;

    Wire(CommandType type, CommandArgs<byte[], byte[]> args) {
      this(type, args, new Answer());
    }

    private Wire(CommandType type, CommandArgs<byte[], byte[]> args, Answer answer) {
      super(new Command<>(type, answer, args));
      this.eval = type == CommandType.EVAL;
      this.answer = answer;
    }

    /** Whether it carries the whole script. */
    boolean isEval() {
      return eval;
    }

    /** Called by the client when it writes, and never before. */
    @Override
    public void encode(ByteBuf out) {
      if (sent && !answer.isError) {
        completeExceptionally(new RedisException("the connection broke after the call was sent"));
      }
      if (isDone()) {
        IN_ITS_PLACE.encode(out);
        return;
      }
      sent = true;
      answer.isError = false;
      super.encode(out);
    }

    /** Of a command that has ended: whether a byte of it may have left. */
    boolean wasSent() {
      return sent;
    }
  }

  /** Knows an error of the server, such as a redirection to another: the script has not run. */
  private static final class Answer extends NestedMultiOutput<byte[], byte[]> {

    private volatile boolean isError;

    Answer() {
      super(ByteArrayCodec.INSTANCE);
    }

    @Override
    public void setError(ByteBuffer error) {
      isError = true;
      super.setError(error);
    }
  }

  /** The call never left this process. */
  static final class NotSentException extends RuntimeException {
    private static final long serialVersionUID = 1;

    NotSentException(Throwable cause) {
      super(cause);
    }
  }
}
