// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import dev.sluice.Decision;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.internal.text.SafeText;
import dev.sluice.internal.text.Suggestion;
import dev.sluice.limit.IpAddress;
import dev.sluice.limit.Limits;
import dev.sluice.replay.ReadAhead.Batch;
import dev.sluice.replay.ReplayResult.Log;
import dev.sluice.replay.ReplayResult.Row;
import dev.sluice.replay.ReplayResult.Totals;
import dev.sluice.replay.Side.Charges;
import dev.sluice.replay.Side.Outcome;
import dev.sluice.replay.Side.Tally;
import dev.sluice.rules.RuleBook;
import dev.sluice.rules.RuleBook.RequestForm;
import dev.sluice.store.TimeSource;
import dev.sluice.web.ProxyHeader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.IntSupplier;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/*
 * The replay handles each line in four steps: read the line, find its charges, decide, and count. A
 * table stores the charges, so lines with the same values share one look-up. Sets of clients are
 * updated only for lines that are not in the table, since all other lines are already counted in
 * the sets. With many clients, most of the time is spent waiting for memory. So each step handles a
 * group of lines, and also reads the memory that the next step needs. The processor then fetches
 * this memory for many lines at the same time. The reader computes the hash and the status of a
 * line while the line is still in the processor's cache.
 */
/** Runs a {@link Replay} once. Not thread-safe; blocks if the streams block. */
final class ReplayRun {

  private static final int GROUP = 32;
  private static final int REMEMBERED = 1 << 18;
  // The number of entries in one bucket of the hash table. The hashes of these entries share a
  // cache line of the processor.
  private static final int WAYS = 8;
  private static final int MOST_KEY_BYTES = 1 << 25;
  private static final int LONGEST_REMEMBERED = 1 << 10;
  private static final int SHOWN = 80;
  private static final int LINES_PER_REPORT = 1 << 14;
  private static final int FAILED_FROM = 400;
  private static final String FIELD = "field:";
  // A rule with methods also matches the methods in these headers.
  private static final List<String> METHOD_OVERRIDES =
      List.of("x-http-method-override", "x-http-method", "x-method-override");
  private static final Pattern DIGITS = Pattern.compile("[0-9]+");

  /** The charges of all lines with the same values. */
  private static final class Known {

    private final byte[] key;
    private final boolean isRequest;
    private final String name;
    private final Charges base;
    private final @Nullable Charges other;
    private int client;
    private @Nullable Transaction watched; // the watched transaction, enforced or in shadow
    private boolean lacksCost;
    private Map<String, Long> demands = Map.of();
    private boolean isElsewhere; // whether another shard decides the request

    Known(byte[] key, boolean isRequest, String name, Charges base, @Nullable Charges other) {
      this.key = key;
      this.isRequest = isRequest;
      this.name = name;
      this.base = base;
      this.other = other;
    }
  }

  private final Replay options;
  private final LogReader reader;
  private final LogRequest request;
  private final Clock clock = new Clock();
  private final Side base;
  private final @Nullable Side other;
  private final List<String> watchedKeys; // of the watched bucket, enforced and in shadow
  private final LogEntry[] entries = new LogEntry[GROUP];
  private final long[] hashes = new long[GROUP];
  private final @Nullable Known[] likely = new @Nullable Known[GROUP];
  private final Known[] found = new Known[GROUP];
  private long unusedSum; // keeps the JIT from removing the reads
  private final long[] knownHashes = new long[REMEMBERED];
  // known[i] has the hash knownHashes[i].
  private final @Nullable Known[] known = new @Nullable Known[REMEMBERED];
  private long keyBytes; // the size of the keys of all known lines
  private int[] columns = new int[0]; // a key consists of the values of these columns
  private int allColumns; // the number of columns of the format

  private final ClientCounts clients;
  private final TimeLine time;

  private long read;
  private long chargeless;
  private long decided;
  private long skipped;
  private boolean hasStatus;
  private @Nullable String proxyHeader; // the header that was asked for the client's address
  private long noRule;
  private long free;
  private long unusable;
  private long tooCostly;
  private long lackedCost;
  private long deniedRequests;
  private long otherDeniedRequests;
  private long newlyDenied;
  private long newlyAllowed;
  private long firstNanos = Long.MIN_VALUE;
  private long lastNanos;

  ReplayRun(Replay options) throws IOException {
    this.options = options;
    this.clients = new ClientCounts(options.mostClients);
    this.time = new TimeLine(clients, options.shards > 0);
    this.base =
        new Side(
            options.limits,
            RuleBook.of(options.limits),
            options.counts,
            clock,
            options.mostBuckets);
    if (options.watchedLimit == null) {
      this.watchedKeys = List.of();
    } else {
      Transaction watched = Transaction.of(options.limits, options.watchedLimit, options.watchedId);
      this.watchedKeys = List.of(watched.bucketKey(), watched.inShadow().bucketKey());
    }
    Limits against = options.against;
    if (against == null) {
      this.other = null;
    } else {
      RuleBook own = RuleBook.of(against);
      RuleBook rules = own.hasRequestRules() ? own : RuleBook.of(options.limits);
      try {
        this.other = new Side(against, rules, options.counts, clock, options.mostBuckets);
      } catch (IllegalArgumentException e) {
        throw new IllegalArgumentException("the candidate: " + e.getMessage(), e);
      }
    }
    this.reader =
        new LogReader(
            options.format, options.zone, options.sources, options.window, options.strict);
    declareColumns();
    this.request = new LogRequest(reader.format(), options.proxy);
  }

  /**
   * Declares all columns before the first line is read. The format of JSON logs reads only the
   * declared columns.
   */
  private void declareColumns() {
    for (Side side : sides()) {
      for (RequestForm rule : side.rules()) {
        rule.words().forEach(word -> declare(column(word)));
      }
      if (!side.rules().isEmpty()) {
        METHOD_OVERRIDES.forEach(header -> declare("header:" + header));
      }
    }
    for (String count : options.counts) {
      words(count).forEach(word -> declare(column(word)));
    }
    for (ProxyHeader header : ProxyHeader.values()) {
      reader.format().declare("header:" + header.name().toLowerCase(Locale.ROOT).replace('_', '-'));
    }
    if (options.costField != null) {
      reader.format().declare(FIELD + options.costField);
    }
    reader.format().seal();
  }

  /** Declares a column; for a header, also the other name that it has in CGI. */
  private void declare(String column) {
    reader.format().declare(column);
    if (column.startsWith("header:")) {
      reader.format().declare(column.replace('-', '_'));
    }
  }

  private List<Side> sides() {
    return other == null ? List.of(base) : List.of(base, other);
  }

  private static List<String> words(String count) {
    List<String> words = new ArrayList<>();
    for (int at = count.indexOf('{'); at >= 0; at = count.indexOf('{', at + 1)) {
      words.add(count.substring(at + 1, Math.max(at + 1, count.indexOf('}', at))));
    }
    return words;
  }

  /** Returns the column that a placeholder of a rule needs. */
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

  ReplayResult result() throws IOException {
    boolean onOwnThread = options.processors > 1 && !reader.format().addsColumns();
    try (ReadAhead requests = new ReadAhead(reader, onOwnThread)) {
      long reported = 0;
      for (Batch batch = requests.next(); batch != null; batch = requests.next()) {
        if (batch.lines - reported >= LINES_PER_REPORT) {
          options.progress.accept(batch.lines);
          reported = batch.lines;
        }
        for (int from = 0; from < batch.size; from += GROUP) {
          decide(batch.entries, from, Math.min(from + GROUP, batch.size));
        }
      }
      requireStatus();
      requireProxyHeader();
      requireCost();
      requireCharges();
      return counted();
    }
  }

  private void requireStatus() {
    if (!options.skipped.isEmpty() && read > 0 && !hasStatus) {
      throw new LogException(
          "no request of the log has a status, so none can be left out by its status");
    }
  }

  private void requireProxyHeader() {
    String header = proxyHeader;
    if (header != null && request.lacks("header:" + header)) {
      throw new LogException(
          "no request from a trusted proxy has the header %s, so all clients of a proxy would share one bucket; log the header, or do not name trusted proxies"
              .formatted(header));
    }
  }

  private void requireCost() {
    String field = options.costField;
    if (field != null && read > 0 && request.lacks(FIELD + field)) {
      List<String> others =
          reader.format().natives().stream().filter(one -> !one.equalsIgnoreCase(field)).toList();
      throw new LogException(
          "no request has a value in the cost field %s%s"
              .formatted(SafeText.quote(field), Suggestion.didYouMean(field, others)));
    }
  }

  /** Throws if no request of the log could be charged because values are missing. */
  private void requireCharges() {
    if (read > 0 && chargeless == read) {
      List<String> absent =
          lacking().stream().map(ReplayResult.Lacking::word).distinct().sorted().toList();
      throw new LogException(
          "no request can be charged%s"
              .formatted(
                  absent.isEmpty()
                      ? ": a server would reply 400 to each request"
                      : "; the log, read as %s, does not have %s"
                          .formatted(reader.format().name(), String.join(", ", absent))));
    }
  }

  private void decide(LogEntry[] batch, int from, int to) {
    if (allColumns != reader.format().columns()) { // a heading added columns that no key has
      allColumns = reader.format().columns();
      forgetAll();
    }
    int kept = 0;
    for (int i = from; i < to; i++) {
      hasStatus |= batch[i].status() >= 0;
      if (!options.skipped.isEmpty() && options.skipped.contains((int) batch[i].status())) {
        skipped++;
      } else {
        hashes[kept] = batch[i].hash(columns);
        entries[kept++] = batch[i];
      }
    }
    for (int i = 0; i < kept; i++) {
      likely[i] = withHash(hashes[i]);
    }
    for (int i = 0; i < kept; i++) {
      Known one = likely[i];
      unusedSum +=
          one == null ? 0 : one.key.length + one.base.utf8Id.length + clients.touch(one.client);
    }
    int[] hashed = columns;
    for (int i = 0; i < kept; i++) {
      found[i] = known(entries[i], columns == hashed ? likely[i] : null);
    }
    for (int i = 0; i < kept; i++) {
      decide(entries[i], found[i]);
    }
  }

  private void decide(LogEntry entry, Known line) {
    long at = entry.atNanos();
    read++;
    Outcome outcome = line.base.outcome;
    // With rules, a request without charges is not a mistake, since a rule can be unlimited. With
    // the option --count, a request without charges lacks a value that the id in --count needs. If
    // every request lacks a value that the id in --count needs, the replay fails.
    boolean isFree = outcome == Outcome.FREE && !options.counts.isEmpty();
    chargeless += outcome == Outcome.UNUSABLE || isFree ? 1 : 0;
    if (line.isElsewhere) {
      return;
    }
    clock.nowNanos = at;
    decided++;
    firstNanos = firstNanos == Long.MIN_VALUE ? at : firstNanos;
    lastNanos = at;
    count(outcome);
    tooCostly += line.base.isTooCostly ? 1 : 0;
    lackedCost += line.lacksCost ? 1 : 0;
    if (options.demandedLimit != null) {
      line.demands.forEach((id, asked) -> options.demands.take(at, id, asked));
      return;
    }
    IntSupplier numbered = () -> numbered(line, true);
    Transaction ofWatched = line.watched;
    long levelBefore = ofWatched == null ? 0 : level(ofWatched);
    Decision trial =
        ofWatched != null && ofWatched.isShadow() ? base.limiter().check(ofWatched) : null;
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
      boolean wasServed = entry.status() > 0 && entry.status() < FAILED_FROM;
      clients.count(client, isDenied, wasServed, otherDenies);
    }
    time.add(at, isDenied, otherDenies, client);
    if (ofWatched != null) {
      watch(entry, line, ofWatched, isDenied ? decision : trial, levelBefore);
    }
    if (isDenied) {
      deniedRequests++;
      if (options.denials != null) {
        options.denials.accept(denial(entry, line, decision));
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
    return charges.outcome == Outcome.DENIED || (decision != null && decision.denied());
  }

  private static void tally(
      Charges charges, @Nullable Decision decision, boolean isDenied, int client) {
    charges.countRequest(isDenied);
    if (isDenied) {
      if (decision == null) {
        charges.tallies.get(0).deny(0, client);
      } else {
        Side.decisive(charges, decision).deny(decision.retryInNanos(), client);
      }
    }
  }

  /** Returns the charges stored under a hash; null if the table has no entry with this hash. */
  private @Nullable Known withHash(long hash) {
    int place = place(hash);
    for (int i = place; i < place + WAYS; i++) {
      if (knownHashes[i] == hash && known[i] != null) {
        return known[i];
      }
    }
    return null;
  }

  /**
   * Returns the charges of a line. For lines with the same values, returns the same {@code Known}
   * object.
   */
  private Known known(LogEntry entry, @Nullable Known likely) {
    if (likely != null && isOf(likely, entry)) {
      return likely;
    }
    // An earlier line of the same group can have the same values, or can have added a column.
    Known now = withHash(entry.hash(columns));
    return now != null && isOf(now, entry) ? now : made(entry);
  }

  private boolean isOf(Known line, LogEntry entry) {
    return line.isRequest == entry.isRequest() && LogRequest.Key.is(line.key, entry, columns);
  }

  private Known made(LogEntry entry) {
    request.show(entry);
    IpAddress address = options.client.find(request);
    proxyHeader = request.lastHeader() == null ? proxyHeader : request.lastHeader();
    String peer = address == null ? request.peer() : null;
    String sender = address != null ? address.toString() : peer == null ? "?" : shortened(peer);
    long cost = cost();
    long hits = cost < 0 ? 1 : cost;
    Charges ofBase = base.charges(request, options.client, hits);
    Charges ofOther = other == null ? null : other.charges(request, options.client, hits);
    String name = options.shards > 0 ? owner(ofBase, ofOther, sender) : sender;
    long hash = Sketch.hash(name.getBytes(StandardCharsets.UTF_8));
    if (request.used().cardinality() != columns.length) {
      columns = request.used().stream().toArray();
      reader.format().hashBy(columns);
      forgetAll(); // the stored keys have fewer columns
    }
    byte[] key = LogRequest.Key.of(entry, columns);
    Known made =
        new Known(
            Arrays.equals(key, ofBase.utf8Id) ? ofBase.utf8Id : key,
            entry.isRequest(),
            name,
            ofBase,
            ofOther);
    made.isElsewhere =
        options.shards > 0 && Sketch.shard(hash, options.shards) != options.shard - 1;
    made.lacksCost = cost < 0;
    if (options.demandedLimit != null) {
      made.demands = base.demands(options.demandedLimit, request, options.client, hits);
    }
    if (!watchedKeys.isEmpty()) {
      made.watched =
          ofBase.together.stream()
              .filter(one -> watchedKeys.contains(one.bucketKey()))
              .findFirst()
              .orElse(null);
    }
    if (!made.isElsewhere) {
      made.client = clients.number(name);
      base.see(ofBase, made.client, hash);
      if (other != null && ofOther != null) {
        other.see(ofOther, made.client, hash);
      }
    }
    ofBase.shrink();
    if (ofOther != null) {
      ofOther.shrink();
    }
    remember(made, entry.hash(columns));
    return made;
  }

  private void remember(Known made, long hash) {
    if (made.key.length > LONGEST_REMEMBERED) {
      return;
    }
    if (keyBytes > MOST_KEY_BYTES) {
      forgetAll();
    }
    int place = place(hash);
    Known oldest = known[place + WAYS - 1];
    keyBytes += made.key.length - (oldest == null ? 0 : oldest.key.length);
    System.arraycopy(known, place, known, place + 1, WAYS - 1);
    System.arraycopy(knownHashes, place, knownHashes, place + 1, WAYS - 1);
    known[place] = made;
    knownHashes[place] = hash;
  }

  private void forgetAll() {
    Arrays.fill(known, null);
    keyBytes = 0;
  }

  /** Returns the first index of the hash table's bucket for a hash. */
  private static int place(long hash) {
    return (int) hash & (REMEMBERED - WAYS);
  }

  /**
   * Returns the only id to which a request is charged; if the request is charged to no id, the
   * sender.
   */
  private String owner(Charges ofBase, @Nullable Charges ofOther, String sender) {
    List<Transaction> all = new ArrayList<>(ofBase.together);
    if (ofOther != null) {
      all.addAll(ofOther.together);
    }
    for (Transaction one : all) {
      Transaction first = all.get(0);
      if (!one.id().equals(first.id())) {
        int rule = ofBase.tallies.isEmpty() ? 0 : ofBase.tallies.get(0).line;
        throw new LogException(
            "%s charges a request to different ids, %s of %s and %s of %s; such a request belongs to no single shard"
                .formatted(
                    rule == 0 ? "--count or the candidate" : base.rulesFile() + ":" + rule,
                    SafeText.quote(first.id()),
                    first.name().name(),
                    SafeText.quote(one.id()),
                    one.name().name()));
      }
    }
    return all.isEmpty() ? sender : shortened(all.get(0).id());
  }

  /** Returns a name of bounded length, since the names of all clients are stored. */
  private static String shortened(String name) {
    return name.length() <= LONGEST_REMEMBERED
        ? name
        : name.substring(0, SHOWN)
            + "…"
            + Long.toHexString(Sketch.hash(name.getBytes(StandardCharsets.UTF_8)));
  }

  /** Returns the cost of the request in the log; -1 if the column contains no whole number. */
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
    return cost < 0 ? Long.MAX_VALUE : cost; // a cost above any burst
  }

  /**
   * Returns the index of a line's client in the counts. A client with a denial gets an index even
   * if the table of all clients is full.
   */
  private int numbered(Known line, boolean isDenied) {
    if (line.client < 0) {
      line.client = clients.lateNumber(line.name, isDenied);
    }
    return line.client;
  }

  /**
   * Returns the tokens in the watched bucket. With several quotas, returns the fewest tokens in any
   * bucket.
   */
  private long level(Transaction ofWatched) {
    Decision now = base.limiter().check(ofWatched.withCost(0));
    return now.quotas().stream().mapToLong(Decision::remaining).min().orElse(now.remaining());
  }

  private void watch(
      LogEntry entry,
      Known line,
      Transaction ofWatched,
      @Nullable Decision decision,
      long levelBefore) {
    request.show(entry);
    Decision denial = decision == null || decision.allowed() ? null : decision;
    options.steps.accept(
        new Replay.Step(
            entry.atNanos(),
            line.name,
            request.requestLine(),
            entry.status(),
            levelBefore,
            level(ofWatched),
            denial != null
                ? denier(Side.decisive(line.base, denial)) + quota(denial)
                : isDenied(line.base, null) ? line.base.tallies.get(0).limit : "",
            denial == null ? 0 : denial.retryInNanos()));
  }

  private static String denier(Tally tally) {
    return tally.shadow ? tally.limit + " (shadow)" : tally.limit;
  }

  /** Returns the quota that denied the request; empty if the limit has only one quota. */
  private static String quota(Decision denial) {
    Transaction transaction = denial.transaction();
    Quota quota = transaction == null ? null : transaction.quota();
    return transaction == null || quota == null || transaction.quotas().size() == 1
        ? ""
        : " (%s per %s)".formatted(quota.count(), GoDuration.shortened(quota.period()));
  }

  private Replay.Denial denial(LogEntry entry, Known line, @Nullable Decision decision) {
    request.show(entry);
    Tally tally = decision == null ? line.base.tallies.get(0) : Side.decisive(line.base, decision);
    var transaction = decision == null ? null : decision.transaction();
    return new Replay.Denial(
        entry.atNanos(),
        line.name,
        tally.line,
        tally.limit,
        transaction != null
            ? transaction.id()
            : line.base.together.stream().findFirst().map(Transaction::id).orElse(""),
        request.requestLine(),
        entry.status(),
        decision == null ? 0 : decision.retryInNanos());
  }

  private ReplayResult counted() {
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
    long deniedClients = clients.denied(true, false);
    Totals totals = new Totals(decided, deniedRequests, clients.distinct(), deniedClients, exact);
    List<ReplayResult.WorstMinute> minutes = time.minutes();
    return new ReplayResult(
        log,
        totals,
        rows(base),
        new ReplayResult.Uncharged(noRule, free, unusable, tooCostly, lackedCost, lacking()),
        clients.mostDenied(),
        TimeLine.worst(minutes),
        other == null ? null : change(other, totals),
        time.series(),
        options.shards == 0
            ? null
            : new ReplayResult.Shard(options.shard, options.shards, minutes));
  }

  private ReplayResult.Change change(Side candidate, Totals totals) {
    long deniedClients = clients.denied(false, true);
    long both = clients.denied(true, true);
    return new ReplayResult.Change(
        new Totals(decided, otherDeniedRequests, totals.clients(), deniedClients, totals.exact()),
        newlyDenied,
        newlyAllowed,
        deniedClients - both,
        totals.deniedClients() - both,
        rows(candidate));
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
                    clients.count(tally.deniedClients),
                    tally.longestWaitNanos))
        .sorted(Comparator.comparingInt(Row::line))
        .toList();
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
          lacking.add(new ReplayResult.Lacking("--count " + count, word));
        }
      }
    }
    return lacking.stream().distinct().toList();
  }

  private boolean isLacking(String word) {
    String column = column(word);
    if (column.equals("host") || column.equalsIgnoreCase("header:host")) {
      return request.lacksHost();
    }
    boolean ofLine =
        column.equals("path") || column.equals("method") || column.matches("(query|path):.*");
    return ofLine
        ? request.lacks("request") && request.lacks("target")
        : request.lacks(column) && !(column.equals("client") && options.proxy != null);
  }

  /** A clock that always returns the time of the current request. */
  private static final class Clock implements TimeSource {

    private long nowNanos;

    @Override
    public long nanos() {
      return nowNanos;
    }
  }
}
