// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.limit.Limits;
import dev.sluice.web.ClientAddress;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Decides the requests of access logs with Sluice's own limiter and rules, on the clock of the log.
 * Made by {@link #of}, and run once. Not thread-safe; blocks as the streams do.
 */
public final class Replay {

  private static final int HEAD = 1 << 14;
  private static final int MOST_CLIENTS = 1_000_000;

  final Limits limits;
  final List<? extends LogSource> sources;
  @Nullable Limits against;
  @Nullable String format;
  ZoneId zone = ZoneOffset.UTC;
  Duration window = Duration.ofSeconds(5);
  boolean strict;
  List<String> counts = List.of();
  ClientAddress client = ClientAddress.direct();
  @Nullable String proxy;
  Set<Integer> skipped = Set.of();
  @Nullable String costField;
  LongConsumer progress = lines -> {};
  @Nullable Consumer<Denial> denials;
  @Nullable String watchedLimit;
  String watchedId = "";
  int shard;
  int shards; // 0 for all requests
  @Nullable String demandedLimit;
  Demands demands = (atNanos, id, cost) -> {};
  Consumer<Step> steps = step -> {};
  int mostClients = MOST_CLIENTS; // fewer for tests
  int processors = Runtime.getRuntime().availableProcessors(); // another number for tests

  private Replay(Limits limits, List<? extends LogSource> sources) {
    this.limits = limits;
    this.sources = List.copyOf(sources);
  }

  /**
   * Makes a replay with the default options.
   *
   * @param limits what decides; the rules are those that were loaded with them
   * @param sources the logs, at least one
   */
  public static Replay of(Limits limits, List<? extends LogSource> sources) {
    return new Replay(limits, sources);
  }

  /**
   * Whether a stream is compressed, or a log whose format its first line shows; false for an empty
   * stream. Reads no more than that line needs, so it does not wait for the second line of a pipe.
   *
   * @param in the beginning of the log is read from it; its position afterwards is not defined
   */
  public static boolean isLog(InputStream in) throws IOException {
    InputStream text = new BufferedInputStream(in, 1 << 10);
    text.mark(4);
    boolean isPacked = LogReader.isPacked(text.readNBytes(4));
    text.reset();
    return isPacked || hasFormat(text);
  }

  private static boolean hasFormat(InputStream text) throws IOException {
    byte[] line = new byte[HEAD];
    int length = 0;
    for (int one = text.read(); one >= 0 && length < HEAD - 1; one = text.read()) {
      if (one == '\n' && length > 0) {
        break;
      }
      if (one != '\n' && one != '\r') {
        line[length++] = (byte) one;
      }
    }
    line[length++] = '\n';
    return line[0] == '#' || LogFormat.recognise(line, length, ZoneOffset.UTC) != null;
  }

  /**
   * Requires the name of a format, such as {@code combined}.
   *
   * @throws IllegalArgumentException if there is no such format
   */
  public static void requireFormat(String name) {
    LogFormat unused = LogFormat.parse(name, ZoneOffset.UTC);
  }

  /**
   * Compares with other limits, which decide the same requests apart; with their rules, if any were
   * loaded with them. Null for no comparison, the default.
   */
  @CanIgnoreReturnValue
  public Replay against(@Nullable Limits candidate) {
    this.against = candidate;
    return this;
  }

  /**
   * Sets the format of the logs, such as {@code combined}; null, the default, to recognise it by
   * the first lines.
   */
  @CanIgnoreReturnValue
  public Replay format(@Nullable String name) {
    this.format = name;
    return this;
  }

  /** Sets the zone of times that name none; UTC if not called. */
  @CanIgnoreReturnValue
  public Replay zone(ZoneId newZone) {
    this.zone = newZone;
    return this;
  }

  /** Sets how far lines may be out of order; 5 seconds if not called. */
  @CanIgnoreReturnValue
  public Replay window(Duration newWindow) {
    this.window = newWindow;
    return this;
  }

  /** Sets whether lines that are not understood are fatal; false if not called. */
  @CanIgnoreReturnValue
  public Replay strict(boolean newStrict) {
    this.strict = newStrict;
    return this;
  }

  /**
   * Counts requests against limits without a rule book.
   *
   * @param newCounts each {@code LIMIT=TEMPLATE}, with the placeholders of rules and {@code
   *     {field:NAME}}; none for the rules, the default
   */
  @CanIgnoreReturnValue
  public Replay counts(List<String> newCounts) {
    this.counts = List.copyOf(newCounts);
    return this;
  }

  /**
   * Sets how the client's address is found behind proxies.
   *
   * @param newClient as a server finds it; the column of the address if not called
   * @param newProxy the peer of requests in a log without a column for it; null for none
   */
  @CanIgnoreReturnValue
  public Replay client(ClientAddress newClient, @Nullable String newProxy) {
    this.client = newClient;
    this.proxy = newProxy;
    return this;
  }

  /**
   * Leaves out requests that were answered with one of these statuses, such as 429; none if not
   * called.
   */
  @CanIgnoreReturnValue
  public Replay skipStatus(Set<Integer> statuses) {
    this.skipped = Set.copyOf(statuses);
    return this;
  }

  /**
   * Takes the cost of a request from the log.
   *
   * @param field the log's own name of a column with whole numbers; a request without one costs 1.
   *     Null for 1, the default
   */
  @CanIgnoreReturnValue
  public Replay costField(@Nullable String field) {
    this.costField = field;
    return this;
  }

  /** Reports the number of lines from time to time, in the thread of the run. */
  @CanIgnoreReturnValue
  public Replay progress(LongConsumer listener) {
    this.progress = listener;
    return this;
  }

  /** Takes each denial, in the order of the log's time, in the thread of the run. */
  @CanIgnoreReturnValue
  public Replay denials(@Nullable Consumer<Denial> taker) {
    this.denials = taker;
    return this;
  }

  /**
   * Watches one bucket: takes each request that is charged to it, in the order of the log's time.
   */
  @CanIgnoreReturnValue
  public Replay watch(String limit, String id, Consumer<Step> taker) {
    this.watchedLimit = limit;
    this.watchedId = id;
    this.steps = taker;
    return this;
  }

  /**
   * Decides only the requests whose ids belong to a shard, of which the first is 1, by a hash that
   * never changes. Every shard reads all lines. {@link Shards} joins the results.
   */
  @CanIgnoreReturnValue
  public Replay shard(int number, int of) {
    if (number < 1 || number > of) {
      throw new IllegalArgumentException(
          "found the shard %s of %s, expected one from 1 to %2$s".formatted(number, of));
    }
    this.shard = number;
    this.shards = of;
    return this;
  }

  /** Takes what requests ask of a limit, by the rules or counts, instead of deciding them. */
  @CanIgnoreReturnValue
  public Replay demands(String limit, Demands taker) {
    this.demandedLimit = limit;
    this.demands = taker;
    return this;
  }

  /**
   * Reads the logs and decides each request.
   *
   * @throws LogException if a log is not of the format, or an option has a mistake
   */
  public ReplayResult run() throws IOException {
    ReplayRun run;
    try {
      run = new ReplayRun(this);
    } catch (IllegalArgumentException e) {
      throw new LogException(String.valueOf(e.getMessage()));
    }
    return run.result();
  }

  /** Takes what requests ask of a limit, in the order of the log's time. */
  @FunctionalInterface
  public interface Demands {

    /**
     * Takes a request.
     *
     * @param atNanos when, in nanoseconds since the epoch
     * @param id what is limited, in its canonical form; never one that has an override
     * @param cost the tokens, which may be more than any burst
     */
    void take(long atNanos, String id, long cost);
  }

  /**
   * A request that was denied.
   *
   * @param atNanos when, in nanoseconds since the epoch
   * @param rule the line of the rule; 0 where no rule book is used
   * @param limit the limit that denied; empty where the rule denies all requests
   * @param id the id of the bucket; empty likewise
   * @param request the method and the target; empty if the log has none
   * @param status what the log says was answered; -1 if it does not say
   * @param retryInNanos how long the client would have had to wait; 0 if waiting does not help
   */
  public record Denial(
      long atNanos,
      String client,
      int rule,
      String limit,
      String id,
      String request,
      long status,
      long retryInNanos) {}

  /**
   * A request that the watched bucket decided.
   *
   * @param atNanos when, in nanoseconds since the epoch
   * @param request the method and the target; empty if the log has none
   * @param status what the log says was answered; -1 if it does not say
   * @param before the tokens in the bucket before the request; if the limit has several quotas, the
   *     fewest in any of their buckets
   * @param deniedBy the limit that denied it, which may be another one, and which of its quotas if
   *     it has several; empty if it was allowed
   */
  public record Step(
      long atNanos,
      String client,
      String request,
      long status,
      long before,
      long after,
      String deniedBy,
      long retryInNanos) {

    public boolean denied() {
      return !deniedBy.isEmpty();
    }
  }
}
