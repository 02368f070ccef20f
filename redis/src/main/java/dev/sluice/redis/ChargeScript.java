// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Gcra;
import dev.sluice.internal.text.SafeText;
import dev.sluice.internal.text.Utf8;
import dev.sluice.remote.ChargeOutcome;
import dev.sluice.remote.ChargedException;
import dev.sluice.remote.ClientClock;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.StoreException;
import dev.sluice.store.TimeSource;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Encodes batches of charges as the only argument of the script that decides inside Redis, and
 * parses the script's response. Stateless, thread-safe.
 */
final class ChargeScript {

  static final String SOURCE = source();
  static final String DIGEST = digest(SOURCE);

  /** The number that marks a group of spends in the script's argument. */
  private static final int SPENDS = 0;

  private static final int SHORT = 1;
  private static final int LONG = 2;

  private static final int HEAD = 3; // the count of numbers before the first group
  private static final int GROUP_HEAD = 2;
  private static final int LONGEST_CHARGE = 7;
  private static final long SHORT_BELOW_NANOS = 1L << 52;
  private static final long NANOS_PER_SECOND = 1_000_000_000;
  private static final int MAX_DIGITS = 20;

  /**
   * Finds the server's own message in the text of an error. Some versions of Redis add to the
   * message the line of the script at which the error occurred.
   */
  private static final Pattern WORDS =
      Pattern.compile("(?s)(?:@user_script: ?\\d+: )?-?(.*?)(?: script: [0-9a-f]{40}, on .*)?");

  private ChargeScript() {}

  /**
   * Returns the script's argument for deciding on batches, one after the other.
   *
   * @param clock the client's clock, read by this call; null if the server's clock decides
   */
  static byte[] argument(@Nullable ClientClock clock, List<List<Charge>> batches) {
    MessagePackArray array = new MessagePackArray(HEAD + mostNumbers(batches));
    if (clock == null) {
      array.addMinusOne();
      array.add(0);
      array.add(0);
    } else {
      addTime(array, TimeSource.read(clock.time()));
      array.add(ClientClock.SLACK.toMillis());
    }
    int next = 0;
    while (next < batches.size()) {
      int spends = spendsFrom(next, batches);
      if (spends == 0) {
        addBatch(array, batches.get(next));
        next++;
        continue;
      }
      array.add(SPENDS);
      array.add(spends);
      for (int end = next + spends; next < end; next++) {
        Charge spend = batches.get(next).get(0);
        array.add(spend.incrementNanos());
        array.add(spend.offsetNanos());
      }
    }
    return array.bytes();
  }

  private static int mostNumbers(List<List<Charge>> batches) {
    int most = 0;
    for (List<Charge> batch : batches) {
      most += GROUP_HEAD + batch.size() * LONGEST_CHARGE;
    }
    return most;
  }

  /** Counts the consecutive batches, from a given index on, that consist of a single spend. */
  private static int spendsFrom(int first, List<List<Charge>> batches) {
    int next = first;
    while (next < batches.size() && isSpend(batches.get(next))) {
      next++;
    }
    return next - first;
  }

  private static boolean isSpend(List<Charge> batch) {
    Charge charge = batch.get(0);
    return batch.size() == 1
        && charge.op() == Effect.Op.SPEND
        && charge.incrementNanos() > 0
        && isShort(charge);
  }

  private static void addBatch(MessagePackArray array, List<Charge> batch) {
    boolean isShort = true;
    for (Charge charge : batch) {
      isShort &= isShort(charge);
    }
    array.add(isShort ? SHORT : LONG);
    array.add(batch.size());
    for (Charge charge : batch) {
      array.add(number(charge.op()));
      if (isShort) {
        array.add(charge.incrementNanos());
        array.add(charge.offsetNanos());
        continue;
      }
      addTime(array, charge.incrementNanos());
      addTime(array, charge.offsetNanos());
      if (charge.op().hasEnd()) {
        addTime(array, charge.untilNanos());
      }
    }
  }

  /**
   * Whether the charge is a check or a spend whose times are small enough for the shorter encoding.
   */
  private static boolean isShort(Charge charge) {
    boolean spendsOrLooks =
        switch (charge.op()) {
          case CHECK, SPEND, SPEND_ONLY -> true;
          case REFUND, RESET, FORGIVE, WITHDRAW, SPEND_UP_TO -> false;
        };
    return spendsOrLooks
        && charge.incrementNanos() < SHORT_BELOW_NANOS
        && charge.offsetNanos() < SHORT_BELOW_NANOS;
  }

  /** Returns the script's number for an operation. */
  private static int number(Effect.Op act) {
    return switch (act) {
      case CHECK -> 0;
      case SPEND -> 1;
      case SPEND_ONLY -> 2;
      case REFUND -> 3;
      case RESET -> 4;
      case FORGIVE -> 5;
      case WITHDRAW -> 6;
      case SPEND_UP_TO -> 7;
    };
  }

  /** Adds an unsigned time as two numbers, since a double does not represent every time exactly. */
  private static void addTime(MessagePackArray array, long nanos) {
    array.add(Long.divideUnsigned(nanos, NANOS_PER_SECOND));
    array.add(Long.remainderUnsigned(nanos, NANOS_PER_SECOND));
  }

  /** Returns the server's current time from a response. */
  static long nowNanos(List<Object> answer) {
    return (Long) answer.get(0) * NANOS_PER_SECOND + (Long) answer.get(1);
  }

  /**
   * Returns what the script read from the buckets of one batch.
   *
   * @param first the index of the batch's first charge among all charges of the call
   * @param keys the keys in Redis of the batch's charges
   * @throws StoreException if the server could not decide on the batch; nothing was charged then
   */
  static List<Reading> readings(List<Object> answer, int first, List<byte[]> keys, String server) {
    long nowNanos = nowNanos(answer);
    List<Reading> readings = new ArrayList<>(keys.size());
    for (int i = 0; i < keys.size(); i++) {
      Object found = answer.get(2 + first + i);
      long tatNanos = Gcra.NO_TAT;
      if (found instanceof byte[] text) {
        if (text.length > 0 && (text[0] == '!' || text[0] == '?')) {
          String reason = new String(text, 1, text.length - 1, StandardCharsets.UTF_8);
          throw text[0] == '!'
              ? refused(reason, keys, server)
              : new StoreException(
                  "%s rejected a part of the batch after it had charged another part: %s; allow the user both SET and DEL"
                      .formatted(server, words(reason)));
        }
        tatNanos = parse(text);
      }
      readings.add(new Reading(nowNanos, tatNanos));
    }
    return readings;
  }

  private static long parse(byte[] digits) {
    if (digits.length == 0 || digits.length > MAX_DIGITS) {
      throw new IllegalStateException("the script accepted a TAT of " + digits.length + " digits");
    }
    long nanos = 0;
    for (byte digit : digits) {
      // The sum cannot overflow, since the script returns only numbers below 2^64.
      nanos = nanos * 10 + (digit - '0');
    }
    return nanos;
  }

  private static String words(String answer) {
    Matcher words = WORDS.matcher(answer);
    return ServerFault.oneLine(words.matches() ? words.group(1) : answer);
  }

  static StoreException refused(String answer, List<byte[]> redisKeys, String server) {
    String reason = words(answer);
    List<String> keys =
        redisKeys.stream()
            .map(key -> SafeText.printable(new String(key, StandardCharsets.UTF_8)))
            .toList();
    if (reason.startsWith("GARBAGE")) {
      String found = reason.substring("GARBAGE".length()).stripLeading(); // can be empty
      return ChargeOutcome.NOTHING.exception(
          "the bucket of %s on %s holds \"%s\", expected a TAT in decimal nanoseconds; delete the key, or find the program that writes the key"
              .formatted(keys, server, SafeText.printable(found)));
    }
    if (reason.startsWith("WRONGTYPE")) {
      return ChargeOutcome.NOTHING.exception(
          "the bucket of %s on %s is not a string; delete the key, or find the program that writes the key"
              .formatted(keys, server));
    }
    return new Refusal("%s rejected the charge of %s: %s".formatted(server, keys, reason), reason);
  }

  /** Thrown if the server rejects writes, with the reason in the server's own words. */
  static final class Refusal extends ChargedException {
    private static final long serialVersionUID = 1;

    private final String reason;

    Refusal(String message, String reason) {
      super(message, ChargeOutcome.NOTHING, null);
      this.reason = reason;
    }

    /** Whether the server rejected the call because it is a replica. */
    boolean byReplica() {
      return reason.startsWith("READONLY");
    }
  }

  private static String source() {
    return Utf8.ofResource(ChargeScript.class.getResourceAsStream("charge.lua"), "charge.lua");
  }

  private static String digest(String source) {
    try {
      byte[] sha1 =
          MessageDigest.getInstance("SHA-1").digest(source.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(sha1);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JVM has SHA-1", e);
    }
  }
}
