// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.gcra.Gcra;
import dev.sluice.redis.Reference.Asked;
import dev.sluice.redis.SimulatedServer.Command;
import dev.sluice.redis.World.Actor;
import dev.sluice.remote.sql.SqlCall;
import dev.sluice.store.BucketStore.Charge;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/*
 * The class simulates the functions in buckets.sql. A call locks all existing rows of its buckets,
 * in the order of their keys, and then inserts the missing rows in the same order. If another
 * transaction has locked or inserted a row, the call waits for this row until the lock time-out. If
 * another call inserts a missing row first, the call ends without a decision. A call that has
 * locked all rows reads the clock and decides. The call keeps the locks until the commit ends. A
 * call cannot be cancelled after its decision.
 */

/** The transactions of a simulated PostgreSQL server, and the rows that they have locked. */
final class SimulatedDatabase {

  private static final int NUMBERS = 5; // number of parameters of one charge
  private static final int PARTS = 4; // number of groups of rows; a fault locks one group
  private static final long NANOS_PER_MILLI = 1_000_000;
  private static final long COMMIT_NANOS = 30_000;
  private static final long SLOW_COMMIT_NANOS = 3_000_000;
  private static final String SPEND = "SELECT sluice_spend_v1(";
  private static final String CHARGE = "SELECT sluice_charge_v1(";
  private static final String READ = "SELECT sluice_read_v1(";
  private static final Pattern CLEAN =
      Pattern.compile("sluice_clean_v2\\(decode\\('([0-9a-f]*)', 'hex'\\), ([0-9]+)\\)");

  private final SimulatedServer server;
  private final World world;
  private final Reference reference;
  private final Dice dice;
  private final Actor thread;
  private final Set<String> rows = new TreeSet<>();
  private final Map<String, Transaction> holders = new HashMap<>(); // by key of the locked row
  private final Set<Transaction> open = new LinkedHashSet<>();
  private final long[] lockedUntil = new long[PARTS]; // end of a lock by another user, per group
  private long locksLast;
  private long readOnlyUntil;
  private long fullUntil;
  private long forgotten; // moment at which sessions last lost their prepared statements

  SimulatedDatabase(
      SimulatedServer server, World world, Reference reference, Dice dice, Actor thread) {
    this.server = server;
    this.world = world;
    this.reference = reference;
    this.dice = dice;
    this.thread = thread;
  }

  /** One execution of an SQL statement. Not thread-safe. */
  static final class Query extends Command {
    private final String sql;
    private final Object[] parameters;
    private long preparedAt;
    private int process;

    /**
     * Creates an execution.
     *
     * @param preparedAt the moment at which the session prepared the statement; 0 if unprepared
     */
    Query(String sql, Object[] parameters, long preparedAt) {
      super(false, keys(sql, parameters), new byte[0]);
      this.sql = sql;
      this.parameters = parameters;
      this.preparedAt = preparedAt;
    }

    private static byte[][] keys(String sql, Object[] parameters) {
      if (sql.startsWith(SPEND)) {
        return new byte[][] {(byte[]) parameters[2]};
      }
      if (sql.startsWith(CHARGE)) {
        return (byte[][]) parameters[2];
      }
      return sql.startsWith(READ) ? (byte[][]) parameters[0] : new byte[0][];
    }

    void comesFrom(int newProcess) {
      process = newProcess;
    }

    /** Returns the moment at which the session prepared the statement. */
    long preparedAt() {
      return preparedAt;
    }

    private boolean isSpend() {
      return sql.startsWith(SPEND);
    }

    private boolean locks() {
      return isSpend() || sql.startsWith(CHARGE);
    }

    @Override
    public String toString() {
      return sql.isEmpty() ? "a ping" : sql.substring(0, Math.min(sql.length(), 30)) + bucketKeys();
    }
  }

  // Faults

  /** Locks a group of rows for {@code nanos}, as a transaction of another user does. */
  void lockRows(int part, long nanos) {
    lockedUntil[part % PARTS] = Math.max(lockedUntil[part % PARTS], world.now() + nanos);
    locksLast = Math.max(locksLast, lockedUntil[part % PARTS]);
    world.after(nanos + 1, thread, this::goOn);
  }

  /** Returns the moment at which the last lock of another user ends. */
  long locksLast() {
    return locksLast;
  }

  /** Returns the moment until which the database refuses all writing statements. */
  long readOnlyUntil() {
    return readOnlyUntil;
  }

  /** Refuses all writing statements for {@code nanos}, as a read-only database does. */
  void beReadOnly(long nanos) {
    readOnlyUntil = world.now() + nanos;
  }

  /** Refuses all charging calls for {@code nanos}, as a database without disk space does. */
  void fillDisk(long nanos) {
    fullUntil = world.now() + nanos;
  }

  private boolean isReadOnly() {
    return server.isReplica() || world.now() < readOnlyUntil;
  }

  /** Makes all sessions lose their prepared statements, as a connection pooler can. */
  void forgetStatements() {
    forgotten = world.now() + 1;
  }

  /** Rolls back all open transactions, because the server crashes or becomes a replica. */
  void rollBack() {
    for (Transaction one : List.copyOf(open)) {
      one.end(SimulatedDriver.error("FATAL", "57P01", "terminating connection"), true);
    }
  }

  /**
   * Commits all calls that have been decided. Each commit unlocks rows, so that the server can
   * decide further calls; this method also commits the further calls.
   */
  void finishCommits() {
    List<Transaction> decided;
    do {
      decided = open.stream().filter(one -> one.decided).toList();
      decided.forEach(one -> one.finish.run());
    } while (!decided.isEmpty());
  }

  /** Removes all rows, as a crash empties an unlogged table. */
  void empty() {
    rows.clear();
  }

  // Statements

  void run(Query query, SimulatedConnection client, Consumer<Object> answer) {
    if (query.preparedAt > 0 && query.preparedAt < forgotten) {
      answer.accept(error("26000", "prepared statement \"S_1\" does not exist"));
      return;
    }
    query.preparedAt = world.now() + 1;
    if (query.locks()) {
      begin(new Transaction(query, client, answer));
    } else if (query.sql.startsWith(READ)) {
      answer.accept(
          server.isReplica() ? error("0A000", "cannot access during recovery") : read(query));
    } else if (CLEAN.matcher(query.sql).find()) {
      answer.accept(isReadOnly() ? error("25006", "cannot execute DELETE") : clean(query.sql));
    } else if (query.sql.contains("pg_is_in_recovery")) {
      answer.accept(look());
    } else {
      answer.accept(List.of("pong"));
    }
  }

  private List<Object> look() {
    return Arrays.asList(
        server.isReplica(), true, "p", "on", "read committed", isReadOnly(), null, "sluice");
  }

  private static Exception error(String state, String words) {
    return SimulatedDriver.error("ERROR", state, words);
  }

  private long nowNanos() {
    long nanos = server.clock.nanos();
    return nanos - nanos % 1_000;
  }

  private static long flipped(long time) {
    return time ^ Long.MIN_VALUE;
  }

  private List<Object> read(Query query) {
    long nowNanos = nowNanos();
    List<Long> times = new ArrayList<>(List.of(flipped(nowNanos)));
    for (String key : query.bucketKeys()) {
      long tatNanos = server.tatNanos(key);
      times.add(flipped(tatNanos));
      Charge check = new Charge(key, Op.CHECK, 1, 1, Effect.NO_END);
      reference.decided(by(query, 0), check, nowNanos, tatNanos, tatNanos);
    }
    return Collections.singletonList(times.toArray(Long[]::new));
  }

  private Asked by(Query query, long agoNanos) {
    boolean isPrompt = query.isPromptAt(world.now());
    return new Asked(server, query.process, query.isAbandoned(), isPrompt, agoNanos);
  }

  private List<Object> clean(String sql) {
    Matcher call = CLEAN.matcher(sql);
    if (!call.find()) {
      throw new IllegalStateException(sql);
    }
    String after = text(HexFormat.of().parseHex(call.group(1)));
    List<String> looked =
        rows.stream()
            .filter(key -> key.compareTo(after) > 0)
            .limit(Long.parseLong(call.group(2)))
            .toList();
    int deleted = 0;
    for (String key : looked) {
      if (isFree(key) && Long.compareUnsigned(server.tatNanos(key), nowNanos()) <= 0) {
        rows.remove(key);
        server.deleteFull(key);
        deleted++;
      }
    }
    byte[] last =
        looked.isEmpty() ? null : looked.get(looked.size() - 1).getBytes(StandardCharsets.UTF_8);
    return Arrays.asList(last, deleted);
  }

  private static String text(byte[] utf8) {
    return new String(utf8, StandardCharsets.UTF_8);
  }

  private boolean isFree(String key) {
    return holders.get(key) == null && world.now() >= lockedUntil[part(key)];
  }

  private static int part(String key) {
    return Math.floorMod(key.hashCode(), PARTS);
  }

  private boolean exists(String key) {
    return rows.contains(key) || server.tatNanos(key) != Gcra.NO_TAT;
  }

  /** Cancels a statement, unless the call of the statement has already been decided. */
  void cancel(Query query) {
    for (Transaction one : List.copyOf(open)) {
      if (one.query == query && !one.decided) {
        one.end(error("57014", "canceling statement due to user request"), false);
      }
    }
  }

  private void begin(Transaction one) {
    if (isReadOnly()) {
      one.answer.accept(error("25006", "cannot execute UPDATE in a read-only transaction"));
    } else if (world.now() < fullUntil) {
      one.answer.accept(error("53100", "could not extend file"));
    } else if (server.refusesSeveral() && dice.chance(50)) {
      one.answer.accept(error(dice.one("40P01", "40001"), "deadlock detected"));
    } else {
      open.add(one);
      one.goOn();
    }
  }

  private void goOn() {
    for (Transaction one : List.copyOf(open)) {
      if (open.contains(one)) {
        one.goOn();
      }
    }
  }

  /** The database transaction of one call that charges buckets. */
  private final class Transaction {
    private final Query query;
    private final SimulatedConnection client;
    private final Consumer<Object> answer;
    private final List<String> seen = new ArrayList<>(); // rows still to lock
    private final List<String> missing = new ArrayList<>(); // rows still to insert
    private final Set<String> inserted = new HashSet<>();
    private @Nullable String waitsFor;
    private boolean decided;
    private Runnable finish = () -> {}; // does nothing before the decision
    private boolean late; // whether another call has inserted a row that this call missed

    Transaction(Query query, SimulatedConnection client, Consumer<Object> answer) {
      this.query = query;
      this.client = client;
      this.answer = answer;
      for (String key : query.bucketKeys()) {
        (exists(key) ? seen : missing).add(key);
      }
    }

    /** Locks further rows until the call is decided or must wait for a row. */
    void goOn() {
      while (!decided && !late) {
        if (seen.isEmpty() && missing.isEmpty()) {
          decide();
          return;
        }
        boolean isSeen = !seen.isEmpty();
        String key = isSeen ? seen.get(0) : missing.get(0);
        if (mustWait(key, isSeen)) {
          await(key);
          return;
        }
        waitsFor = null;
        (isSeen ? seen : missing).remove(0);
        if (isSeen && !exists(key)) { // another transaction deleted the row
          missing.add(key);
          Collections.sort(missing);
          continue;
        }
        late = !isSeen && exists(key) && !query.isSpend();
        if (!late) {
          holders.put(key, this);
          if (!exists(key)) {
            inserted.add(key);
          }
        }
      }
      if (late && !decided) {
        commit(Collections.singletonList(null), List.of());
      }
    }

    /**
     * Returns whether another transaction delays this call. An INSERT that does nothing on a
     * conflict waits for another INSERT or UPDATE of the row, but not for a lock of the row.
     */
    private boolean mustWait(String key, boolean isSeen) {
      Transaction holder = holders.get(key);
      boolean onlyLocked =
          holder != null && !holder.decided && !holder.inserted.contains(key) && !query.isSpend();
      return !isFree(key) && (isSeen || !onlyLocked || world.now() < lockedUntil[part(key)]);
    }

    private void await(String key) {
      if (key.equals(waitsFor)) {
        return;
      }
      waitsFor = key;
      long waits = (int) query.parameters[1] * NANOS_PER_MILLI;
      world.after(
          waits,
          thread,
          () -> {
            if (open.contains(this) && key.equals(waitsFor)) {
              end(error("55P03", "canceling statement due to lock timeout"), false);
            }
          });
    }

    private void decide() {
      long nowNanos = nowNanos();
      long readAt = world.now();
      List<Long> times = new ArrayList<>(List.of(flipped(nowNanos)));
      List<Runnable> changes = new ArrayList<>();
      Map<String, Long> tats = new HashMap<>(); // by key: the TAT after this call's charges so far
      for (List<Charge> batch : batches(query)) {
        boolean passes = true;
        for (Charge charge : batch) {
          long tatNanos = tats.computeIfAbsent(charge.key(), server::tatNanos);
          passes &= charge.passes(nowNanos, tatNanos);
          times.add(flipped(tatNanos));
        }
        for (Charge charge : batch) {
          long tatNanos = tats.getOrDefault(charge.key(), 0L);
          long afterNanos = charge.tatAfterNanos(nowNanos, tatNanos, passes);
          tats.put(charge.key(), afterNanos);
          changes.add(() -> change(charge, readAt, nowNanos, tatNanos, afterNanos));
        }
      }
      commit(Collections.singletonList(times.toArray(Long[]::new)), changes);
    }

    private void change(Charge charge, long readAt, long nowNanos, long tatNanos, long afterNanos) {
      if (afterNanos != tatNanos) {
        server.setTat(charge.key(), afterNanos);
      }
      Asked by = by(query, world.now() - readAt);
      reference.decided(by, charge, nowNanos, tatNanos, afterNanos);
    }

    /** Commits the transaction after a while, unless a rollback ends the transaction first. */
    private void commit(List<Object> row, List<Runnable> changes) {
      decided = true;
      finish =
          () -> {
            if (open.contains(this)) {
              changes.forEach(Runnable::run);
              rows.addAll(inserted);
              end(row, false);
            }
          };
      boolean slow = reference.conditions().hasFaults() && dice.chance(5);
      world.after(dice.between(0, slow ? SLOW_COMMIT_NANOS : COMMIT_NANOS), thread, finish);
    }

    /** Releases the locks and sends the result. */
    void end(Object result, boolean endsSession) {
      open.remove(this);
      holders.values().removeIf(holder -> holder == this);
      answer.accept(result);
      if (endsSession) {
        client.brokenByServer(COMMIT_NANOS);
      }
      SimulatedDatabase.this.goOn();
    }
  }

  private static List<List<Charge>> batches(Query query) {
    if (query.isSpend()) {
      long incrementNanos = (long) query.parameters[3];
      long offsetNanos = (long) query.parameters[4];
      String key = query.bucketKeys().get(0);
      return List.of(
          List.of(new Charge(key, Op.SPEND, incrementNanos, offsetNanos, Effect.NO_END)));
    }
    Long[] numbers = (Long[]) query.parameters[3];
    Integer[] sizes = (Integer[]) query.parameters[4];
    List<List<Charge>> batches = new ArrayList<>();
    if (sizes.length == 0) { // one spend of each key
      int size = query.bucketKeys().size();
      for (int i = 0; i < size; i++) {
        String key = query.bucketKeys().get(i);
        batches.add(
            List.of(new Charge(key, Op.SPEND, numbers[i], numbers[size + i], Effect.NO_END)));
      }
      return batches;
    }
    int at = 0;
    for (Integer size : sizes) {
      List<Charge> batch = new ArrayList<>();
      for (int i = 0; i < size; i++) {
        String key = query.bucketKeys().get((int) (numbers[at] - 1));
        Op op = operation(numbers[at + 1]);
        long until = op == Op.SPEND_UP_TO ? numbers[at + 4] : flipped(numbers[at + 4]);
        batch.add(new Charge(key, op, numbers[at + 2], numbers[at + 3], until));
        at += NUMBERS;
      }
      batches.add(batch);
    }
    return batches;
  }

  private static Op operation(long number) {
    for (Op op : Op.values()) {
      if (SqlCall.number(op) == number) {
        return op;
      }
    }
    throw new IllegalStateException("operation " + number);
  }
}
