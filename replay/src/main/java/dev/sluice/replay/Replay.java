// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.limit.Limits;
import dev.sluice.store.StoreException;
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
 * Decides the requests of access logs with Sluice's own limiter and rules, at the times in the log.
 * Use {@link #of} to create a replay, and run it only once. Not thread-safe; blocks if the streams
 * block.
 */
public final class Replay {

  private static final int HEAD = 1 << 14;
  private static final int MOST_CLIENTS = 1_000_000;
  // The largest bound of a store. A smaller heap ends the replay before it has so many buckets.
  private static final long MOST_BUCKETS = 200_000_000;

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
  int shards; // 0 to decide all requests
  @Nullable String demandedLimit;
  Demands demands = (atNanos, id, cost) -> {};
  Consumer<Step> steps = step -> {};
  int mostClients = MOST_CLIENTS; // tests set a smaller number
  long mostBuckets = MOST_BUCKETS; // tests set a smaller number
  int processors = Runtime.getRuntime().availableProcessors(); // tests set another number

  private Replay(Limits limits, List<? extends LogSource> sources) {
    this.limits = limits;
    this.sources = List.copyOf(sources);
  }

  /**
   * Creates a replay with the default options.
   *
   * @param limits the limits that decide the requests, with the rules that were loaded together
   *     with these limits
   * @param sources the logs, at least one
   */
  public static Replay of(Limits limits, List<? extends LogSource> sources) {
    return new Replay(limits, sources);
  }

  /**
   * Returns whether a stream contains an access log: the stream is compressed, or the first line
   * has the format of a log. Returns false for an empty stream. Reads only the first line, so the
   * method does not wait for the second line of a pipe.
   *
   * @param in the stream; its position after the call is not defined
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
   * Checks the name of a format, such as {@code combined}.
   *
   * @throws IllegalArgumentException if no format has this name
   */
  public static void requireFormat(String name) {
    LogFormat unused = LogFormat.parse(name, ZoneOffset.UTC);
  }

  /**
   * Sets a candidate: other limits that decide the same requests for comparison. A candidate with
   * rules uses its own rules. By default there is no candidate (null), and nothing is compared.
   */
  @CanIgnoreReturnValue
  public Replay against(@Nullable Limits candidate) {
    this.against = candidate;
    return this;
  }

  /**
   * Sets the format of the logs, such as {@code combined}. Null, the default, means that the format
   * is detected from the first lines.
   */
  @CanIgnoreReturnValue
  public Replay format(@Nullable String name) {
    this.format = name;
    return this;
  }

  /** Sets the zone for times in the log that have no zone; by default UTC. */
  @CanIgnoreReturnValue
  public Replay zone(ZoneId newZone) {
    this.zone = newZone;
    return this;
  }

  /** Sets by how much time lines can be out of order; by default 5 seconds. */
  @CanIgnoreReturnValue
  public Replay window(Duration newWindow) {
    this.window = newWindow;
    return this;
  }

  /**
   * Sets whether a line that cannot be parsed ends the replay with an exception; by default false.
   */
  @CanIgnoreReturnValue
  public Replay strict(boolean newStrict) {
    this.strict = newStrict;
    return this;
  }

  /**
   * Sets the limits to which requests are charged, without a rule book.
   *
   * @param newCounts for each limit, a text {@code LIMIT=ID}, such as {@code CallsPerClient={ip}}:
   *     the limit's name, and a template of the charged id, which can contain the placeholders of
   *     rules and {@code {field:NAME}}; if the list is empty, as by default, the rules determine
   *     the charges
   */
  @CanIgnoreReturnValue
  public Replay counts(List<String> newCounts) {
    this.counts = List.copyOf(newCounts);
    return this;
  }

  /**
   * Sets how the client's address is found behind proxies. By default, the address is the value of
   * the column {@code client}.
   *
   * @param newClient the way in which a server finds the client's address
   * @param newProxy the address of the connection of every request, if the log has no column for
   *     this address; null for no address
   */
  @CanIgnoreReturnValue
  public Replay client(ClientAddress newClient, @Nullable String newProxy) {
    this.client = newClient;
    this.proxy = newProxy;
    return this;
  }

  /**
   * Leaves out requests with one of the given response statuses, such as 429. By default, no
   * request is left out.
   */
  @CanIgnoreReturnValue
  public Replay skipStatus(Set<Integer> statuses) {
    this.skipped = Set.copyOf(statuses);
    return this;
  }

  /**
   * Reads the cost of a request from the log.
   *
   * @param field the native name of a column with whole numbers; a request without a number costs
   *     1. Null, the default, means that every request costs 1
   */
  @CanIgnoreReturnValue
  public Replay costField(@Nullable String field) {
    this.costField = field;
    return this;
  }

  /**
   * Sets a listener that receives the number of lines read so far, from time to time. The thread
   * that runs the replay calls the listener.
   */
  @CanIgnoreReturnValue
  public Replay progress(LongConsumer listener) {
    this.progress = listener;
    return this;
  }

  /**
   * Sets a consumer that receives each denial, in the order of time. The thread that runs the
   * replay calls the consumer.
   */
  @CanIgnoreReturnValue
  public Replay denials(@Nullable Consumer<Denial> taker) {
    this.denials = taker;
    return this;
  }

  /**
   * Sets a consumer that receives each request that is charged to one bucket, in the order of time.
   */
  @CanIgnoreReturnValue
  public Replay watch(String limit, String id, Consumer<Step> taker) {
    this.watchedLimit = limit;
    this.watchedId = id;
    this.steps = taker;
    return this;
  }

  /**
   * Decides only the requests whose ids belong to a shard. A hash of the id determines the shard;
   * this hash function never changes. The first shard has the number 1. The replay of each shard
   * reads all lines. {@link Shards} joins the results of all shards.
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

  /**
   * Sets a consumer that receives the costs that requests would charge to a limit. A replay with a
   * consumer of costs decides no requests.
   */
  @CanIgnoreReturnValue
  public Replay demands(String limit, Demands taker) {
    this.demandedLimit = limit;
    this.demands = taker;
    return this;
  }

  /**
   * Reads the logs, and decides each request.
   *
   * @throws LogException if a log does not have the format, an option has a mistake, or 200,000,000
   *     buckets are not enough
   */
  public ReplayResult run() throws IOException {
    ReplayRun run;
    try {
      run = new ReplayRun(this);
    } catch (IllegalArgumentException e) {
      throw new LogException(String.valueOf(e.getMessage()));
    }
    try {
      return run.result();
    } catch (StoreException e) {
      throw new LogException(
          "the replay can't decide a request: %s; with --shard, each replay has fewer buckets"
              .formatted(e.getMessage()));
    }
  }

  /** Receives the costs that requests would charge to a limit, in the order of time. */
  @FunctionalInterface
  public interface Demands {

    /**
     * Receives the cost of one request.
     *
     * @param atNanos the time of the request, in nanoseconds since the epoch
     * @param id the id in its canonical form; never an id with an override
     * @param cost the cost in tokens, which can be above any burst
     */
    void take(long atNanos, String id, long cost);
  }

  /**
   * A denied request.
   *
   * @param atNanos the time of the request, in nanoseconds since the epoch
   * @param rule the line of the rule; 0 without a rule book
   * @param limit the limit that denied the request; empty if the rule denies all requests
   * @param id the id of the bucket; empty if the rule denies all requests
   * @param request the method and the target of the request; empty if the log has neither
   * @param status the response status in the log; -1 if the log has none
   * @param retryInNanos the wait after which the request would be allowed; 0 if the request would
   *     never be allowed
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
   * A request that is charged to the watched bucket.
   *
   * @param atNanos the time of the request, in nanoseconds since the epoch
   * @param request the method and the target of the request; empty if the log has neither
   * @param status the response status in the log; -1 if the log has none
   * @param before the tokens in the bucket before the request; with several quotas, the fewest
   *     tokens in any of their buckets
   * @param deniedBy the limit that denied the request, which can be another limit than the watched
   *     limit, and the quota if this limit has several; marked with "(shadow)" if the limit in
   *     shadow would deny the request; empty if the request was allowed
   * @param retryInNanos the wait after which the request would be allowed; 0 if the request was
   *     allowed, or would never be allowed
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
