// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import io.lettuce.core.RedisException;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.NestedMultiOutput;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.output.ValueListOutput;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;

/** A Lettuce connection to a server or a Cluster. Thread-safe; never blocks. */
class LettuceConnection implements Connection {

  private final StatefulConnection<byte[], byte[]> wire;

  LettuceConnection(StatefulConnection<byte[], byte[]> wire) {
    this.wire = wire;
  }

  @Override
  public final boolean isOpen() {
    return wire.isOpen();
  }

  @Override
  public final Exchange exchange(boolean whole, byte[][] keys, byte[] argument) {
    CommandArgs<byte[], byte[]> args =
        new CommandArgs<>(ByteArrayCodec.INSTANCE)
            .add(whole ? ChargeScript.SOURCE : ChargeScript.DIGEST)
            .add(keys.length)
            .addKeys(keys)
            .add(argument);
    return new ScriptCommand(wire, whole ? CommandType.EVAL : CommandType.EVALSHA, args);
  }

  @Override
  public CompletionStage<String> ping() {
    AsyncCommand<byte[], byte[], String> ping =
        new AsyncCommand<>(
            new Command<>(CommandType.PING, new StatusOutput<>(ByteArrayCodec.INSTANCE)));
    dispatch(wire, ping);
    return ping;
  }

  @Override
  public final CompletionStage<List<String>> announce(byte[] key, String process, Duration time) {
    CommandArgs<byte[], byte[]> args =
        new CommandArgs<>(ByteArrayCodec.INSTANCE)
            .add(Roll.SOURCE)
            .add(1)
            .addKey(key)
            .add(process.getBytes(StandardCharsets.UTF_8))
            .add(time.toMillis());
    AsyncCommand<byte[], byte[], List<byte[]>> names =
        new AsyncCommand<>(
            new Command<>(CommandType.EVAL, new ValueListOutput<>(ByteArrayCodec.INSTANCE), args));
    dispatch(wire, names);
    return names.thenApply(
        all -> all.stream().map(name -> new String(name, StandardCharsets.UTF_8)).toList());
  }

  @Override
  public final CompletionStage<Void> closeAsync() {
    return wire.closeAsync();
  }

  private static <T> void dispatch(
      StatefulConnection<byte[], byte[]> on, AsyncCommand<byte[], byte[], T> command) {
    try {
      var unused = on.dispatch(command);
    } catch (Throwable e) {
      command.completeExceptionally(e);
    }
  }

  /**
   * A call of the script.
   *
   * <p>In a Cluster, Lettuce reconnects by itself and repeats commands without a response, although
   * the server may have run these commands. If Lettuce encodes a command that is done or was sent
   * before, this class writes a PING in place of the command, since Lettuce expects one response
   * for each command.
   */
  private static final class ScriptCommand extends AsyncCommand<byte[], byte[], List<Object>>
      implements Exchange {

    private static final Command<byte[], byte[], byte[]> IN_ITS_PLACE =
        new Command<>(CommandType.PING, null);

    private final StatefulConnection<byte[], byte[]> on;
    private final Answer answer;
    private volatile boolean sent;

    ScriptCommand(
        StatefulConnection<byte[], byte[]> on, CommandType type, CommandArgs<byte[], byte[]> args) {
      this(on, type, args, new Answer());
    }

    private ScriptCommand(
        StatefulConnection<byte[], byte[]> on,
        CommandType type,
        CommandArgs<byte[], byte[]> args,
        Answer answer) {
      super(new Command<>(type, answer, args));
      this.on = on;
      this.answer = answer;
    }

    /**
     * Encodes this command. Only Lettuce calls this method, and only when Lettuce writes the
     * command.
     */
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

    @Override
    public void send() {
      dispatch(on, this);
    }

    @Override
    public CompletionStage<List<Object>> answer() {
      return this;
    }

    @Override
    public boolean wasSent() {
      return sent;
    }
  }

  /**
   * A response that records server errors, such as redirections. If the response is an error, the
   * script did not run.
   */
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
}
