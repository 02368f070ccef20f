// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.gcra.Gcra;
import dev.sluice.redis.Reference.Asked;
import dev.sluice.redis.World.Actor;
import dev.sluice.store.BucketStore.Charge;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisNoScriptException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A simulated server with one thread, a clock, keys, faults, and perhaps a lagging replica. A Redis
 * server runs the script with {@link ScriptModel}. A PostgreSQL server runs statements with {@link
 * SimulatedDatabase}.
 */
final class SimulatedServer {

  private static final long NANOS_PER_MILLI = 1_000_000;
  private static final long NANOS_PER_MICRO = 1_000;

  final String name;
  final SimulatedClock clock;
  private final World world;
  private final Reference reference;
  private final Dice dice;
  private final Actor thread;
  private final Map<String, Stored> keys = new HashMap<>();
  private final List<SimulatedConnection> clients = new ArrayList<>();

  private boolean knowsScript;
  private boolean replica;
  private boolean up = true;
  private int life; // number of restarts; messages from before a restart never arrive
  private int role; // number of role changes; replication from before a change never arrives
  private long refusesSince;
  private long refusesUntil;
  private String refusal = "";
  private boolean refusesPing;
  private long outOfMemoryUntil;
  private long refusesSeveralUntil;
  private long frozenUntil;
  private long lastTrouble = Long.MIN_VALUE / 2;
  private @Nullable SimulatedServer follower;
  private long lagNanos;
  private long lastReplicated; // moment at which the latest replication message arrives
  private Function<byte[], @Nullable String> redirection = key -> null;
  private @Nullable SimulatedDatabase database; // null for Redis

  SimulatedServer(String name, World world, SimulatedClock clock, Reference reference, Dice dice) {
    this.name = name;
    this.world = world;
    this.clock = clock;
    this.reference = reference;
    this.dice = dice;
    this.thread = new Actor(name);
  }

  private record Stored(String value, long expiresAtMillis) {}

  // PostgreSQL

  void beDatabase() {
    database = new SimulatedDatabase(this, world, reference, dice, thread);
  }

  SimulatedDatabase database() {
    return Objects.requireNonNull(database);
  }

  /** Returns the TAT of a bucket on a PostgreSQL server. */
  long tatNanos(String key) {
    Stored stored = keys.get(key);
    return stored == null ? Gcra.NO_TAT : Long.parseUnsignedLong(stored.value);
  }

  void setTat(String key, long tatNanos) {
    if (tatNanos == Gcra.NO_TAT) {
      keys.remove(key);
      replicate(key, null);
    } else {
      Stored stored = new Stored(Long.toUnsignedString(tatNanos), Long.MAX_VALUE);
      keys.put(key, stored);
      replicate(key, stored);
    }
  }

  /** Deletes a full bucket on a PostgreSQL server. */
  void deleteFull(String key) {
    if (tatNanos(key) != Gcra.NO_TAT) {
      setTat(key, Gcra.NO_TAT);
      reference.expired(key);
    }
  }

  /** Returns whether calls with several keys are refused now. */
  boolean refusesSeveral() {
    return world.now() < refusesSeveralUntil;
  }

  // Faults

  void follow(SimulatedServer master, long lag) {
    replica = true;
    master.follower = this;
    master.lagNanos = lag;
  }

  /** Delays replication from now on. A delay does not change the order of replicated changes. */
  void lag(long nanos) {
    lagNanos = nanos;
  }

  /** Makes the server redirect calls for some keys, as a Cluster node does. */
  void redirect(Function<byte[], @Nullable String> newRedirection) {
    redirection = newRedirection;
  }

  boolean isUp() {
    return up;
  }

  boolean isReplica() {
    return replica;
  }

  /** Commits all transactions whose outcome is decided, if this is a PostgreSQL server. */
  void finishCommits() {
    SimulatedDatabase own = database;
    if (own != null) {
      own.finishCommits();
    }
  }

  /** Returns the moment at which the server's last fault ends, which can be in the future. */
  long lastTrouble() {
    SimulatedDatabase own = database;
    return LongStream.of(
            lastTrouble,
            refusesUntil,
            outOfMemoryUntil,
            frozenUntil,
            own == null ? lastTrouble : Math.max(own.locksLast(), own.readOnlyUntil()))
        .max()
        .getAsLong();
  }

  private void trouble() {
    lastTrouble = world.now();
  }

  void freeze(long nanos) {
    frozenUntil = Math.max(frozenUntil, world.now() + nanos);
    world.stall(thread, frozenUntil);
  }

  void refuse(String words, boolean pingToo, long nanos) {
    refusal = words;
    refusesPing = pingToo;
    refusesSince = world.now() < refusesUntil ? refusesSince : world.now();
    refusesUntil = world.now() + nanos;
    if (database != null && !pingToo) {
      database.beReadOnly(nanos);
    }
  }

  /**
   * Returns whether the server has refused calls for 0.1 s, and will refuse calls for 5 ms more. A
   * call that waited for another user's lock can have begun before the server refused calls.
   */
  boolean refusesCalls() {
    boolean refuses = world.now() < refusesUntil - 5_000_000 && !refusesPing;
    return up
        && refuses
        && world.now() - refusesSince > 100_000_000
        && !wasLockedSince(refusesSince);
  }

  /** Returns whether the server has refused all calls since a given moment. */
  boolean refusedAll(long since) {
    return world.now() < refusesUntil && refusesSince <= since;
  }

  /**
   * Returns whether the server may have refused a multi-key call, or a call because of another
   * user's lock, since a given moment.
   */
  boolean refusedSeveral(long since) {
    return refusesSeveralUntil > since || wasLockedSince(since);
  }

  private boolean wasLockedSince(long since) {
    SimulatedDatabase own = database;
    return own != null && own.locksLast() > since;
  }

  void runOutOfMemory(long nanos) {
    outOfMemoryUntil = world.now() + nanos;
    if (database != null) {
      database.fillDisk(nanos);
    }
  }

  /** Refuses multi-key calls for {@code nanos}, as a Cluster does while a slot moves. */
  void refuseSeveralKeys(long nanos) {
    refusesSeveralUntil = world.now() + nanos;
  }

  void forgetScript() {
    knowsScript = false;
    if (database != null) {
      database.forgetStatements();
    }
  }

  /** Kills the server. The server's connections close, and messages in flight are lost. */
  void kill(boolean keepsData, long downNanos) {
    up = false;
    life++;
    trouble();
    List.copyOf(clients).forEach(client -> client.brokenByServer(dice.between(20_000, 400_000)));
    clients.clear();
    if (database != null) {
      database.rollBack();
    }
    if (!keepsData) {
      if (database != null) {
        database.empty();
      }
      keys.keySet().forEach(key -> reference.lost(key, Gcra.NO_TAT));
      keys.clear();
    }
    world.after(
        downNanos,
        new Actor(name + ".init"),
        () -> {
          up = true;
          knowsScript = false;
          trouble();
        });
  }

  /** Promotes this replica to master. Changes that have not reached the replica are lost. */
  void promote() {
    replica = false;
    role++;
    trouble();
  }

  /** Reports to the {@link Reference} which keys of the old master this new master lacks. */
  void tookOverFrom(SimulatedServer master) {
    master.keys.forEach(
        (key, stored) -> {
          String own = get(key);
          if (!stored.value.equals(own)) {
            reference.lost(key, own == null ? Gcra.NO_TAT : Long.parseUnsignedLong(own));
          }
        });
  }

  /**
   * Makes this old master a replica of the new master, with the new master's keys. Closes all
   * connections unless {@code clientsStay}.
   */
  void demote(SimulatedServer master, boolean clientsStay) {
    trouble();
    replica = true;
    role++;
    follower = null;
    keys.clear();
    keys.putAll(master.keys);
    if (database != null) {
      database.rollBack();
    }
    if (!clientsStay) {
      life++;
      List.copyOf(clients).forEach(client -> client.brokenByServer(dice.between(20_000, 400_000)));
      clients.clear();
    }
  }

  /**
   * Moves keys to another server.
   *
   * @param which receives a map of all keys, and removes the keys that this server keeps
   */
  void migrate(SimulatedServer to, Consumer<Map<String, ?>> which) {
    Map<String, Stored> moving = new HashMap<>(keys);
    which.accept(moving);
    keys.keySet().removeAll(moving.keySet());
    to.keys.putAll(moving);
  }

  // Connections

  void accept(SimulatedConnection client) {
    clients.add(client);
  }

  void leave(SimulatedConnection client) {
    clients.remove(client);
  }

  /**
   * Receives a command.
   *
   * @param moment the moment at which the command arrives
   * @param answer receives the reply: a list, a status or an exception
   */
  void command(long moment, SimulatedConnection client, Command command, Consumer<Object> answer) {
    int now = life;
    world.at(
        moment,
        thread,
        () -> {
          if (!up || now != life || !client.reachesServer()) {
            return; // the command was lost
          }
          world.block(dice.between(200, 8_000));
          Consumer<Object> told =
              result -> {
                world.log(() -> name + " answers " + client + ": " + text(result));
                if (up && now == life) {
                  answer.accept(result);
                }
              };
          if (command instanceof SimulatedDatabase.Query query) {
            query.comesFrom(client.process());
            query(query, client, told);
          } else {
            told.accept(run(command, client.process()));
          }
        });
  }

  private void query(
      SimulatedDatabase.Query query, SimulatedConnection client, Consumer<Object> answer) {
    if (world.now() < refusesUntil && refusesPing) {
      answer.accept(SimulatedDriver.error("FATAL", "57P01", "terminating connection"));
      client.brokenByServer(dice.between(20_000, 400_000));
    } else {
      database().run(query, client, answer);
    }
  }

  /** A request from a client: the script, a PING, or an SQL statement. Not thread-safe. */
  static class Command {
    private final boolean whole;
    private final byte[][] keys;
    private final byte[] argument;
    private boolean abandoned;
    private long promptUntil = Long.MAX_VALUE; // simulated moment

    Command(boolean whole, byte[][] keys, byte[] argument) {
      this.whole = whole;
      this.keys = keys;
      this.argument = argument;
    }

    static Command ping() {
      return new Command(false, new byte[0][], new byte[0]);
    }

    /** Sets the latest arrival time at which the command counts as not delayed. */
    void leavesUntil(long moment) {
      promptUntil = moment;
    }

    /** Records that the client no longer waits for the command's answer, which can still arrive. */
    void abandon() {
      abandoned = true;
    }

    /** Returns the command's keys as text. */
    List<String> bucketKeys() {
      return Stream.of(keys).map(key -> new String(key, StandardCharsets.UTF_8)).toList();
    }

    boolean isAbandoned() {
      return abandoned;
    }

    /** Returns whether a command that arrives at the given moment was not delayed. */
    boolean isPromptAt(long moment) {
      return moment <= promptUntil;
    }

    boolean isWhole() {
      return whole;
    }

    boolean isPing() {
      return keys.length == 0;
    }

    @Override
    public String toString() {
      return isPing() ? "PING" : (whole ? "EVAL " : "EVALSHA ") + bucketKeys();
    }
  }

  private Object run(Command command, int process) {
    boolean refuses = world.now() < refusesUntil;
    if (command.isPing()) {
      return refuses && refusesPing ? new RedisCommandExecutionException(refusal) : "PONG";
    }
    if (refuses) {
      return new RedisCommandExecutionException(refusal);
    }
    String elsewhere = redirection.apply(command.keys[0]);
    if (elsewhere != null) {
      return new RedisCommandExecutionException(elsewhere);
    }
    if (command.keys.length > 1 && world.now() < refusesSeveralUntil) {
      return new RedisCommandExecutionException(
          "TRYAGAIN Multiple keys request during rehashing of slot");
    }
    if (command.whole) {
      knowsScript = true;
    } else if (!knowsScript) {
      return new RedisNoScriptException("NOSCRIPT No matching script. Please use EVAL.");
    }
    return ScriptModel.run(new Inside(process, command), command.keys, command.argument);
  }

  private @Nullable String get(String key) {
    Stored stored = keys.get(key);
    if (stored == null) {
      return null;
    }
    if (clock.nanos() / NANOS_PER_MILLI > stored.expiresAtMillis) {
      keys.remove(key);
      if (!replica) {
        reference.expired(key);
      }
      return null;
    }
    return stored.value;
  }

  private final class Inside implements ScriptModel.Keyspace {

    private final Asked by;

    Inside(int process, Command command) {
      this.by =
          new Asked(
              SimulatedServer.this,
              process,
              command.isAbandoned(),
              command.isPromptAt(world.now()));
    }

    @Override
    public long timeNanos() {
      long nanos = clock.nanos();
      return nanos - nanos % NANOS_PER_MICRO;
    }

    @Override
    public @Nullable String get(String key) {
      return SimulatedServer.this.get(key);
    }

    private @Nullable String refusedWrite() {
      if (replica) {
        return "READONLY You can't write against a read only replica.";
      }
      return world.now() < outOfMemoryUntil
          ? "OOM command not allowed when used memory > 'maxmemory'."
          : null;
    }

    @Override
    public @Nullable String set(String key, String value, long expiresAtMillis) {
      String refused = refusedWrite();
      if (refused == null) {
        Stored stored = new Stored(value, expiresAtMillis);
        keys.put(key, stored);
        replicate(key, stored);
      }
      return refused;
    }

    @Override
    public @Nullable String delete(String key) {
      if (replica) {
        return "READONLY You can't write against a read only replica.";
      }
      keys.remove(key);
      replicate(key, null);
      return null;
    }

    @Override
    public void decided(Charge charge, long nowNanos, long tatNanos, long afterNanos) {
      reference.decided(by, charge, nowNanos, tatNanos, afterNanos);
    }
  }

  private void replicate(String key, @Nullable Stored stored) {
    SimulatedServer to = follower;
    if (to == null) {
      return;
    }
    int itsLife = to.life;
    int itsRole = to.role;
    lastReplicated = Math.max(lastReplicated + 1, world.now() + lagNanos);
    world.at(
        lastReplicated,
        to.thread,
        () -> {
          if (to.life != itsLife || to.role != itsRole || !to.replica) {
            return;
          }
          if (stored == null) {
            to.keys.remove(key);
          } else {
            to.keys.put(key, stored);
          }
        });
  }

  private static String text(Object result) {
    if (!(result instanceof List<?> list)) {
      return String.valueOf(result);
    }
    List<String> texts = new ArrayList<>();
    for (Object one : list) {
      texts.add(
          one instanceof byte[] bytes
              ? new String(bytes, StandardCharsets.UTF_8)
              : one instanceof Long[] times ? Arrays.toString(times) : String.valueOf(one));
    }
    return texts.toString();
  }

  /** Returns the exception for a client that cannot connect to a server. */
  static RedisException refused(String name) {
    return new RedisException("Unable to connect to " + name + ": Connection refused");
  }

  @Override
  public String toString() {
    return name;
  }
}
