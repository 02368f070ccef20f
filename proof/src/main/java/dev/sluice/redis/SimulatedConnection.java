// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.internal.async.Stages;
import dev.sluice.redis.SimulatedServer.Command;
import dev.sluice.redis.World.Actor;
import io.lettuce.core.RedisException;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * A simulated connection from a process to a server. Messages arrive in the order in which they
 * were sent, unless the plan lets requests overtake each other. A fault can cut the connection, so
 * that requests or answers are lost. With some faults, the client does not notice the cut.
 */
final class SimulatedConnection implements Connection {

  private final World world;
  private final Dice dice;
  private final Actor io; // the client's thread, which receives answers
  private final int process;
  private final String name;
  private final SimulatedServer server;
  private final long latencyNanos;
  private final boolean overtaking;
  private final LongSupplier slower;
  private final Consumer<Command> sends;
  private final Set<Sent> outstanding = new LinkedHashSet<>();
  private boolean open = true; // whether the client considers the connection open
  private boolean reaches = true; // whether requests arrive at the server
  private boolean answers = true; // whether answers arrive at the client
  private Runnable onBroken = () -> {};
  private long lastToServer;
  private long lastToClient;

  /**
   * The network between a process and its servers.
   *
   * @param io the thread on which answers arrive
   * @param latencyNanos the travel time of a message
   * @param overtaking whether a request can overtake earlier requests
   * @param slower returns the current additional travel time of requests
   * @param sends receives each command when the process sends the command
   */
  record Wire(
      Actor io,
      long latencyNanos,
      boolean overtaking,
      LongSupplier slower,
      Consumer<Command> sends) {}

  SimulatedConnection(
      World world, Dice dice, Wire wire, int process, String name, SimulatedServer server) {
    this.slower = wire.slower;
    this.sends = wire.sends;
    this.world = world;
    this.process = process;
    this.dice = dice;
    this.io = wire.io;
    this.name = name;
    this.server = server;
    this.latencyNanos = wire.latencyNanos;
    this.overtaking = wire.overtaking;
    server.accept(this);
  }

  int process() {
    return process;
  }

  @Override
  public boolean isOpen() {
    return open;
  }

  boolean reachesServer() {
    return reaches;
  }

  /** Sets an action that runs when the client notices that the connection is closed. */
  void onBroken(Runnable told) {
    onBroken = told;
  }

  SimulatedServer server() {
    return server;
  }

  private long delay() {
    return dice.between(latencyNanos / 2, latencyNanos * 2);
  }

  @Override
  public Exchange exchange(boolean whole, byte[][] keys, byte[] argument) {
    return new Sent(new Command(whole, keys, argument));
  }

  /** Sends an SQL statement. Returns the only row of the statement's result. */
  CompletableFuture<List<Object>> ask(Command query) {
    Sent sent = new Sent(query);
    sent.send();
    return sent.typed;
  }

  @Override
  public CompletionStage<String> ping() {
    CompletableFuture<String> pong = new CompletableFuture<>();
    Sent sent = new Sent(Command.ping());
    Stages.onEnd(
        sent.answer,
        (answer, failure) -> {
          if (failure == null) {
            pong.complete(String.valueOf(answer));
          } else {
            pong.completeExceptionally(failure);
          }
        });
    sent.send();
    return pong;
  }

  @Override
  public CompletionStage<Void> closeAsync() {
    close();
    return CompletableFuture.completedFuture(null);
  }

  void close() {
    if (open) {
      server.leave(this);
      brokenForClient("Connection closed");
    }
  }

  // Faults

  /** The ways in which a connection can be cut. */
  enum Cut {
    /** Requests and answers in flight are lost, and the client notices the cut. */
    REQUESTS(false, false),
    /** Requests in flight arrive, answers are lost, and the client notices the cut. */
    ANSWERS(false, true),
    /** All requests and answers are lost, and the client does not notice the cut. */
    SILENTLY(true, false),
    /** All requests arrive, all answers are lost, and the client does not notice the cut. */
    ANSWERS_SILENTLY(true, true);

    final boolean isSilent;
    final boolean reaches;

    Cut(boolean isSilent, boolean reaches) {
      this.isSilent = isSilent;
      this.reaches = reaches;
    }
  }

  void cut(Cut how) {
    world.log(() -> this + " is cut: " + how);
    answers = false;
    reaches = how.reaches;
    if (!how.isSilent) {
      brokenByServer(delay());
    }
  }

  /** Returns whether the connection is cut, but the client considers the connection open. */
  boolean isSilent() {
    return open && !answers;
  }

  /** Closes the connection on the server's side, which the client notices after {@code nanos}. */
  void brokenByServer(long nanos) {
    answers = false;
    world.after(nanos, io, () -> brokenForClient("Connection reset by peer"));
  }

  private void brokenForClient(String words) {
    if (!open) {
      return;
    }
    open = false;
    answers = false;
    server.leave(this);
    List<Sent> lost = new ArrayList<>(outstanding);
    outstanding.clear();
    world.log(() -> this + " is closed with " + lost.size() + " calls in flight");
    lost.forEach(sent -> sent.fail(new RedisException(words)));
    onBroken.run();
  }

  /** Returns the moment at which a request that is sent now arrives at the server. */
  private long arrival() {
    long slowness = slower.getAsLong();
    if (slowness > 0) {
      return world.now() + delay() + slowness;
    }
    if (overtaking && dice.chance(25)) {
      return world.now() + delay() + dice.between(0, 2 * latencyNanos);
    }
    lastToServer = Math.max(lastToServer + 1, world.now() + delay());
    return lastToServer;
  }

  private void send(Sent sent, Consumer<Object> answer) {
    sends.accept(sent.command);
    sent.command.leavesUntil(world.now() + 4 * latencyNanos);
    server.command(
        arrival(),
        this,
        sent.command,
        result -> {
          if (!answers) {
            return;
          }
          lastToClient = Math.max(lastToClient + 1, world.now() + delay());
          world.at(
              lastToClient,
              io,
              () -> {
                if (answers && outstanding.remove(sent)) {
                  answer.accept(result);
                }
              });
        });
  }

  private final class Sent implements Exchange {

    private final Command command;
    private final CompletableFuture<Object> answer = new CompletableFuture<>();
    private final CompletableFuture<List<Object>> typed;
    private boolean sent;

    @SuppressWarnings("unchecked") // the reply of the script is a list
    Sent(Command command) {
      this.command = command;
      this.typed = answer.thenApply(value -> (List<Object>) value);
    }

    @Override
    public void send() {
      if (answer.isDone()) {
        return;
      }
      if (!open) {
        fail(new RedisException("Currently not connected. Commands are rejected."));
        return;
      }
      sent = true;
      outstanding.add(this);
      world.log(() -> SimulatedConnection.this + " sends " + command);
      SimulatedConnection.this.send(
          this,
          result -> {
            if (result instanceof Throwable failure) {
              fail(failure);
            } else {
              answer.complete(result);
            }
          });
    }

    private void fail(Throwable failure) {
      command.abandon();
      typed.completeExceptionally(failure);
      answer.completeExceptionally(failure);
    }

    @Override
    public CompletionStage<List<Object>> answer() {
      return typed;
    }

    @Override
    public boolean wasSent() {
      return sent;
    }

    @Override
    public void cancel() {
      command.abandon();
      typed.cancel(false);
      answer.cancel(false);
      // A cancelled request that was sent stays in `outstanding`, because its answer still arrives.
    }
  }

  @Override
  public String toString() {
    return name;
  }
}
