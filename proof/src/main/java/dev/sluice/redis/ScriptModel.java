// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.gcra.Gcra;
import dev.sluice.store.BucketStore.Charge;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A model of {@code charge.lua} in Java. The model's reply to an argument equals the script's
 * reply. ScriptModelTest compares the model with the script on a real server.
 */
final class ScriptModel {

  private static final long NANOS_PER_SECOND = 1_000_000_000;
  private static final long NANOS_PER_MILLI = 1_000_000;
  // The two encodings of a group of charges in the script's argument:
  private static final int SPENDS = 0; // each charge is a spend
  private static final int LONG = 2; // each increment and offset has seconds and nanoseconds
  private static final Op[] ACTS = {
    Op.CHECK, Op.SPEND, Op.SPEND_ONLY, Op.REFUND, Op.RESET, Op.FORGIVE, Op.WITHDRAW, Op.SPEND_UP_TO
  };

  private ScriptModel() {}

  /** The commands that the script can call with {@code redis.pcall}. */
  interface Keyspace {

    /** Returns the server's time in nanoseconds, rounded down to a microsecond. */
    long timeNanos();

    /** Returns the value of a key; null for a missing key. */
    @Nullable String get(String key);

    /**
     * Writes a key.
     *
     * @param expiresAtMillis the time at which the key expires, by the server's clock
     * @return the server's error, null on success
     */
    @Nullable String set(String key, String value, long expiresAtMillis);

    /** Removes a key. Returns the server's error, null on success. */
    @Nullable String delete(String key);

    /** Called after each charge that the script has decided. */
    default void decided(Charge charge, long nowNanos, long tatNanos, long afterNanos) {}
  }

  static List<Object> run(Keyspace keys, byte[][] names, byte[] argument) {
    ByteBuffer in = ByteBuffer.wrap(argument);
    in.position(1 + Integer.BYTES);
    long nowSeconds = number(in);
    long nowRest = number(in);
    long slackMillis = number(in);
    boolean ownClock = nowSeconds < 0;
    long nowNanos = ownClock ? keys.timeNanos() : nowSeconds * NANOS_PER_SECOND + nowRest;
    List<Object> reply = new ArrayList<>();
    reply.add(nowNanos / NANOS_PER_SECOND);
    reply.add(nowNanos % NANOS_PER_SECOND);
    int first = 0;
    while (in.hasRemaining()) {
      int form = (int) number(in);
      int n = (int) number(in);
      List<Charge> charges = new ArrayList<>();
      for (int i = 0; i < n; i++) {
        charges.add(charge(in, form, new String(names[first + i], StandardCharsets.UTF_8)));
      }
      first += n;
      List<List<Charge>> batches =
          form == SPENDS ? charges.stream().map(List::of).toList() : List.of(charges);
      for (List<Charge> batch : batches) {
        new Batch(keys, batch, nowNanos, ownClock, slackMillis).run(reply);
      }
    }
    return reply;
  }

  private static Charge charge(ByteBuffer in, int form, String key) {
    Op act = form == SPENDS ? Op.SPEND : ACTS[(int) number(in)];
    long incrementNanos = form == LONG ? time(in) : number(in);
    long offsetNanos = form == LONG ? time(in) : number(in);
    long untilNanos = act.hasEnd() ? time(in) : Effect.NO_END;
    return new Charge(key, act, incrementNanos, offsetNanos, untilNanos);
  }

  private static long time(ByteBuffer in) {
    return number(in) * NANOS_PER_SECOND + number(in);
  }

  private static long number(ByteBuffer in) {
    byte head = in.get();
    return switch (head) {
      case (byte) 0xce -> in.getInt() & 0xffff_ffffL;
      case (byte) 0xcf -> in.getLong();
      default -> head;
    };
  }

  private record Batch(
      Keyspace keys, List<Charge> charges, long nowNanos, boolean ownClock, long slackMillis) {

    void run(List<Object> reply) {
      List<@Nullable String> found = new ArrayList<>();
      String failure = null;
      boolean wrote = false;
      boolean passes = true;
      for (Charge charge : charges) {
        String value = keys.get(charge.key());
        found.add(value);
        if (value != null && !isTat(value)) {
          failure = "GARBAGE " + value.substring(0, Math.min(value.length(), 40));
          continue;
        }
        passes &= charge.passes(nowNanos, tat(value));
      }
      for (int i = 0; i < charges.size() && failure == null; i++) {
        failure = charge(charges.get(i), tat(found.get(i)), passes);
        wrote |=
            failure == null
                && afterNanos(charges.get(i), tat(found.get(i)), passes) != tat(found.get(i));
      }
      for (String value : found) {
        if (failure != null) {
          reply.add(((wrote ? "?" : "!") + failure).getBytes(StandardCharsets.UTF_8));
        } else if (value == null) {
          reply.add(0L);
        } else {
          reply.add(value.getBytes(StandardCharsets.UTF_8));
        }
      }
    }

    private @Nullable String charge(Charge charge, long tatNanos, boolean passes) {
      long afterNanos = afterNanos(charge, tatNanos, passes);
      String refused = null;
      if (afterNanos != tatNanos) {
        if (afterNanos == Gcra.NO_TAT) {
          refused = keys.delete(charge.key());
        } else {
          long expiresAtMillis =
              ownClock
                  ? Long.divideUnsigned(afterNanos, NANOS_PER_MILLI) + 2
                  : keys.timeNanos() / NANOS_PER_MILLI
                      + Long.divideUnsigned(afterNanos - nowNanos, NANOS_PER_MILLI)
                      + 2
                      + slackMillis;
          refused = keys.set(charge.key(), Long.toUnsignedString(afterNanos), expiresAtMillis);
        }
      }
      if (refused == null) {
        keys.decided(charge, nowNanos, tatNanos, afterNanos);
      }
      return refused;
    }

    private long afterNanos(Charge charge, long tatNanos, boolean passes) {
      return charge.tatAfterNanos(nowNanos, tatNanos, passes);
    }

    private static boolean isTat(String value) {
      try {
        return !value.isEmpty()
            && value.chars().allMatch(c -> c >= '0' && c <= '9')
            && Long.parseUnsignedLong(value) != -1L;
      } catch (NumberFormatException e) {
        return false;
      }
    }

    private static long tat(@Nullable String value) {
      return value == null || !isTat(value) ? Gcra.NO_TAT : Long.parseUnsignedLong(value);
    }
  }
}
