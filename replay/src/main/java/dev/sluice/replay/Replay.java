// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.Decision;
import dev.sluice.Transaction;
import dev.sluice.internal.text.SafeText;
import dev.sluice.internal.text.Suggestion;
import dev.sluice.limit.IpAddress;
import dev.sluice.limit.Limits;
import dev.sluice.replay.ReplayResult.Client;
import dev.sluice.replay.ReplayResult.Log;
import dev.sluice.replay.ReplayResult.Row;
import dev.sluice.replay.ReplayResult.Totals;
import dev.sluice.replay.Side.Charges;
import dev.sluice.replay.Side.Outcome;
import dev.sluice.replay.Side.Tally;
import dev.sluice.rules.RuleBook;
import dev.sluice.rules.RuleBook.RequestForm;
import dev.sluice.store.TimeSource;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.ProxyHeader;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.IntSupplier;
import java.util.function.LongConsumer;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/*
 * A line costs: reading it; finding what it is charged, which a table remembers for lines with the same values; the
 * limiter; and the tallies. Sets of clients grow only when the table misses, since they do not count how often.
 */
/**
 * Decides the requests of access logs with Sluice's own limiter and rules, on the clock of the log.
 * For one run. Not thread-safe; blocks as the streams do.
 */
public final class Replay {

  private static final int REMEMBERED = 1 << 17;
  private static final int LONGEST_REMEMBERED = 1 << 10; // so that the table is bounded in bytes
  private static final int SHOWN = 80;
  private static final int LINES_PER_REPORT = 1 << 14;
  private static final int HEAD = 1 << 14;
  private static final int LISTED = 10;
  private static final int MOST_BINS = 100_000;
  private static final long MINUTE = Duration.ofMinutes(1).toNanos();
  private static final int FAILED_FROM = 400;
  private static final String FIELD = "field:";
  private static final Pattern DIGITS = Pattern.compile("[0-9]+");

  /** What lines with the same values come to. */
  private static final class Known {

    private final int[] columns;
    private final byte[] key;
    private final int hash;
    private final String name;
    private final Charges base;
    private final @Nullable Charges other;
    private int client;
    private boolean isWatched;
    private boolean lacksCost;

    Known(int[] columns, LogRequest.Key key, String name, Charges base, @Nullable Charges other) {
      this.columns = columns;
      this.key = key.copy();
      this.hash = key.hash();
      this.name = name;
      this.base = base;
      this.other = other;
    }
  }

  private final Builder options;
  private final LogReader reader;
  private final LogRequest request;
  private final Clock clock = new Clock();
  private final Side base;
  private final @Nullable Side other;
  private final @Nullable Transaction watched;
  private final LogRequest.Key key = new LogRequest.Key();
  private final Known[] known = new Known[REMEMBERED];
  private int[] columns = new int[0];

  private final Clients clients;
  private final Clients lateClients; // those that are denied when the first table is full
  private long[] requests = new long[1 << 8];
  private long[] denied = new long[1 << 8];
  private long[] served = new long[1 << 8]; // denied here, and answered below 400 in the log
  private long[] otherDenied = new long[1 << 8];

  private long binNanos = MINUTE;
  private final TreeMap<Long, long[]> bins = new TreeMap<>();
  private long binKey = Long.MIN_VALUE;
  private long[] bin = new long[3];
  private final Map<Integer, long[]> ofMinute = new HashMap<>();
  private long minute = Long.MIN_VALUE;
  private long minuteDenied;
  private ReplayResult.@Nullable WorstMinute worst;

  private long decided;
  private long skipped;
  private long noRule;
  private long free;
  private long unusable;
  private long lackedCost;
  private long deniedRequests;
  private long otherDeniedRequests;
  private long newlyDenied;
  private long newlyAllowed;
  private long firstNanos = Long.MIN_VALUE;
  private long lastNanos;

  private Replay(Builder options) throws IOException {
    this.options = options;
    this.clients = new Clients(options.mostClients);
    this.lateClients = new Clients(options.mostClients);
    this.base = new Side(options.limits, RuleBook.of(options.limits), options.counts, clock);
    this.watched =
        options.watchedLimit == null
            ? null
            : Transaction.of(options.limits, options.watchedLimit, options.watchedId);
    Limits against = options.against;
    if (against == null) {
      this.other = null;
    } else {
      RuleBook own = RuleBook.of(against);
      RuleBook rules = own.hasRequestRules() ? own : RuleBook.of(options.limits);
      try {
        this.other = new Side(against, rules, options.counts, clock);
      } catch (IllegalArgumentException e) {
        throw new IllegalArgumentException("the candidate: " + e.getMessage(), e);
      }
    }
    this.reader =
        new LogReader(
            options.format, options.zone, options.sources, options.window, options.strict);
    this.request = new LogRequest(reader.format(), options.missingPeer());
    declareColumns();
  }

  /** Asks for the columns before the first line is read: a JSON log reads no others. */
  private void declareColumns() {
    for (Side side : sides()) {
      for (RequestForm rule : side.rules()) {
        rule.words().forEach(word -> reader.format().declare(column(word)));
      }
    }
    for (String count : options.counts) {
      words(count).forEach(word -> reader.format().declare(column(word)));
    }
    for (ProxyHeader header : ProxyHeader.values()) {
      reader.format().declare("header:" + header.name().toLowerCase(Locale.ROOT).replace('_', '-'));
    }
    if (options.costField != null) {
      reader.format().declare(FIELD + options.costField);
    }
  }

  private List<Side> sides() {
    return other == null ? List.of(base) : List.of(base, other);
  }

  /** The placeholders of a count. */
  private static List<String> words(String count) {
    List<String> words = new ArrayList<>();
    for (int at = count.indexOf('{'); at >= 0; at = count.indexOf('{', at + 1)) {
      words.add(count.substring(at + 1, Math.max(at + 1, count.indexOf('}', at))));
    }
    return words;
  }

  /** The column that a word of a rule needs. */
  private static String column(String word) {
    int bar = word.indexOf('|');
    String plain = bar < 0 ? word : word.substring(0, bar);
    if (plain.equals("ip") || plain.startsWith("ip/")) {
      return "client";
    }
    if (plain.startsWith("cookie:")) {
      return "header:cookie";
    }
    return plain;
  }

  private ReplayResult run() throws IOException {
    try (reader) {
      int status = reader.format().column("status");
      long sinceReport = 0;
      for (LogEntry entry = reader.next(); entry != null; entry = reader.next()) {
        if (++sinceReport == LINES_PER_REPORT) {
          options.progress.accept(reader.found().lines());
          sinceReport = 0;
        }
        long answered = entry.number(status);
        if (options.skipped.contains((int) answered)) {
          skipped++;
        } else {
          decide(entry, answered);
        }
      }
      reader.requireUnderstood();
      requireCost();
      requireCharges();
      endMinute();
      return result();
    }
  }

  private void requireCost() {
    String field = options.costField;
    if (field != null && decided > 0 && request.lacks(FIELD + field)) {
      List<String> others =
          reader.format().natives().stream().filter(one -> !one.equalsIgnoreCase(field)).toList();
      throw new LogException(
          "no request has the field %s for its cost%s"
              .formatted(SafeText.quote(field), Suggestion.didYouMean(field, others)));
    }
  }

  /** A log whose requests all lack what they are charged by shows nothing about limits. */
  private void requireCharges() {
    long uncharged = options.counts.isEmpty() ? unusable : unusable + free; // a rule may be free
    if (decided > 0 && uncharged == decided) {
      List<String> absent =
          lacking().stream().map(ReplayResult.Lacking::word).distinct().sorted().toList();
      throw new LogException(
          "none of the requests can be charged%s"
              .formatted(
                  absent.isEmpty()
                      ? ": a server would answer 400 to each"
                      : "; the log does not have " + String.join(", ", absent)));
    }
  }

  private void decide(LogEntry entry, long answered) {
    Known line = known(entry);
    long at = entry.atNanos();
    clock.nowNanos = at;
    decided++;
    firstNanos = firstNanos == Long.MIN_VALUE ? at : firstNanos;
    lastNanos = at;
    count(line.base.outcome());
    lackedCost += line.lacksCost ? 1 : 0;
    IntSupplier numbered = () -> numbered(line, true);
    boolean isWatched = line.isWatched;
    long levelBefore = isWatched ? level() : 0;
    Decision decision = base.decide(line.base, numbered);
    boolean isDenied = isDenied(line.base, decision);
    Side candidate = other;
    Charges candidateCharges = line.other;
    boolean otherDenies = isDenied;
    if (candidate != null && candidateCharges != null) {
      Decision second = candidate.decide(candidateCharges, numbered);
      otherDenies = isDenied(candidateCharges, second);
      tally(candidateCharges, second, otherDenies, numbered(line, otherDenies));
      otherDeniedRequests += otherDenies ? 1 : 0;
      newlyDenied += otherDenies && !isDenied ? 1 : 0;
      newlyAllowed += isDenied && !otherDenies ? 1 : 0;
    }
    int client = numbered(line, isDenied);
    tally(line.base, decision, isDenied, client);
    if (client >= 0) {
      requests[client]++;
      if (isDenied || otherDenies) {
        denied[client] += isDenied ? 1 : 0;
        served[client] += isDenied && answered > 0 && answered < FAILED_FROM ? 1 : 0;
        otherDenied[client] += otherDenies ? 1 : 0;
      }
    }
    inBin(at, isDenied, otherDenies);
    if (isWatched) {
      watch(entry, line, decision, levelBefore);
    }
    if (isDenied) {
      deniedRequests++;
      inMinute(at, client);
      if (options.denials != null) {
        options.denials.accept(denial(entry, line, decision, answered));
      }
    }
  }

  private void count(Outcome outcome) {
    switch (outcome) {
      case NO_RULE -> noRule++;
      case FREE -> free++;
      case UNUSABLE -> unusable++;
      case CHARGED, DENIED -> {}
    }
  }

  private static boolean isDenied(Charges charges, @Nullable Decision decision) {
    return charges.outcome() == Outcome.DENIED || (decision != null && decision.denied());
  }

  private static void tally(
      Charges charges, @Nullable Decision decision, boolean isDenied, int client) {
    for (Tally tally : charges.tallies()) {
      tally.requests++;
    }
    if (isDenied) {
      if (decision == null) {
        charges.tallies().get(0).deny(0, client);
      } else {
        Side.decisive(charges, decision).deny(decision.retryInNanos(), client);
      }
    }
  }

  /** What the line is charged; the same object for lines with the same values. */
  private Known known(LogEntry entry) {
    key.take(entry, columns);
    int slot = key.hash() & (REMEMBERED - 1);
    for (int i = 0; i < 2; i++) { // two lines with the same slot do not displace each other
      Known found = known[slot ^ i];
      if (found != null
          && found.hash == key.hash()
          && found.columns == columns
          && key.is(found.key)) {
        return found;
      }
    }
    request.show(entry);
    IpAddress address = options.client.find(request);
    String peer = address == null ? request.peer() : null;
    String name = address != null ? address.toString() : peer == null ? "?" : shortened(peer);
    long cost = cost();
    long hits = cost < 0 ? 1 : cost;
    Charges ofBase = base.charges(request, options.client, hits);
    Charges ofOther = other == null ? null : other.charges(request, options.client, hits);
    if (request.used().cardinality() != columns.length) {
      columns = request.used().stream().toArray();
    }
    key.take(entry, columns);
    Known made = new Known(columns, key, name, ofBase, ofOther);
    made.client = clients.number(name);
    made.lacksCost = cost < 0;
    made.isWatched =
        watched != null
            && ofBase.together().stream()
                .anyMatch(one -> one.bucketKey().equals(watched.bucketKey()));
    room(made.client);
    long hash = Sketch.hash(name.getBytes(StandardCharsets.UTF_8));
    base.see(ofBase, made.client, hash);
    if (other != null && ofOther != null) {
      other.see(ofOther, made.client, hash);
    }
    if (key.length() > LONGEST_REMEMBERED) {
      return made;
    }
    int place = key.hash() & (REMEMBERED - 1);
    known[place ^ 1] = known[place] == null ? known[place ^ 1] : known[place];
    known[place] = made;
    return made;
  }

  /** A name of bounded length, since the names of all clients are kept. */
  private static String shortened(String name) {
    return name.length() <= LONGEST_REMEMBERED
        ? name
        : name.substring(0, SHOWN)
            + "…"
            + Long.toHexString(Sketch.hash(name.getBytes(StandardCharsets.UTF_8)));
  }

  /** What the log says that the request costs; -1 if it says no whole number. */
  private long cost() {
    String field = options.costField;
    if (field == null) {
      return 1;
    }
    String text = request.field(FIELD + field);
    if (text == null || !DIGITS.matcher(text).matches()) {
      return -1;
    }
    byte[] digits = text.getBytes(StandardCharsets.US_ASCII);
    long cost = TimeText.digits(digits, 0, digits.length);
    return cost < 0 ? Long.MAX_VALUE : cost; // more than any burst
  }

  /** The client's number; one that is denied gets a number even where the first table is full. */
  private int numbered(Known line, boolean isDenied) {
    if (line.client < 0) {
      int late = isDenied || lateClients.size() > 0 ? lateClients.find(line.name) : Clients.NONE;
      late = late < 0 && isDenied ? lateClients.number(line.name) : late;
      if (late < 0) {
        return late;
      }
      line.client = options.mostClients + late;
      room(line.client);
    }
    return line.client;
  }

  private void room(int client) {
    if (client >= requests.length) {
      int size = Math.max(2 * requests.length, client + 1);
      requests = Arrays.copyOf(requests, size);
      denied = Arrays.copyOf(denied, size);
      served = Arrays.copyOf(served, size);
      otherDenied = Arrays.copyOf(otherDenied, size);
    }
  }

  private String name(int client) {
    return client < options.mostClients
        ? clients.name(client)
        : lateClients.name(client - options.mostClients);
  }

  private void inBin(long at, boolean isDenied, boolean otherDenies) {
    long number = Math.floorDiv(at, binNanos);
    if (number != binKey) {
      while (bins.size() >= MOST_BINS) {
        coarsen();
      }
      binKey = Math.floorDiv(at, binNanos);
      bin = bins.computeIfAbsent(binKey, unused -> new long[3]);
    }
    bin[0]++;
    bin[1] += isDenied ? 1 : 0;
    bin[2] += otherDenies ? 1 : 0;
  }

  private void coarsen() {
    TreeMap<Long, long[]> fine = new TreeMap<>(bins);
    bins.clear();
    binNanos *= 2;
    fine.forEach(
        (number, counts) -> {
          long[] sum = bins.computeIfAbsent(Math.floorDiv(number, 2L), unused -> new long[3]);
          for (int i = 0; i < sum.length; i++) {
            sum[i] += counts[i];
          }
        });
  }

  private void inMinute(long at, int client) {
    long number = Math.floorDiv(at, MINUTE);
    if (number != minute) {
      endMinute();
      minute = number;
    }
    minuteDenied++;
    ofMinute.computeIfAbsent(client, unused -> new long[1])[0]++;
  }

  private void endMinute() {
    if (minuteDenied > (worst == null ? 0 : worst.denied())) {
      Map.Entry<Integer, long[]> most =
          ofMinute.entrySet().stream()
              .max(Comparator.comparingLong(one -> one.getValue()[0]))
              .orElseThrow();
      worst =
          new ReplayResult.WorstMinute(
              minute * MINUTE,
              minuteDenied,
              most.getKey() < 0 ? "?" : name(most.getKey()),
              most.getValue()[0]);
    }
    ofMinute.clear();
    minuteDenied = 0;
  }

  /** The tokens in the watched bucket. */
  private long level() {
    return base.limiter().check(Objects.requireNonNull(watched, "watched").withCost(0)).remaining();
  }

  private void watch(LogEntry entry, Known line, @Nullable Decision decision, long levelBefore) {
    request.show(entry);
    Decision denial = decision == null || decision.allowed() ? null : decision;
    options.steps.accept(
        new Step(
            entry.atNanos(),
            line.name,
            request.requestLine(),
            entry.number(reader.format().column("status")),
            levelBefore,
            level(),
            denial != null
                ? Side.decisive(line.base, denial).limit
                : isDenied(line.base, null) ? line.base.tallies().get(0).limit : "",
            denial == null ? 0 : denial.retryInNanos()));
  }

  private Denial denial(LogEntry entry, Known line, @Nullable Decision decision, long answered) {
    request.show(entry);
    Tally tally =
        decision == null ? line.base.tallies().get(0) : Side.decisive(line.base, decision);
    var transaction = decision == null ? null : decision.transaction();
    return new Denial(
        entry.atNanos(),
        line.name,
        tally.line,
        tally.limit,
        transaction != null
            ? transaction.id()
            : line.base.together().stream().findFirst().map(Transaction::id).orElse(""),
        request.requestLine(),
        answered,
        decision == null ? 0 : decision.retryInNanos());
  }

  private ReplayResult result() {
    ReplayResult.Lines found = reader.found();
    boolean exact = clients.isExact();
    Log log =
        new Log(
            found,
            skipped,
            decided == 0 ? 0 : firstNanos,
            lastNanos,
            reader.format().name(),
            reader.format().times.shown());
    int all = exact ? clients.size() : options.mostClients + lateClients.size();
    long deniedClients = 0;
    long otherDeniedClients = 0;
    long newly = 0;
    long noMore = 0;
    for (int i = 0; i < all; i++) {
      boolean one = denied[i] > 0;
      boolean two = other != null && otherDenied[i] > 0;
      deniedClients += one ? 1 : 0;
      otherDeniedClients += two ? 1 : 0;
      newly += two && !one ? 1 : 0;
      noMore += other != null && one && !two ? 1 : 0;
    }
    Totals totals = new Totals(decided, deniedRequests, clients.distinct(), deniedClients, exact);
    ReplayResult.Change change =
        other == null
            ? null
            : new ReplayResult.Change(
                new Totals(
                    decided, otherDeniedRequests, clients.distinct(), otherDeniedClients, exact),
                newlyDenied,
                newlyAllowed,
                newly,
                noMore,
                rows(other));
    List<ReplayResult.Bin> series = new ArrayList<>();
    bins.forEach(
        (number, counts) ->
            series.add(new ReplayResult.Bin(number * binNanos, counts[0], counts[1], counts[2])));
    return new ReplayResult(
        log,
        totals,
        rows(base),
        new ReplayResult.Uncharged(noRule, free, unusable, lackedCost, lacking()),
        mostDenied(all),
        worst,
        change,
        new ReplayResult.Series(binNanos, series));
  }

  private List<Row> rows(Side side) {
    Map<Integer, String> paths = new HashMap<>();
    side.rules().forEach(rule -> paths.put(rule.line(), rule.paths()));
    return side.tallies().stream()
        .map(
            tally ->
                new Row(
                    tally.line == 0 ? "" : side.rulesFile() + ":" + tally.line,
                    paths.getOrDefault(tally.line, ""),
                    tally.limit,
                    tally.shadow,
                    tally.requests,
                    tally.denied,
                    clients.isExact() ? tally.clients.cardinality() : tally.sketch.estimate(),
                    tally.deniedClients.cardinality(),
                    tally.longestWaitNanos))
        .sorted(Comparator.comparing(Row::rule, Comparator.comparingInt(Replay::line)))
        .toList();
  }

  private static int line(String rule) {
    return rule.isEmpty() ? 0 : Integer.parseInt(rule.substring(rule.lastIndexOf(':') + 1));
  }

  private List<ReplayResult.Lacking> lacking() {
    List<ReplayResult.Lacking> lacking = new ArrayList<>();
    for (Side side : sides()) {
      for (RequestForm rule : side.rules()) {
        for (String word : rule.words().stream().sorted().toList()) {
          if (isLacking(word)) {
            lacking.add(new ReplayResult.Lacking(side.rulesFile() + ":" + rule.line(), word));
          }
        }
      }
    }
    for (String count : options.counts) {
      for (String word : words(count)) {
        if (isLacking(word)) {
          lacking.add(new ReplayResult.Lacking("the count " + count, word));
        }
      }
    }
    return lacking.stream().distinct().toList();
  }

  private boolean isLacking(String word) {
    String column = column(word);
    boolean ofLine =
        column.equals("path") || column.equals("method") || column.matches("(query|path):.*");
    return ofLine
        ? request.lacks("request") && request.lacks("target")
        : request.lacks(column) && !(column.equals("client") && options.missingPeer() != null);
  }

  private List<Client> mostDenied(int all) {
    List<Integer> most = new ArrayList<>();
    for (int i = 0; i < all; i++) {
      if (denied[i] > 0) {
        most.add(i);
        if (most.size() > 100 * LISTED) {
          keepMost(most);
        }
      }
    }
    keepMost(most);
    return most.stream().map(i -> new Client(name(i), requests[i], denied[i], served[i])).toList();
  }

  private void keepMost(List<Integer> numbers) {
    numbers.sort(Comparator.comparingLong(i -> -denied[i]));
    if (numbers.size() > LISTED) {
      numbers.subList(LISTED, numbers.size()).clear();
    }
  }

  /** The clock of the log, which stands at the request that is being decided. */
  private static final class Clock implements TimeSource {

    private long nowNanos;

    @Override
    public long nanos() {
      return nowNanos;
    }
  }

  /**
   * A request that was denied.
   *
   * @param atNanos when, in nanoseconds since the epoch
   * @param client who sent it
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
   * @param client who sent it
   * @param request the method and the target; empty if the log has none
   * @param status what the log says was answered; -1 if it does not say
   * @param before the tokens in the bucket before the request
   * @param after the tokens in the bucket after it
   * @param deniedBy the limit that denied it, which may be another one; empty if it was allowed
   * @param retryInNanos how long the client would have had to wait
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

    /**
     * Whether the request was denied.
     *
     * @return true if a limit denied it
     */
    public boolean denied() {
      return !deniedBy.isEmpty();
    }
  }

  /**
   * Whether a stream is compressed, or a log whose format its first line shows. Reads no more than
   * that line needs, so it does not wait for the second line of a pipe.
   *
   * @param in the beginning of the log is read from it; its position afterwards is not defined
   * @return false for an empty stream
   * @throws IOException if it cannot be read
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
   * Requires the name of a format.
   *
   * @param name such as {@code combined}
   * @throws IllegalArgumentException if there is no such format
   */
  public static void requireFormat(String name) {
    LogFormat unused = LogFormat.parse(name, ZoneOffset.UTC);
  }

  /**
   * Starts the options of a replay.
   *
   * @param limits what decides; the rules are those that were loaded with them
   * @param sources the logs, at least one
   * @return a builder
   */
  public static Builder of(Limits limits, List<? extends LogSource> sources) {
    return new Builder(limits, sources);
  }

  /** The options of a {@link Replay}. Not thread-safe. */
  public static final class Builder {

    private static final int MOST_CLIENTS = 1_000_000;

    private final Limits limits;
    private final List<? extends LogSource> sources;
    private @Nullable Limits against;
    private @Nullable String format;
    private ZoneId zone = ZoneOffset.UTC;
    private Duration window = Duration.ofSeconds(5);
    private boolean strict;
    private List<String> counts = List.of();
    private ClientAddress client = ClientAddress.direct();
    private @Nullable String proxy;
    private Set<Integer> skipped = Set.of();
    private @Nullable String costField;
    private LongConsumer progress = lines -> {};
    private @Nullable Consumer<Denial> denials;
    private @Nullable String watchedLimit;
    private String watchedId = "";
    private Consumer<Step> steps = step -> {};
    int mostClients = MOST_CLIENTS; // fewer for tests

    private Builder(Limits limits, List<? extends LogSource> sources) {
      this.limits = limits;
      this.sources = List.copyOf(sources);
    }

    /**
     * Compares with other limits; with their rules, if any were loaded with them.
     *
     * @param candidate decides the same requests apart; null for no comparison, the default
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder against(@Nullable Limits candidate) {
      this.against = candidate;
      return this;
    }

    /**
     * Sets the format of the logs.
     *
     * @param name such as {@code combined}; null to recognise it by the first lines, the default
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder format(@Nullable String name) {
      this.format = name;
      return this;
    }

    /**
     * Sets the zone of times that name none.
     *
     * @param newZone UTC if not called
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder zone(ZoneId newZone) {
      this.zone = newZone;
      return this;
    }

    /**
     * Sets how far lines may be out of order.
     *
     * @param newWindow 5 seconds if not called
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder window(Duration newWindow) {
      this.window = newWindow;
      return this;
    }

    /**
     * Makes lines that are not understood fatal.
     *
     * @param newStrict false if not called
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder strict(boolean newStrict) {
      this.strict = newStrict;
      return this;
    }

    /**
     * Counts requests against limits without a rule book.
     *
     * @param newCounts each {@code LIMIT=TEMPLATE}, with the placeholders of rules and {@code
     *     {field:NAME}}; none for the rules, the default
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder counts(List<String> newCounts) {
      this.counts = List.copyOf(newCounts);
      return this;
    }

    /**
     * Sets how the client's address is found behind proxies.
     *
     * @param newClient as a server finds it; the column of the address if not called
     * @param newProxy the peer of requests in a log without a column for it; null for none
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder client(ClientAddress newClient, @Nullable String newProxy) {
      this.client = newClient;
      this.proxy = newProxy;
      return this;
    }

    /**
     * Leaves out requests that were answered with a status, such as 429.
     *
     * @param statuses none if not called
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder skipStatus(Set<Integer> statuses) {
      this.skipped = Set.copyOf(statuses);
      return this;
    }

    /**
     * Takes the cost of a request from the log.
     *
     * @param field the log's own name of a column with whole numbers; a request without one costs
     *     1. Null for 1, the default
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder costField(@Nullable String field) {
      this.costField = field;
      return this;
    }

    /**
     * Reports the number of lines from time to time.
     *
     * @param listener called by the thread of the run
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder progress(LongConsumer listener) {
      this.progress = listener;
      return this;
    }

    /**
     * Takes each denial.
     *
     * @param taker called by the thread of the run, in the order of the log's time
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder denials(@Nullable Consumer<Denial> taker) {
      this.denials = taker;
      return this;
    }

    /**
     * Watches one bucket.
     *
     * @param limit the limit's name
     * @param id the id of the bucket
     * @param taker takes each request that is charged to the bucket, in the order of the log's time
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder watch(String limit, String id, Consumer<Step> taker) {
      this.watchedLimit = limit;
      this.watchedId = id;
      this.steps = taker;
      return this;
    }

    private @Nullable String missingPeer() {
      return proxy;
    }

    /**
     * Reads the logs and decides each request.
     *
     * @return what came of it
     * @throws IOException if a log cannot be read
     * @throws LogException if a log is not of the format, or an option has a mistake
     */
    public ReplayResult run() throws IOException {
      Replay replay;
      try {
        replay = new Replay(this);
      } catch (IllegalArgumentException e) {
        throw new LogException(String.valueOf(e.getMessage()));
      }
      return replay.run();
    }
  }
}
