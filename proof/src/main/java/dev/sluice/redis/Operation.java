// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.Decision;
import dev.sluice.Insides;
import dev.sluice.Insides.Part;
import dev.sluice.Transaction;
import dev.sluice.Transaction.Kind;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Penalty;
import dev.sluice.redis.KnownBucket.Given;
import dev.sluice.redis.Reference.Granted;
import dev.sluice.redis.World.Actor;
import dev.sluice.store.StoreException;
import java.time.Instant;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/** One call of a caller; checks the invariants of the call's answer. For one thread. */
final class Operation {

  private static final Set<String> GIVING_BACK =
      Set.of(
          "refund",
          "reset",
          "cancel",
          "receipt",
          "blocking cancel",
          "settle",
          "close the lease",
          "give up");
  private static final Set<String> LOOKING = Set.of("check", "check after the wait");
  private static final Set<String> ASKING = Set.of("spend", "reserve", "refund", "reset");
  private static final int FAIL = 0; // first of the numbers of failure rules in a plan
  private static final int DENY = 2;
  private static final int LOCAL = 3;
  private static final long AT_ONCE_NANOS = 200_000;
  private static final long MOST_ESTIMATE_NANOS =
      50_000_000; // the store's largest estimate of a round trip
  private static final long SLACK_NANOS = 2_000_000;
  private static final Set<String> KEEPING_LINES =
      Set.of(
          "spend",
          "blocking spend",
          "check",
          "check after the wait",
          "acquire",
          "blocking acquire");

  private final Calls calls;
  private final World world;
  private final Reference reference;
  private final Conditions conditions;
  private final int number;
  private final String verb;
  private final List<Transaction> transactions; // one for each bucket
  private final boolean isOfOneLimit;
  private final long waitNanos;
  private final long start;
  private final Map<Transaction, Granted> granted = new LinkedHashMap<>();
  private final Map<String, Penalty> penalties = new HashMap<>(); // penalties in force at the start
  // by bucket key: since when another call in flight may lower the TAT
  private final Map<String, Long> loweredSince = new HashMap<>();
  private final Map<String, Long> aloneSince = new HashMap<>(); // start of a spend, by bucket key
  private final Set<String> untouched = new HashSet<>(); // bucket keys that only this call uses
  private final boolean overServers;
  private final boolean givesBack;
  private final long begun; // give-backs of this process that began before
  private final boolean besideOthers;
  private final boolean mustBeRefused;
  private final boolean startedAlone;
  private final int countsThen; // number of calls of this process for the first key at the start
  private boolean met;
  private boolean ended;
  private boolean disturbed;
  // The store forgives in a separate call, so another process may come between.
  private boolean forgivesApart;

  /**
   * Begins a call.
   *
   * @param waitNanos how long its caller waits for tokens at most
   */
  Operation(Calls calls, String verb, List<Transaction> transactions, long waitNanos) {
    this(
        calls,
        verb,
        transactions.stream().flatMap(one -> Insides.parts(one).stream()).toList(),
        waitNanos,
        transactions.size() == 1);
  }

  private Operation(
      Calls calls,
      String verb,
      List<Transaction> transactions,
      long waitNanos,
      boolean isOfOneLimit) {
    this.isOfOneLimit = isOfOneLimit;
    this.waitNanos = waitNanos;
    this.calls = calls;
    this.world = calls.world;
    this.reference = calls.reference;
    this.conditions = calls.conditions;
    this.start = world.now();
    this.overServers = transactions.size() > 1 && calls.fleet.topology.masters() > 1;
    this.givesBack = overServers || GIVING_BACK.contains(verb);
    this.besideOthers = calls.giveBackNow();
    this.mustBeRefused = ASKING.contains(verb) && calls.mustBeRefused(transactions);
    this.number = calls.number();
    this.verb = verb;
    this.transactions = transactions;
    for (Transaction one : transactions) {
      if (isFresh(one) && !reference.everWritten(one.bucketKey())) {
        untouched.add(one.bucketKey());
      }
    }
    for (Transaction one : transactions) {
      loweredSince.put(one.bucketKey(), calls.givingBackSince(one.bucketKey(), start));
      if (conditions.callsOvertake()) {
        aloneSince.put(one.bucketKey(), calls.spendingAloneSince(one.bucketKey(), start));
      }
      Penalty penalty = calls.limits.get().penaltyFor(one.name(), one.id());
      if (penalty != null && one.kind() != Kind.ALLOW_ONLY) {
        penalties.put(one.bucketKey(), penalty);
      }
    }
    this.startedAlone = !calls.isUnderWay(transactions.get(0).bucketKey());
    this.countsThen = calls.countOf(transactions.get(0).bucketKey());
    calls.began(this);
    this.begun = calls.begunGivingBack();
    if (spendsAlone()) {
      transactions.forEach(one -> reference.beginsAlone(calls.process, one.bucketKey()));
    }
    world.log(this::toString);
    if (!givesUp()) { // a caller that gives up ends when the store answers earlier calls
      requireEndInTime();
    }
  }

  private void requireEndInTime() {
    long latestEndNanos = conditions.latestEndNanos();
    world.after(
        latestEndNanos + waitNanos,
        new Actor("deadline"),
        () -> {
          if (!ended) {
            world.violated(
                () -> this + " has not ended after " + latestEndNanos / 1_000_000 + " ms");
          }
        });
  }

  long start() {
    return start;
  }

  List<Transaction> transactions() {
    return transactions;
  }

  boolean givesBack() {
    return givesBack;
  }

  /** Returns whether this call is a caller that stops waiting. */
  boolean givesUp() {
    return verb.equals("give up");
  }

  /** Returns whether the call may give back tokens that others spent. */
  boolean takesOfOthers() {
    return verb.equals("refund") || verb.equals("reset") || verb.equals("receipt");
  }

  /** Returns whether the call spends from one limit only, and so may forgive its debt. */
  boolean spendsAlone() {
    return isOfOneLimit && !GIVING_BACK.contains(verb) && !LOOKING.contains(verb);
  }

  /** Returns whether this process made no other call for the one bucket meanwhile. */
  boolean isAlone() {
    String key = transactions.get(0).bucketKey();
    return calls.fleet.topology.masters() == 1
        && !conditions.callsOvertake()
        && startedAlone
        && calls.countOf(key) == countsThen + 1;
  }

  /** Returns whether the call keeps the order of waiting callers and their tokens. */
  boolean keepsLines() {
    return transactions.size() == 1 && KEEPING_LINES.contains(verb);
  }

  /**
   * Records that another call of this process is in flight; calls that share a bucket are marked.
   */
  void meets(Operation other) {
    if (transactions.stream().anyMatch(one -> other.touches(one.bucketKey()))) {
      met = true;
      other.met = true;
    }
  }

  boolean touches(String bucketKey) {
    return transactions.stream().anyMatch(one -> one.bucketKey().equals(bucketKey));
  }

  /** Returns the spends that the caller was granted. */
  Map<Transaction, Granted> granted() {
    return granted;
  }

  private static boolean isFresh(Transaction transaction) {
    return Reference.isFresh(transaction.bucketKey());
  }

  private static long nanos(Instant instant) {
    return instant.getEpochSecond() * 1_000_000_000L + instant.getNano();
  }

  // How it ends

  /** Ends the call. {@code how} is converted to text only if the history is kept. */
  void end(Object how) {
    ended = true;
    disturbed = overlaps();
    if (mustBeRefused && world.now() - start > AT_ONCE_NANOS) {
      world.violated(() -> this + " asked, though one of its servers was marked down");
    }
    if (spendsAlone()) {
      transactions.forEach(one -> reference.endsAlone(calls.process, one.bucketKey()));
    }
    calls.ended(this);
    if (overServers) { // tokens of a denied batch are on their way back
      world.after(calls.afewMessages(), new Actor("observer"), () -> calls.gaveBack(this));
    } else if (givesBack) {
      calls.gaveBack(this);
    }
    world.log(() -> this + ": " + how);
  }

  /** Whether another call of this process that gives back overlapped with this one. */
  private boolean overlaps() {
    return besideOthers || calls.begunGivingBack() > begun;
  }

  void ended(@Nullable Object value, @Nullable Throwable failure) {
    if (failure == null) {
      end(value == null ? "null" : value);
    } else {
      failed(failure);
    }
  }

  /** Records that the call threw instead of returning a failed stage. */
  void threw(Throwable what) {
    end("threw");
    world.violated(() -> this + " threw " + what);
  }

  void failed(Throwable failure) {
    Throwable cause = failure;
    while (cause instanceof CompletionException && cause.getCause() != null) {
      cause = cause.getCause();
    }
    Throwable why = cause;
    end("failed, " + why.getMessage());
    if (!(why instanceof StoreException || why instanceof CancellationException)) {
      world.violated(() -> this + " ended with " + why + ", and no StoreException");
      return;
    }
    if (!conditions.callsMayFail() && !calls.isClosing() && why instanceof StoreException) {
      world.violated(() -> this + " failed, with nothing wrong: " + why.getMessage());
    }
    boolean asks = !GIVING_BACK.contains(verb);
    if (asks && why instanceof StoreException && !haveRule(FAIL)) {
      world.violated(() -> this + " failed, though a rule decides: " + why.getMessage());
    }
    String words = String.valueOf(why.getMessage());
    if (asks && !calls.isClosing()) {
      requireRefusedForAReason(words);
    }
    boolean isUncharged = words.contains("nothing was charged");
    if (GIVING_BACK.contains(verb) && !isUncharged) {
      transactions.forEach(one -> reference.lostSight(calls.process, one.bucketKey()));
    }
    boolean mayBeCharged = why instanceof StoreException && !isUncharged;
    if (mayBeCharged && transactions.size() == 1 && !conditions.callersBlock()) {
      calls.forgot(transactions.get(0).bucketKey(), world.now() - calls.afewMessages());
    }
    if (isUncharged) {
      String promise = this + " was told \"" + why.getMessage() + "\"";
      for (String key : untouched) {
        if (reference.everWritten(key)) {
          world.violated(() -> promise + ", but " + key + " was written");
        }
        reference.promised(promise, key);
      }
    }
  }

  /** A call in the queue may be refused only when no answer can arrive in time any more. */
  private void requireRefusedForAReason(String words) {
    long timeoutNanos = conditions.timeoutNanos();
    long estimateNanos = Math.min(MOST_ESTIMATE_NANOS, timeoutNanos / 4);
    boolean tooEarly = world.now() - start < timeoutNanos - estimateNanos - SLACK_NANOS;
    if (words.contains("while the request waited in the queue")
        && tooEarly
        && !conditions.timersFail()) {
      world.violated(() -> this + " was refused too early: " + words);
    }
    if (words.contains("queue full") && !conditions.shortQueues()) {
      world.violated(() -> this + " found a queue full that is not: " + words);
    }
  }

  /** Records that a waiting caller passes, or was denied. */
  void passed(Decision decision) {
    if (decision.allowed()) {
      calls.waitPassed();
    }
    decided(decision, true);
    if (decision.allowed() && !decision.degraded()) {
      reference.passed(this, granted, granted.size() == transactions.size());
    }
  }

  /** Judges the answer to a spend of as many tokens as there are. */
  void took(Decision decision, long most) {
    forgivesApart = true;
    decided(decision, true);
    Quota quota = quotaOf(transactions.get(0).bucketKey());
    if (quota == null || decision.degraded() || decision.penalty() != null) {
      return;
    }
    if (transactions.size() == 1) {
      requireStatement(Statements.wrongTaken(decision, quota, most), decision);
      return;
    }
    boolean isRight =
        decision.taken() <= most
            && decision.allowed() == decision.taken() > 0
            && decision.quotas().stream().allMatch(one -> one.taken() == decision.taken());
    requireStatement(isRight ? null : "took more, or not the same of each bucket", decision);
  }

  void decided(Decision decision, boolean spends) {
    end(decision);
    if (decision.degraded()) {
      requireRule(decision, spends);
      return;
    }
    requireStatement(Statements.wrong(decision, countingParts(decision)), decision);
    requireLimitsInForce(decision);
    for (Part one : Insides.parts(decision)) {
      Decision part = one.decision();
      Transaction transaction = one.transaction();
      Quota quota = transaction == null ? null : transaction.quota();
      if (transaction == null || quota == null) {
        continue;
      }
      if (transaction.kind() == Kind.ALLOW_ONLY) {
        requireUnlimited(part, part.allowed());
        continue;
      }
      requirePenalty(decision, part, transaction);
      if (part.penalty() == null) {
        decided(
            decision, part, transaction, quota, spends && transaction.kind() != Kind.CHECK_ONLY);
      }
    }
    if (!spends || decision.denied()) {
      requireNoTrace(spends);
    }
  }

  /** The decision must use the limits that were in force when the call began. */
  private void requireLimitsInForce(Decision decision) {
    List<Part> parts = Insides.parts(decision);
    for (int i = 0; i < parts.size() && parts.size() == transactions.size(); i++) {
      Transaction of = parts.get(i).transaction();
      boolean same = of == null || Objects.equals(of.quota(), transactions.get(i).quota());
      requireStatement(same ? null : "was decided on by a limit that is not in force", decision);
    }
  }

  private List<Decision> countingParts(Decision decision) {
    return Insides.parts(decision).stream()
        .filter(
            part -> {
              Transaction of = part.transaction();
              return of == null || (of.kind() != Kind.SPEND_ONLY && of.kind() != Kind.ALLOW_ONLY);
            })
        .map(Part::decision)
        .toList();
  }

  private void decided(
      Decision whole, Decision part, Transaction transaction, Quota quota, boolean spends) {
    boolean unspent = spends && whole.denied() && part.allowed();
    requireStatement(
        Statements.wrong(part, quota, transaction.cost(), mayWaitNanos(transaction), unspent),
        part);
    if (transaction.cost() == 0) {
      return;
    }
    long takenNanos = quota.incrementNanos(transaction.cost());
    if (whole.allowed() && part.allowed() && spends) {
      Granted one =
          reference.granted(
              this,
              calls.process,
              transaction.bucketKey(),
              takenNanos,
              nanos(part.decidedAt()),
              nanos(part.tat()));
      if (one != null) {
        granted.put(transaction, one);
        if (isInOrder()) {
          calls.forgot(transaction.bucketKey(), one.moment() + 1);
        }
      }
      return;
    }
    if (!spends && mayBeAsForgiven(part, transaction, quota)) {
      return; // the check answered as if the debt were forgiven; no server stored that TAT
    }
    requireShown(part, transaction, part.denied() || unspent ? 0 : takenNanos);
    requireShownTime(part, transaction);
    if (part.allowed() && !spends && isInOrder() && transactions.size() == 1) {
      calls.forgot(transaction.bucketKey(), start);
    }
    if (part.denied()) {
      requireTrue(part, transaction, quota);
      requireForgiven(part, transaction, quota, spends && transactions.size() == 1);
    } else if (spends && !conditions.hasFaults()) {
      requireGivenBack(part, transaction, takenNanos);
    }
  }

  /** Whether a check may decide as if the debt were forgiven, as a spend would forgive it. */
  private boolean mayBeAsForgiven(Decision part, Transaction transaction, Quota quota) {
    return conditions.debtsAppear()
        && isOfOneLimit
        && part.resetInNanos() == depthNanos(transaction, quota);
  }

  private static long depthNanos(Transaction transaction, Quota quota) {
    return quota.offsetNanos() + transaction.name().longestWait().toNanos();
  }

  /** Whether answers arrive in the order of the calls. */
  private boolean isInOrder() {
    return !conditions.hasFaults() && !conditions.callsOvertake();
  }

  /** Returns the wait for a transaction; only a required spend waits. */
  private long mayWaitNanos(Transaction transaction) {
    return transaction.kind() == Kind.CHECK_AND_SPEND ? waitNanos : 0;
  }

  /**
   * Judges the answer to a refund. The answer has the tokens in the bucket and whether anything was
   * given back, but not how much.
   */
  void refunded(Decision decision) {
    end(decision);
    for (Part one : Insides.parts(decision)) {
      Decision part = one.decision();
      Transaction transaction = one.transaction();
      Quota quota = transaction == null ? null : transaction.quota();
      if (transaction == null || quota == null || part.degraded()) {
        continue;
      }
      if (transaction.kind() == Kind.ALLOW_ONLY) {
        requireUnlimited(part, part.denied());
        continue;
      }
      requireTold(part, transaction);
      boolean isExact = !conditions.hasFaults() && !disturbed;
      long mostNanos = quota.incrementNanos(transaction.cost());
      Given told = new Given(calls.process, nanos(part.decidedAt()), mostNanos, part.allowed());
      requireStatement(
          transaction.kind() != Kind.CHECK_ONLY
                  && reference.contradicts(transaction.bucketKey(), told, isExact)
              ? "was told of a refund that no server made: of another amount, or of nothing"
              : null,
          part);
      if (part.penalty() == null) {
        requireStatement(Statements.wrongRefund(part, quota), part);
        requireLeft(part, transaction);
      }
    }
  }

  /** Requires after a reset that the servers emptied the buckets. */
  void wasReset() {
    end("done");
    for (Transaction one : transactions) {
      boolean has = one.quota() != null && one.kind() != Kind.ALLOW_ONLY;
      boolean reset = reference.resetSince(calls.process, one.bucketKey(), start);
      if (has && !reset && !calls.fleet.failedOverLately()) {
        world.violated(() -> this + " is done, and its server has not reset " + one.bucketKey());
      }
    }
  }

  /** Requires that an unlimited id passes without a limit. */
  private void requireUnlimited(Decision part, boolean asUsual) {
    boolean right = asUsual && part.remaining() == Long.MAX_VALUE && part.retryInNanos() == 0;
    requireStatement(right ? null : "was limited where nothing limits", part);
  }

  /** Requires after a refund that the bucket had the TAT of the answer. */
  private void requireLeft(Decision part, Transaction transaction) {
    String key = transaction.bucketKey();
    if (!calls.fleet.failedOverLately()
        && part.resetInNanos() > 0
        && !reference.showed(key, nanos(part.tat()), start)) {
      world.violated(
          () -> World.text("%s was told of a TAT that %s never had: %s", this, key, part));
    }
  }

  // Invariants of an answer

  /** Whether a penalty on an id is in force by the bucket's clock. */
  boolean isPenalized(Transaction transaction, long nowNanos) {
    Penalty penalty = penalties.get(transaction.bucketKey());
    return penalty != null && penalty.holdsAt(nowNanos) && !isClockUnknown();
  }

  /** Returns how old the time of a remembered denial may be. */
  private long afterMemoryNanos() {
    return conditions.hasFaults() ? Conditions.DENIALS_NANOS : calls.roundTrip();
  }

  /** Whether the penalty was neither lifted nor replaced since the call began. */
  boolean isStillPenalized(Transaction transaction, long nowNanos) {
    Penalty now = calls.limits.get().penaltyFor(transaction.name(), transaction.id());
    return isPenalized(transaction, nowNanos)
        && Objects.equals(penalties.get(transaction.bucketKey()), now);
  }

  private boolean isClockUnknown() {
    return conditions.clientClocks()
        || calls.fleet.clocksWereStepped()
        || calls.fleet.failedOverLately();
  }

  /** Requires that a penalty denies until its end, and before the batch touches any bucket. */
  private void requirePenalty(Decision whole, Decision part, Transaction transaction) {
    requireTold(part, transaction);
    Penalty penalty = part.penalty();
    if (penalty == null) {
      return;
    }
    long leftNanos = penalty.untilNanos() - nanos(part.decidedAt());
    boolean asks = transaction.cost() > 0;
    requireStatement(part.denied() == asks ? null : "was not denied by a penalty", part);
    requireStatement(
        part.retryInNanos() >= leftNanos || !asks ? null : "may come back before a penalty ends",
        part);
    if (asks && transaction.kind() != Kind.SPEND_ONLY) {
      requireStatement(whole.denied() ? null : "was allowed in spite of a penalty", whole);
      for (Transaction one : transactions) {
        boolean written = isFresh(one) && reference.everWritten(one.bucketKey());
        requireStatement(written ? "was denied by a penalty and left a trace" : null, whole);
      }
    }
  }

  /** Requires that an answer reports the penalty; until its end the bucket counts as empty. */
  private void requireTold(Decision part, Transaction transaction) {
    long nowNanos = nanos(part.decidedAt());
    Penalty penalty = part.penalty();
    if (penalty == null) {
      // A remembered denial may report an older time of the store's clock.
      boolean holds = isPenalized(transaction, nowNanos + afterMemoryNanos());
      requireStatement(holds ? "was not told of a penalty" : null, part);
      return;
    }
    // The earliest time at which the store looked.
    long lookedNanos = nowNanos - (world.now() - start) - conditions.driftNanos();
    boolean held = isPenalized(transaction, lookedNanos) || isClockUnknown();
    requireStatement(held ? null : "was told of a penalty that is not in force", part);
    requireStatement(part.remaining() == 0 ? null : "has tokens left beside a penalty", part);
    requireStatement(
        part.resetInNanos() >= penalty.untilNanos() - nowNanos
            ? null
            : "was told of a penalty that ends too early",
        part);
  }

  private void requireStatement(@Nullable String wrong, Decision about) {
    if (wrong != null) {
      world.violated(() -> this + " " + wrong + ": " + about);
    }
  }

  /** Requires that a decision without the store follows the failure rule. */
  private void requireRule(Decision decision, boolean spends) {
    String wrong =
        conditions.onFailure() == LOCAL
            ? waitNanos > 0 ? null : calls.local.wrong(decision, spends, this::quotaOf)
            : wrongByRules(decision);
    requireStatement(wrong, decision);
    if (!(conditions.callsMayFail() || calls.isClosing())) {
      requireStatement("was decided on by a rule, with nothing wrong", decision);
    }
  }

  /** Returns the requested quota of a bucket, null for unlimited. */
  private @Nullable Quota quotaOf(String bucketKey) {
    for (Transaction one : transactions) {
      if (one.bucketKey().equals(bucketKey)) {
        return one.quota();
      }
    }
    return null;
  }

  private @Nullable String wrongByRules(Decision decision) {
    if (haveRule(FAIL)) {
      return "was decided on, by a rule that fails";
    }
    List<Decision> parts = countingParts(decision);
    boolean isCertain = !parts.isEmpty() || !haveRule(DENY);
    boolean denies = parts.stream().anyMatch(part -> ruleOf(part.transaction()) == DENY);
    if (!isCertain || (denies ? decision.denied() : decision.allowed() || isPenalized(decision))) {
      return null;
    }
    return denies ? "was allowed, by a rule that denies" : "was denied, by a rule that allows";
  }

  /** Returns whether a bucket of this call has a failure rule. */
  private boolean haveRule(int kind) {
    return transactions.stream()
        .anyMatch(one -> one.kind() != Kind.ALLOW_ONLY && ruleOf(one) == kind);
  }

  private int ruleOf(@Nullable Transaction transaction) {
    return transaction != null && transaction.name().name().equals("B")
        ? conditions.onFailureOfB()
        : conditions.onFailure();
  }

  private static boolean isPenalized(Decision decision) {
    return decision.parts().stream().anyMatch(part -> part.penalty() != null);
  }

  /** Requires that the bucket had the TAT of the answer during the call. */
  private void requireShown(Decision part, Transaction transaction, long takenNanos) {
    if (calls.fleet.failedOverLately() || part.resetInNanos() == 0) {
      return;
    }
    String key = transaction.bucketKey();
    long since = part.denied() ? knownSince(key) : start;
    long foundNanos = nanos(part.tat()) - takenNanos;
    boolean wasFull = part.resetInNanos() == takenNanos;
    if (!wasFull && !reference.showed(key, foundNanos, since)) {
      world.violated(
          () ->
              World.text(
                  "%s was told of a TAT of %s that it never had, %d: %s",
                  this, key, foundNanos, part));
    }
  }

  /** Returns how old this process's knowledge of a bucket may be. */
  private long knownSince(String key) {
    long since = Math.max(start - Conditions.DENIALS_NANOS, calls.forgottenSince(key, start));
    if (conditions.callsOvertake()) {
      return since; // calls may overtake each other, so a later call may be decided earlier
    }
    long hasEnded = start - conditions.latestEndNanos();
    return Math.max(since, reference.spentBefore(calls.process, key, hasEnded));
  }

  /** Requires that the bucket's clock has shown the time of the answer. */
  private void requireShownTime(Decision part, Transaction transaction) {
    SimulatedServer server = reference.serverOf(transaction.bucketKey());
    if (server == null || isClockUnknown() || conditions.hasFaults()) {
      return;
    }
    long latestNanos = server.clock.nanos() + conditions.driftNanos();
    requireStatement(
        nanos(part.decidedAt()) <= latestNanos ? null : "was told of a time that is to come", part);
  }

  /** Requires that tokens of a batch which another server denied soon come back to this server. */
  private void requireGivenBack(Decision part, Transaction transaction, long takenNanos) {
    if (!overServers || calls.gaveUpOn(transaction.bucketKey()) || mayBeWaitedFor(transaction)) {
      return; // nothing was taken, or its owner is unknown
    }
    Granted taken =
        reference.takenInVain(
            calls.process,
            transaction.bucketKey(),
            takenNanos,
            nanos(part.decidedAt()),
            nanos(part.tat()) + takenNanos);
    if (taken != null) {
      world.after(
          calls.afewMessages(),
          new Actor("observer"),
          () -> {
            if (!overlaps() && conditions.isExact()) {
              reference.requireGivenBack(this + ", denied,", calls.process, taken, start);
            }
          });
    }
  }

  /** Whether callers may wait, so that tokens of callers that give up come back too. */
  private static boolean mayBeWaitedFor(Transaction transaction) {
    return !transaction.name().longestWait().isZero();
  }

  /** Requires that this process forgave a debt that its answer still reports. */
  private void requireForgiven(
      Decision part, Transaction transaction, Quota quota, boolean mayForgive) {
    long depthNanos = depthNanos(transaction, quota);
    boolean isDebt = part.resetInNanos() > depthNanos;
    if (!mayForgive || !isDebt || conditions.hasFaults() || conditions.clientClocks()) {
      return;
    }
    String key = transaction.bucketKey();
    if (!met
        && !calls.gaveUpOn(key)
        && !mayBeWaitedFor(transaction)
        && !forgivesApart
        && reference.forgaveSince(calls.process, key, start)) {
      world.violated(() -> this + " tells a debt that it has forgiven: " + part);
    }
    world.after(
        calls.afewMessages(),
        new Actor("observer"),
        () -> {
          if (!reference.wasForgiven(calls.process, key, depthNanos, nanos(part.decidedAt()))) {
            world.violated(() -> this + " found a debt that was not forgiven: " + part);
          }
        });
  }

  /** Requires that the bucket would have denied at some moment of the call. */
  private void requireTrue(Decision part, Transaction transaction, Quota quota) {
    String key = transaction.bucketKey();
    if (calls.fleet.clocksWereStepped()
        || calls.fleet.failedOverLately()
        || conditions.clientClocks()) { // a client's clock is read when the call is sent
      return;
    }
    long since = trueSince(key);
    if (!reference.denied(
        key,
        quota.incrementNanos(transaction.cost()),
        quota.offsetNanos() + mayWaitNanos(transaction),
        since)) {
      world.violated(
          () ->
              World.text("%s was denied on %s, which had room all the time (%s)", this, key, part));
    }
  }

  /** Returns since when a denial may have been true, for documented reasons. */
  private long trueSince(String key) {
    long since = start - conditions.driftNanos();
    if (calls.fleet.topology.isSeveralServers()) {
      return since; // this process remembers no denials
    }
    if (reference.wasLoosened(key, calls.process, start - Conditions.DENIALS_NANOS)) {
      // The process learns of other processes' refunds later.
      return since - Conditions.DENIALS_NANOS;
    }
    // The process counts its own refund only when the answer arrives.
    return conditions.callsOvertake() ? since - start + ownLoweringSince(key) : since;
  }

  /** Returns since when this process lowers the TAT; the start of the call if it does not. */
  private long ownLoweringSince(String key) {
    long lowered = loweredSince.getOrDefault(key, start);
    long alone = aloneSince.getOrDefault(key, start);
    boolean forgave = reference.forgaveSince(calls.process, key, alone);
    return forgave ? Math.min(lowered, alone) : lowered;
  }

  private void requireNoTrace(boolean spends) {
    if (overServers) {
      return; // a denied batch on several servers changes buckets for a moment
    }
    for (Transaction transaction : transactions) {
      String key = transaction.bucketKey();
      if (untouched.contains(key) && reference.everWritten(key)) {
        world.violated(() -> this + (spends ? " was denied" : "") + " and left a trace on " + key);
      }
    }
  }

  /** Requires that an undisturbed cancellation gives back all that was not refilled. */
  void requireGivenBack(Operation made, Collection<Granted> cancelled) {
    if (isGivenBackExactly() && !made.disturbed) {
      cancelled.forEach(one -> reference.requireGivenBack(this, calls.process, one, start));
    }
  }

  /** Whether this cancellation must give back all that is left. */
  private boolean isGivenBackExactly() {
    return !conditions.hasFaults()
        && conditions.isExact()
        && !disturbed
        && transactions.stream().noneMatch(Operation::mayBeWaitedFor);
  }

  @Override
  public String toString() {
    return World.text(
        "p%d.%d %s %s",
        calls.process,
        number,
        verb,
        transactions.stream().map(t -> t.bucketKey() + " x" + t.cost()).toList());
  }
}
