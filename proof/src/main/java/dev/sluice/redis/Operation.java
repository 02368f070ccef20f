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

/** One call of a simulated caller, with the checks of the call's answer. Not thread-safe. */
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
  // The numbers of the failure rules in a plan. Rule 1 allows.
  private static final int FAIL = 0;
  private static final int DENY = 2;
  private static final int LOCAL = 3;
  private static final long AT_ONCE_NANOS = 200_000;
  // the longest round trip that the store ever estimates
  private static final long MOST_ESTIMATE_NANOS = 50_000_000;
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
  private final List<Transaction> transactions; // one per bucket
  private final boolean isOfOneLimit;
  private final long waitNanos;
  private final long start;
  private final Map<Transaction, Granted> granted = new LinkedHashMap<>();
  // by bucket key: the penalty in force when this call began
  private final Map<String, Penalty> penalties = new HashMap<>();
  // by bucket key: the start of the earliest call in flight that can refund tokens
  private final Map<String, Long> loweredSince = new HashMap<>();
  // by bucket key: the start of the earliest call in flight that can forgive a debt
  private final Map<String, Long> aloneSince = new HashMap<>();
  private final Set<String> untouched = new HashSet<>(); // keys of buckets that only this call uses
  private final boolean overServers;
  private final boolean givesBack;
  private final long begun; // earlier calls of this process that refund
  private final boolean besideOthers; // whether a refund was in flight at the start
  private final boolean mustBeRefused;
  private final boolean startedAlone;
  private final int countsThen; // number of this process's earlier calls on the first bucket
  private boolean met;
  private boolean ended;
  private boolean disturbed;
  // whether a separate call forgives the debt, perhaps after a call of another process
  private boolean forgivesApart;

  /**
   * Begins a call.
   *
   * @param waitNanos the longest time for which the caller waits for tokens
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
    if (!givesUp()) { // a "give up" ends only after the store has answered earlier calls
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

  /** Returns whether this operation records that a caller stops waiting. */
  boolean givesUp() {
    return verb.equals("give up");
  }

  /** Returns whether the call can refund tokens that another call spent. */
  boolean takesOfOthers() {
    return verb.equals("refund") || verb.equals("reset") || verb.equals("receipt");
  }

  /** Returns whether the call spends from only one limit, and so can forgive a debt. */
  boolean spendsAlone() {
    return isOfOneLimit && !GIVING_BACK.contains(verb) && !LOOKING.contains(verb);
  }

  /** Returns whether this process made no overlapping call on this call's first bucket. */
  boolean isAlone() {
    String key = transactions.get(0).bucketKey();
    return calls.fleet.topology.masters() == 1
        && !conditions.callsOvertake()
        && startedAlone
        && calls.countOf(key) == countsThen + 1;
  }

  /** Returns whether the call cannot change the order of waiting callers. */
  boolean keepsLines() {
    return transactions.size() == 1 && KEEPING_LINES.contains(verb);
  }

  /** If this call and another call in flight share a bucket, records this in both calls. */
  void meets(Operation other) {
    if (transactions.stream().anyMatch(one -> other.touches(one.bucketKey()))) {
      met = true;
      other.met = true;
    }
  }

  boolean touches(String bucketKey) {
    return transactions.stream().anyMatch(one -> one.bucketKey().equals(bucketKey));
  }

  Map<Transaction, Granted> granted() {
    return granted;
  }

  private static boolean isFresh(Transaction transaction) {
    return Reference.isFresh(transaction.bucketKey());
  }

  private static long nanos(Instant instant) {
    return instant.getEpochSecond() * 1_000_000_000L + instant.getNano();
  }

  // The end of the call

  /** Ends the call. {@code how} is converted to text only if the world keeps a history. */
  void end(Object how) {
    ended = true;
    disturbed = overlaps();
    if (mustBeRefused && world.now() - start > AT_ONCE_NANOS) {
      world.violated(() -> this + " was not refused at once, though a server was marked down");
    }
    if (spendsAlone()) {
      transactions.forEach(one -> reference.endsAlone(calls.process, one.bucketKey()));
    }
    calls.ended(this);
    if (overServers) { // after a denied batch, the store refunds tokens
      world.after(calls.afewMessages(), new Actor("observer"), () -> calls.gaveBack(this));
    } else if (givesBack) {
      calls.gaveBack(this);
    }
    world.log(() -> this + ": " + how);
  }

  /** Returns whether a refund by this process overlapped with this call. */
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

  /** Records that the call threw an exception that no call may throw. */
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
      world.violated(() -> this + " failed with " + why + " instead of a StoreException");
      return;
    }
    if (!conditions.callsMayFail() && !calls.isClosing() && why instanceof StoreException) {
      world.violated(() -> this + " failed without a fault: " + why.getMessage());
    }
    boolean asks = !GIVING_BACK.contains(verb);
    if (asks && why instanceof StoreException && !haveRule(FAIL)) {
      world.violated(() -> this + " failed in spite of its failure rule: " + why.getMessage());
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
      String promise = this + " failed with \"" + why.getMessage() + "\"";
      for (String key : untouched) {
        if (reference.everWritten(key)) {
          world.violated(() -> promise + ", but " + key + " was written");
        }
        reference.promised(promise, key);
      }
    }
  }

  /** Reports a violation if a call was refused too early, or by a queue that cannot be full. */
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
      world.violated(() -> this + " was refused by a full queue, which cannot be full: " + words);
    }
  }

  /** Checks the decision for a caller that could wait for tokens. */
  void passed(Decision decision) {
    if (decision.allowed()) {
      calls.waitPassed();
    }
    decided(decision, true);
    if (decision.allowed() && !decision.degraded()) {
      reference.passed(this, granted, granted.size() == transactions.size());
    }
  }

  /** Checks the decision on a spend of up to {@code most} tokens. */
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
    requireStatement(
        isRight ? null : "took too many tokens, or not the same number from each quota", decision);
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

  /** Requires that the decision uses the limits that were in force when the call began. */
  private void requireLimitsInForce(Decision decision) {
    List<Part> parts = Insides.parts(decision);
    for (int i = 0; i < parts.size() && parts.size() == transactions.size(); i++) {
      Transaction of = parts.get(i).transaction();
      boolean same = of == null || Objects.equals(of.quota(), transactions.get(i).quota());
      requireStatement(same ? null : "was decided by a limit that is not in force", decision);
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

  private static long depthNanos(Transaction transaction, Quota quota) {
    return quota.offsetNanos() + transaction.name().longestWait().toNanos();
  }

  private boolean isInOrder() {
    return !conditions.hasFaults() && !conditions.callsOvertake();
  }

  /** Returns how long a caller may wait for a transaction: 0 unless it is a required spend. */
  private long mayWaitNanos(Transaction transaction) {
    return transaction.kind() == Kind.CHECK_AND_SPEND ? waitNanos : 0;
  }

  /**
   * Checks the answer to a refund: the number of tokens in the bucket, and whether the refund added
   * any token.
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
              ? "reports a refund that no server made"
              : null,
          part);
      if (part.penalty() == null) {
        requireStatement(Statements.wrongRefund(part, quota), part);
        requireLeft(part, transaction);
      }
    }
  }

  /** Requires that the servers have reset the buckets. */
  void wasReset() {
    end("done");
    for (Transaction one : transactions) {
      boolean has = one.quota() != null && one.kind() != Kind.ALLOW_ONLY;
      boolean reset = reference.resetSince(calls.process, one.bucketKey(), start);
      if (has && !reset && !calls.fleet.failedOverLately()) {
        world.violated(() -> this + " is done, but no server has reset " + one.bucketKey());
      }
    }
  }

  /** Checks the decision on an id without a limit. */
  private void requireUnlimited(Decision part, boolean asUsual) {
    boolean right = asUsual && part.remaining() == Long.MAX_VALUE && part.retryInNanos() == 0;
    requireStatement(right ? null : "was limited, though the id is unlimited", part);
  }

  /** Requires that, at some moment, the bucket had the TAT that the answer to a refund reports. */
  private void requireLeft(Decision part, Transaction transaction) {
    String key = transaction.bucketKey();
    if (!calls.fleet.failedOverLately()
        && part.resetInNanos() > 0
        && !reference.showed(key, nanos(part.tat()), start)) {
      world.violated(() -> World.text("%s reports a TAT that %s never had: %s", this, key, part));
    }
  }

  // Invariants of an answer

  /** Returns whether a penalty is in force when the bucket's clock shows {@code nowNanos}. */
  boolean isPenalized(Transaction transaction, long nowNanos) {
    Penalty penalty = penalties.get(transaction.bucketKey());
    return penalty != null && penalty.holdsAt(nowNanos) && !isClockUnknown();
  }

  /** Returns how old the time in a decision may be: a remembered denial contains an old time. */
  private long afterMemoryNanos() {
    return conditions.hasFaults() ? Conditions.DENIALS_NANOS : calls.roundTrip();
  }

  /** Returns whether a penalty is in force and has not changed since the call began. */
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

  /** Requires that a penalty denies until its end, and that a denied batch changes no bucket. */
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
        part.retryInNanos() >= leftNanos || !asks
            ? null
            : "reports a retryIn that is shorter than the penalty",
        part);
    if (asks && transaction.kind() != Kind.SPEND_ONLY) {
      requireStatement(whole.denied() ? null : "was allowed in spite of a penalty", whole);
      for (Transaction one : transactions) {
        boolean written = isFresh(one) && reference.everWritten(one.bucketKey());
        requireStatement(written ? "was denied by a penalty, but changed a bucket" : null, whole);
      }
    }
  }

  /**
   * Requires that an answer reports a penalty in force, and neither tokens nor an earlier reset.
   */
  private void requireTold(Decision part, Transaction transaction) {
    long nowNanos = nanos(part.decidedAt());
    Penalty penalty = part.penalty();
    if (penalty == null) {
      // A remembered denial contains an old time of the bucket's clock.
      boolean holds = isPenalized(transaction, nowNanos + afterMemoryNanos());
      requireStatement(holds ? "does not report a penalty" : null, part);
      return;
    }
    // the earliest time at which the store can have read the penalties
    long lookedNanos = nowNanos - (world.now() - start) - conditions.driftNanos();
    boolean held = isPenalized(transaction, lookedNanos) || isClockUnknown();
    requireStatement(held ? null : "reports a penalty that is not in force", part);
    requireStatement(part.remaining() == 0 ? null : "reports tokens in spite of a penalty", part);
    requireStatement(
        part.resetInNanos() >= penalty.untilNanos() - nowNanos
            ? null
            : "reports a reset before the end of the penalty",
        part);
  }

  private void requireStatement(@Nullable String wrong, Decision about) {
    if (wrong != null) {
      world.violated(() -> this + " " + wrong + ": " + about);
    }
  }

  /** Requires that a decision that was made without the store follows the failure rule. */
  private void requireRule(Decision decision, boolean spends) {
    String wrong =
        conditions.onFailure() == LOCAL
            ? waitNanos > 0 ? null : calls.local.wrong(decision, spends, this::quotaOf)
            : wrongByRules(decision);
    requireStatement(wrong, decision);
    if (!(conditions.callsMayFail() || calls.isClosing())) {
      requireStatement("was decided by a failure rule, though nothing failed", decision);
    }
  }

  /** Returns the quota of a bucket of this call, null if unlimited. */
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
      return "was decided, though its failure rule is to fail";
    }
    List<Decision> parts = countingParts(decision);
    boolean isCertain = !parts.isEmpty() || !haveRule(DENY);
    boolean denies = parts.stream().anyMatch(part -> ruleOf(part.transaction()) == DENY);
    if (!isCertain || (denies ? decision.denied() : decision.allowed() || isPenalized(decision))) {
      return null;
    }
    return denies
        ? "was allowed, though its failure rule denies"
        : "was denied, though its failure rule allows";
  }

  /** Returns whether any bucket of this call has the given failure rule. */
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

  /** Requires that, at some moment of the call, the bucket had the TAT that the answer reports. */
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
                  "%s reports for %s the TAT %d, which the bucket never had: %s",
                  this, key, foundNanos, part));
    }
  }

  /** Returns the oldest moment from which this process can still report a bucket's TAT. */
  private long knownSince(String key) {
    long since = Math.max(start - Conditions.DENIALS_NANOS, calls.forgottenSince(key, start));
    if (conditions.callsOvertake()) {
      return since; // a server can decide a later call first
    }
    long hasEnded = start - conditions.latestEndNanos();
    return Math.max(since, reference.spentBefore(calls.process, key, hasEnded));
  }

  /** Requires that the time in the answer is not in the future. */
  private void requireShownTime(Decision part, Transaction transaction) {
    SimulatedServer server = reference.serverOf(transaction.bucketKey());
    if (server == null || isClockUnknown() || conditions.hasFaults()) {
      return;
    }
    long latestNanos = server.clock.nanos() + conditions.driftNanos();
    requireStatement(
        nanos(part.decidedAt()) <= latestNanos ? null : "reports a time in the future", part);
  }

  /** Requires that the process soon refunds a denied batch's tokens on the other servers. */
  private void requireGivenBack(Decision part, Transaction transaction, long takenNanos) {
    if (!overServers || calls.gaveUpOn(transaction.bucketKey()) || mayBeWaitedFor(transaction)) {
      return; // the server's spend is unknown
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
              reference.requireGivenBack(this + " was denied and", calls.process, taken, start);
            }
          });
    }
  }

  /** Returns whether a caller can wait for the tokens, and so cause a refund by giving up. */
  private static boolean mayBeWaitedFor(Transaction transaction) {
    return !transaction.name().longestWait().isZero();
  }

  /** If the answer reports a debt, requires that this process soon forgives the debt. */
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
      world.violated(() -> this + " reports a debt that this call has forgiven: " + part);
    }
    world.after(
        calls.afewMessages(),
        new Actor("observer"),
        () -> {
          if (!reference.wasForgiven(calls.process, key, depthNanos, nanos(part.decidedAt()))) {
            world.violated(() -> this + " reports a debt that nobody then forgave: " + part);
          }
        });
  }

  /** Requires that the bucket of a denied spend lacked tokens at some moment of the call. */
  private void requireTrue(Decision part, Transaction transaction, Quota quota) {
    String key = transaction.bucketKey();
    if (calls.fleet.clocksWereStepped()
        || calls.fleet.failedOverLately()
        || conditions.clientClocks()) { // the process reads its clock when it sends the call
      return;
    }
    long since = trueSince(key);
    if (!reference.denied(
        key,
        quota.incrementNanos(transaction.cost()),
        quota.offsetNanos() + mayWaitNanos(transaction),
        since)) {
      world.violated(
          () -> World.text("%s was denied by %s, which always had tokens (%s)", this, key, part));
    }
  }

  /** Returns the oldest moment at which a correct denial may have been decided. */
  private long trueSince(String key) {
    long since = start - conditions.driftNanos();
    if (calls.fleet.topology.isSeveralServers()) {
      return since; // with several servers, the process remembers no denials
    }
    if (reference.wasLoosened(key, calls.process, start - Conditions.DENIALS_NANOS)) {
      // A remembered denial can be older than the refund of another process.
      return since - Conditions.DENIALS_NANOS;
    }
    // The process knows that its own refund succeeded only when the refund's answer has arrived.
    return conditions.callsOvertake() ? since - start + ownLoweringSince(key) : since;
  }

  /**
   * Returns the start of the earliest call of this process that could lower the TAT during this
   * call. If no earlier call could lower the TAT, returns the start of this call.
   */
  private long ownLoweringSince(String key) {
    long lowered = loweredSince.getOrDefault(key, start);
    long alone = aloneSince.getOrDefault(key, start);
    boolean forgave = reference.forgaveSince(calls.process, key, alone);
    return forgave ? Math.min(lowered, alone) : lowered;
  }

  private void requireNoTrace(boolean spends) {
    if (overServers) {
      return; // a denied batch on several servers charges some buckets until its refund
    }
    for (Transaction transaction : transactions) {
      String key = transaction.bucketKey();
      if (untouched.contains(key) && reference.everWritten(key)) {
        world.violated(
            () -> this + (spends ? " was denied" : " only checked") + ", but changed " + key);
      }
    }
  }

  /** Requires that this cancellation refunded all tokens that had not refilled yet. */
  void requireGivenBack(Operation made, Collection<Granted> cancelled) {
    if (isGivenBackExactly() && !made.disturbed) {
      cancelled.forEach(one -> reference.requireGivenBack(this, calls.process, one, start));
    }
  }

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
