// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import dev.sluice.gcra.Quota;
import dev.sluice.replay.Replay.Demands;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/*
 * Imagine a bucket that never denies: each request takes tokens, and the bucket refills. The
 * largest number of tokens that were ever missing from this bucket is the smallest burst that never
 * denies a request of its id. So one pass over the log needs two numbers per id and rate: the
 * tokens missing after the last request, and the most tokens ever missing.
 */
/**
 * Suggests quotas for a limit. For each of several rates, this class finds the smallest burst with
 * which a given share of the limit's ids is never denied. The result is exact if each request is
 * charged to only one id of the limit. A fit takes about 50 bytes of memory per id, and 16 bytes
 * per id and rate. Not thread-safe.
 */
public final class Fit implements Demands {

  private static final long MINUTE = 60_000_000_000L;
  private static final BigDecimal HUNDRED = BigDecimal.valueOf(100);

  /** What to minimize when one of several quotas is chosen. */
  public enum Prefer {
    /** Prefers the quota that allows an id the fewest requests within a minute. */
    WORST,
    /** Prefers the quota with the smallest burst. */
    BURST,
    /** Prefers the quota with the lowest rate. */
    RATE,
    /**
     * Prefers the smallest sum of burst and count, which is the most requests that an id can send
     * in any period.
     */
    STRICT;

    private long measure(Point point) {
      Quota quota = point.quota();
      return switch (this) {
        case WORST -> point.worstMinute();
        case BURST -> quota.burst();
        case RATE -> quota.count();
        case STRICT -> quota.burst() + quota.count();
      };
    }

    /**
     * Chooses one of the given quotas. If there is an attack, prefers the quotas that deny the
     * largest number of heavy ids.
     */
    public Point of(List<Point> curve) {
      return curve.stream()
          .min(
              Comparator.comparingLong(Point::heavyAllowed)
                  .thenComparingLong(this::measure)
                  .thenComparingLong(Point::worstMinute)
                  .thenComparingLong(point -> point.quota().burst()))
          .orElseThrow();
    }
  }

  /**
   * The time of an attack. The chosen quota should deny the heavy ids of the attack. The heavy ids
   * are the smallest group of ids that together sent half of the requests during the attack. Each
   * id that sent as many requests as the group's smallest sender is heavy too.
   *
   * @param fromNanos the start of the attack, in nanoseconds since the epoch
   * @param toNanos the end of the attack (exclusive), in nanoseconds since the epoch
   */
  public record Attack(long fromNanos, long toNanos) {}

  /**
   * A quota: a rate, and the smallest burst for this rate.
   *
   * @param denied the number of ids that the quota denies at least one request
   * @param worstMinute the most requests that the quota allows an id within a minute
   * @param heavyAllowed the number of an attack's heavy ids that are never denied; 0 without an
   *     attack
   */
  public record Point(Quota quota, long denied, long worstMinute, long heavyAllowed) {}

  private final List<Quota> rates;
  private final @Nullable Attack attack;
  final Clients ids = new Clients(Integer.MAX_VALUE);
  private final Buckets normal;
  private final Buckets all;
  private long[] inAttack = new long[1 << 8];

  /**
   * Creates a fit that has read no requests yet.
   *
   * @param rates the quotas whose rates to try, the lowest rate first; the bursts of these quotas
   *     are ignored
   * @param attack the time of an attack, whose requests do not count for the share of ids that are
   *     never denied; null if there was no attack
   */
  public Fit(List<Quota> rates, @Nullable Attack attack) {
    this.rates = List.copyOf(rates);
    this.attack = attack;
    this.normal = new Buckets();
    this.all = attack == null ? normal : new Buckets();
  }

  @Override
  public void take(long atNanos, String id, long cost) {
    int number = ids.number(id);
    if (number == Clients.NONE) {
      throw new LogException(
          "the log has more than %s ids of the limit, which is more than a fit can keep; fit a part of the log, such as an hour"
              .formatted(ids.size()));
    }
    Attack heavy = attack;
    if (heavy != null) {
      all.add(number, atNanos, cost);
      if (atNanos >= heavy.fromNanos() && atNanos < heavy.toNanos()) {
        if (number >= inAttack.length) {
          inAttack = Arrays.copyOf(inAttack, 2 * number);
        }
        inAttack[number]++;
        return;
      }
    }
    normal.add(number, atNanos, cost);
  }

  /**
   * Returns the number of ids with a request outside of the attack. The share of ids that are never
   * denied is a percentage of the ids that this method counts.
   */
  public long ids() {
    return normal.count;
  }

  /** Returns the number of an attack's heavy ids; 0 without an attack. */
  public long heavyIds() {
    return heavy().length;
  }

  /**
   * Returns the smallest burst for each rate, the lowest rate first. A rate is left out if no burst
   * is large enough, or if its burst is not smaller than the burst of a lower rate.
   *
   * @param percent the share of ids that are never denied, above 0 and at most 100
   */
  public List<Point> curve(BigDecimal percent) {
    int kept =
        percent
            .multiply(BigDecimal.valueOf(ids()))
            .divide(HUNDRED, 0, RoundingMode.CEILING)
            .intValueExact();
    int[] heavy = heavy();
    List<Point> curve = new ArrayList<>();
    long before = Long.MAX_VALUE;
    for (int rate = 0; rate < rates.size() && kept > 0; rate++) {
      Quota unfit = rates.get(rate);
      long[] bursts = normal.bursts(rate);
      Arrays.sort(bursts);
      long burst = bursts[kept - 1];
      boolean isBetter = burst < before;
      if (!isBetter || !Quota.faults(burst, unfit.count(), unfit.period()).isEmpty()) {
        continue;
      }
      before = burst;
      Quota quota = Quota.burst(burst).refill(unfit.count(), unfit.period());
      int allowed = kept;
      while (allowed < bursts.length && bursts[allowed] == burst) {
        allowed++;
      }
      long heavyAllowed = 0;
      for (int number : heavy) {
        heavyAllowed += all.burst(rate, number) <= burst ? 1 : 0;
      }
      curve.add(
          new Point(
              quota,
              bursts.length - allowed,
              burst + MINUTE / quota.intervalNanos(),
              heavyAllowed));
    }
    return curve;
  }

  private int[] heavy() {
    if (attack == null) {
      return new int[0];
    }
    long[] sent = Arrays.copyOf(inAttack, ids.size());
    Arrays.sort(sent);
    long half = (Arrays.stream(sent).sum() + 1) / 2;
    long sum = 0;
    long least = Long.MAX_VALUE;
    for (int i = sent.length - 1; i >= 0 && sum < half; i--) {
      sum += sent[i];
      least = sent[i];
    }
    int[] heavy = new int[ids.size()];
    int count = 0;
    for (int i = 0; i < Math.min(heavy.length, inAttack.length); i++) {
      if (inAttack[i] >= least) {
        heavy[count++] = i;
      }
    }
    return Arrays.copyOf(heavy, count);
  }

  /*
   * An id has a row of numbers: the time of its last request, and for each rate the missing
   * tokens and the most tokens ever missing, measured in nanoseconds of refill. A request thus reads
   * one place in memory. Rows stand in pages, because a single array would have to be copied to grow.
   */
  /** The missing tokens in the bucket of each id for each rate. */
  private final class Buckets {

    private static final long NEVER = Long.MIN_VALUE;
    private static final int PAGE = 1 << 12; // the number of ids in a page

    private final int width = 1 + 2 * rates.size();
    private final long[] intervals = rates.stream().mapToLong(Quota::intervalNanos).toArray();
    private final List<long[]> pages = new ArrayList<>();
    private int count;

    private int row(int number) {
      return number % PAGE * width;
    }

    void add(int number, long atNanos, long cost) {
      while (pages.size() <= number / PAGE) {
        long[] page = new long[PAGE * width];
        for (int row = 0; row < page.length; row += width) {
          page[row] = NEVER;
        }
        pages.add(page);
      }
      long[] page = pages.get(number / PAGE);
      int row = row(number);
      long gone = page[row] == NEVER ? 0 : atNanos - page[row];
      count += page[row] == NEVER ? 1 : 0;
      page[row] = atNanos;
      for (int rate = 0; rate < intervals.length; rate++) {
        int lacking = row + 1 + 2 * rate;
        long left = Math.max(0, page[lacking] - gone);
        long interval = intervals[rate];
        long more = cost > Long.MAX_VALUE / interval ? Long.MAX_VALUE : cost * interval;
        long now = left > Long.MAX_VALUE - more ? Long.MAX_VALUE : left + more;
        page[lacking] = now;
        if (cost > 0) { // a request with the cost 0 is always allowed
          page[lacking + 1] = Math.max(page[lacking + 1], now);
        }
      }
    }

    long burst(int rate, int number) {
      long interval = intervals[rate];
      long lacked = pages.get(number / PAGE)[row(number) + 2 + 2 * rate];
      return Math.max(1, lacked / interval + (lacked % interval == 0 ? 0 : 1));
    }

    long[] bursts(int rate) {
      long[] bursts = new long[count];
      int next = 0;
      for (int number = 0; number < pages.size() * PAGE; number++) {
        if (pages.get(number / PAGE)[row(number)] != NEVER) {
          bursts[next++] = burst(rate, number);
        }
      }
      return bursts;
    }
  }

  /**
   * Returns the lines of a limit file with the chosen quota. Comments above the limit show the
   * smallest burst for each rate.
   *
   * @param percent the share of ids that are never denied, above 0 and at most 100
   * @param period the period of the rates, as in a limit file
   */
  public List<String> lines(
      String limit,
      BigDecimal percent,
      List<Point> curve,
      Point chosen,
      String period,
      ReplayResult read) {
    boolean attacked = attack != null;
    List<List<String>> cells = new ArrayList<>();
    List<String> head = List.of("count per " + period, "burst", "ids denied", "most in a minute");
    cells.add(attacked ? with(head, "heavy ids allowed") : head);
    for (Point point : curve) {
      List<String> row =
          List.of(
              Words.whole(point.quota().count()),
              Words.whole(point.quota().burst()),
              Words.whole(point.denied()),
              Words.whole(point.worstMinute()));
      row = attacked ? with(row, Words.whole(point.heavyAllowed())) : row;
      cells.add(point.equals(chosen) ? with(row, "<- chosen") : row);
    }
    List<String> lines = new ArrayList<>();
    lines.add("# " + ReplayText.heading(read));
    lines.add(
        "# Each of these quotas never denies %s %% of the %s of %s:"
            .formatted(
                percent.stripTrailingZeros().toPlainString(), Words.counted(ids(), "id"), limit));
    if (attacked) {
      lines.add(
          "# The percentage ignores the requests of the attack, half of which came from %s."
              .formatted(Words.counted(heavyIds(), "heavy id")));
    }
    lines.add("#");
    ReplayText.aligned(cells, true).forEach(line -> lines.add("#   " + line));
    Quota quota = chosen.quota();
    lines.add("limits:");
    lines.add(
        "  %s: {burst: %s, count: %s, period: %s}"
            .formatted(limit, quota.burst(), quota.count(), period));
    return lines;
  }

  private static List<String> with(List<String> row, String more) {
    List<String> longer = new ArrayList<>(row);
    longer.add(more);
    return longer;
  }
}
