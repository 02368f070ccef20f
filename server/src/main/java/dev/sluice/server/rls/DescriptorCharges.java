// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import com.google.protobuf.UInt64Value;
import dev.sluice.Decision;
import dev.sluice.Decision.DecidedBy;
import dev.sluice.Transaction;
import dev.sluice.envoy.RateLimitDescriptor;
import dev.sluice.envoy.RateLimitDescriptor.RateLimitOverride;
import dev.sluice.envoy.RateLimitRequest;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.InvalidIdException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Coverage;
import dev.sluice.limit.MissingDefaultException;
import dev.sluice.limit.UnknownLimitException;
import dev.sluice.rules.RuleBook;
import dev.sluice.rules.RuleBook.DescriptorEntry;
import dev.sluice.rules.RuleMatch;
import dev.sluice.rules.RuleMatch.Excess;
import dev.sluice.rules.RuleMatch.RuleCharge;
import dev.sluice.server.rls.RlsPart.OverridePolicy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The buckets and costs that the descriptors of a request ask for. The rule book that came with the
 * limits says which ones. Where it has no rule for a descriptor, the descriptor may {@linkplain
 * NamedLimits name a limit itself}, unless the book says that the rules of its domain are the only
 * mapping. Belongs to one request.
 */
final class DescriptorCharges {

  /**
   * The limit of descriptors that bring their own and name none of ours. Its number stands in
   * bucket keys and must never change.
   */
  static final LimitName OF_CALLER =
      LimitName.builder(2_000_000_002, "rls.override").id(IdFormat.bytes()).build();

  private static final long FEWEST_HITS = 1;

  private final RateLimitRequest request;
  private final OverridePolicy overrides;
  private final Consumer<Transaction> requireDefault;
  private final Limits limits;
  private final RuleBook book;
  private final Map<String, DescriptorCharge> byBucket = new HashMap<>();
  private final Map<String, DescriptorCharge> refunds = new LinkedHashMap<>();
  private final List<DescriptorCharge> all = new ArrayList<>();
  private final List<Found> found = new ArrayList<>();

  private DescriptorCharges(
      RateLimitRequest request,
      OverridePolicy overrides,
      Consumer<Transaction> requireDefault,
      Limits limits) {
    this.request = request;
    this.overrides = overrides;
    this.requireDefault = requireDefault;
    this.limits = limits;
    this.book = RuleBook.of(limits);
  }

  /**
   * The meaning of one descriptor.
   *
   * @param matched whether a rule or the name of a limit is for it; one without passes, and is
   *     counted
   * @param unlimited whether somebody wrote that it is unlimited
   * @param denied why it is denied by a rule, or makes no id; null if it is not
   * @param charges one for each limit of its rule; after the request was read, one for each bucket,
   *     which it may share with other descriptors
   * @param replaces the names of limits that other descriptors of the request are not charged
   */
  record Found(
      boolean matched,
      boolean unlimited,
      @Nullable String denied,
      List<DescriptorCharge> charges,
      List<String> replaces) {

    static final Found UNMATCHED = new Found(false, false, null, List.of(), List.of());

    static Found denied(String why, List<String> replaces) {
      return new Found(true, false, why, List.of(), replaces);
    }

    static Found limited(List<DescriptorCharge> charges, List<String> replaces) {
      return new Found(true, false, null, charges, replaces);
    }
  }

  /**
   * Reads a request.
   *
   * @param overrides what becomes of limits that the proxy sends
   * @param requireDefault throws for a transaction whose limit has no default and must have one
   * @param limits the limits that hold now
   * @throws MissingDefaultException if a limit is meant that has no default
   */
  static DescriptorCharges of(
      RateLimitRequest request,
      OverridePolicy overrides,
      Consumer<Transaction> requireDefault,
      Limits limits) {
    DescriptorCharges charges = new DescriptorCharges(request, overrides, requireDefault, limits);
    List<Found> meant = new ArrayList<>(request.getDescriptorsCount());
    for (RateLimitDescriptor descriptor : request.getDescriptorsList()) {
      meant.add(charges.meaning(descriptor));
    }
    Set<String> replaced = new HashSet<>();
    meant.forEach(one -> replaced.addAll(one.replaces()));
    for (int i = 0; i < meant.size(); i++) {
      charges.found.add(charges.added(i, withoutReplaced(meant.get(i), replaced)));
    }
    return charges;
  }

  /** In the order of the descriptors. */
  List<Found> found() {
    return found;
  }

  /** What is charged, each bucket once. */
  List<DescriptorCharge> all() {
    return all;
  }

  /** What is given back, each bucket once. */
  List<DescriptorCharge> refunds() {
    return List.copyOf(refunds.values());
  }

  private Found meaning(RateLimitDescriptor descriptor) {
    List<DescriptorEntry> entries = new ArrayList<>(descriptor.getEntriesCount());
    for (RateLimitDescriptor.Entry entry : descriptor.getEntriesList()) {
      entries.add(new DescriptorEntry(entry.getKey(), entry.getValue()));
    }
    try {
      Optional<RuleMatch> match = book.match(request.getDomain(), entries);
      if (match.isPresent()) {
        return ofRule(match.get(), descriptor);
      }
      return book.isRulesOnly(request.getDomain()) ? Found.UNMATCHED : ofName(entries, descriptor);
    } catch (InvalidIdException e) {
      boolean isText = RequestMessages.isText(descriptor);
      return Found.denied(
          isText ? String.valueOf(e.getMessage()) : RequestMessages.NOT_TEXT, List.of());
    } catch (UnknownLimitException e) {
      return Found.denied(String.valueOf(e.getMessage()), List.of());
    }
  }

  private Found ofRule(RuleMatch match, RateLimitDescriptor descriptor) {
    return switch (match.verdict()) {
      case UNLIMITED -> new Found(true, true, null, List.of(), match.replaces());
      case DENIES -> Found.denied("a rule denies this descriptor", match.replaces());
      case CHARGES -> {
        List<DescriptorCharge> charges = new ArrayList<>(match.charges().size());
        for (RuleCharge charge : match.charges()) {
          try {
            Transaction transaction = charge.transaction(limits);
            requireDefault.accept(transaction);
            charges.add(
                charge(transaction, charge.cost(hits(descriptor)), charge.excess(), descriptor));
          } catch (InvalidIdException | MissingDefaultException e) {
            if (!charge.shadow()) { // what is in shadow refuses nobody
              throw e;
            }
          }
        }
        // Where each of its limits is skipped, it charges nothing in the place of others.
        yield Found.limited(charges, charges.isEmpty() ? List.of() : match.replaces());
      }
    };
  }

  private Found ofName(List<DescriptorEntry> entries, RateLimitDescriptor descriptor) {
    Transaction named = NamedLimits.named(request.getDomain(), entries, limits);
    if (named == null) {
      return Found.UNMATCHED;
    }
    requireDefault.accept(named);
    return named.coverage().isMissing()
        ? Found.UNMATCHED
        : Found.limited(
            List.of(charge(named, hits(descriptor), Excess.REJECT, descriptor)), List.of());
  }

  /** How often a descriptor counts. Unsigned: what is beyond a signed number fits no bucket. */
  private long hits(RateLimitDescriptor descriptor) {
    if (!descriptor.hasHitsAddend()) {
      return Math.max(FEWEST_HITS, Integer.toUnsignedLong(request.getHitsAddend()));
    }
    UInt64Value hits = descriptor.getHitsAddend();
    return hits.getValue() < 0 ? Long.MAX_VALUE : hits.getValue();
  }

  /** A refund is at most what the descriptor names, and at most what a request is charged here. */
  private DescriptorCharge charge(
      Transaction transaction, long cost, Excess excess, RateLimitDescriptor descriptor) {
    int debt = limits.debtOf(transaction.name());
    return descriptor.getIsNegativeHits()
        ? new DescriptorCharge(transaction, Math.min(hits(descriptor), cost), Excess.REJECT, debt)
        : new DescriptorCharge(transaction, cost, excess, debt);
  }

  /** Without the limits that descriptors replace; no rule may replace a limit that it charges. */
  private static Found withoutReplaced(Found found, Set<String> replaced) {
    return replaced.isEmpty() || found.charges().isEmpty()
        ? found
        : Found.limited(
            found.charges().stream()
                .filter(charge -> !replaced.contains(charge.limit().name()))
                .toList(),
            found.replaces());
  }

  private Found added(int index, Found meant) {
    RateLimitDescriptor descriptor = request.getDescriptors(index);
    if (meant.denied() != null) {
      return closed(meant.denied());
    }
    if (descriptor.hasLimit() && overrides == OverridePolicy.ALLOW && !isPenalized(meant)) {
      return overridden(index, meant);
    }
    return meant.charges().isEmpty() ? meant : together(meant.charges(), descriptor);
  }

  /**
   * A rule that denies, which no limit of the caller's opens, or a limit that has no default. So is
   * a value that makes no id, or a brought limit whose unit does not exist. A client may cause
   * these, and they must not fail the whole request: a proxy lets requests pass whose question
   * fails, past all the other limits too.
   */
  private Found closed(String why) {
    DescriptorCharge closed =
        new DescriptorCharge(OF_CALLER, RateLimitOverride.getDefaultInstance(), why);
    all.add(closed);
    return Found.limited(List.of(closed), List.of());
  }

  /** A client that brings a limit of its own must not pass a penalty by it. */
  private boolean isPenalized(Found meant) {
    return limits.hasPenalties()
        && meant.charges().stream()
            .anyMatch(one -> limits.penaltyFor(one.limit(), one.bucket().id()) != null);
  }

  /** Where limits of one rule meet on a bucket, the highest cost counts. */
  private Found together(List<DescriptorCharge> meant, RateLimitDescriptor descriptor) {
    Map<String, DescriptorCharge> highest = new LinkedHashMap<>();
    boolean unlimited = !meant.isEmpty();
    for (DescriptorCharge one : meant) {
      unlimited &= one.bucket().coverage() == Coverage.UNLIMITED;
      if (one.quota() != null) {
        highest.merge(one.bucket().bucketKey(), one, (a, b) -> b.cost() > a.cost() ? b : a);
      }
    }
    List<DescriptorCharge> charges = new ArrayList<>(highest.size());
    highest.forEach(
        (bucket, one) -> charges.add(merged(bucket, one, descriptor.getIsNegativeHits())));
    return new Found(true, unlimited, null, charges, List.of());
  }

  /** Descriptors that meet on a bucket take from it what both cost, each by its own policy. */
  private DescriptorCharge merged(String bucket, DescriptorCharge one, boolean givenBack) {
    DescriptorCharge met = (givenBack ? refunds : byBucket).putIfAbsent(bucket, one);
    if (met != null) {
      met.add(one);
      return met;
    }
    if (!givenBack) {
      all.add(one);
    }
    return one;
  }

  /**
   * The caller's limit takes the place of the rule's first one, and is not in shadow. Whatever else
   * the rule says holds: its cost, its excess, and its other limits.
   */
  private Found overridden(int index, Found meant) {
    RateLimitDescriptor descriptor = request.getDescriptors(index);
    if (!CurrentLimit.hasUnit(descriptor.getLimit())) {
      return closed(
          "descriptors[%s].limit.unit: found %s, expected SECOND, MINUTE, HOUR, DAY, MONTH or YEAR"
              .formatted(index, descriptor.getLimit().getUnitValue()));
    }
    Quota quota = CurrentLimit.quota(descriptor.getLimit());
    List<DescriptorCharge> ours = meant.charges();
    if (ours.isEmpty() && !RequestMessages.isText(descriptor)) {
      return closed(RequestMessages.NOT_TEXT);
    }
    LimitName limit = ours.isEmpty() ? OF_CALLER : ours.get(0).limit();
    if (quota == null) {
      DescriptorCharge closed = new DescriptorCharge(limit, descriptor.getLimit(), null);
      return withOthers(closed, ours.isEmpty() ? ours : ours.subList(1, ours.size()), descriptor);
    }
    String id = ours.isEmpty() ? id(request.getDomain(), descriptor) : ours.get(0).bucket().id();
    Transaction brought = Transaction.of(limit, quota, id);
    if (ours.isEmpty()) {
      return together(
          List.of(charge(brought, hits(descriptor), Excess.REJECT, descriptor)), descriptor);
    }
    List<DescriptorCharge> charges = new ArrayList<>(ours.size());
    charges.add(ours.get(0).to(brought));
    for (DescriptorCharge one : ours.subList(1, ours.size())) {
      boolean meets = one.bucket().bucketKey().equals(brought.bucketKey());
      charges.add(meets ? one.to(brought) : one);
    }
    return together(charges, descriptor);
  }

  /** A limit of zero, and the others of its rule, which may charge though the request is denied. */
  private Found withOthers(
      DescriptorCharge closed, List<DescriptorCharge> others, RateLimitDescriptor descriptor) {
    all.add(closed);
    List<DescriptorCharge> charges = new ArrayList<>(List.of(closed));
    charges.addAll(together(others, descriptor).charges());
    return Found.limited(charges, List.of());
  }

  private static String id(String domain, RateLimitDescriptor descriptor) {
    StringBuilder id = new StringBuilder(escaped(domain));
    for (RateLimitDescriptor.Entry entry : descriptor.getEntriesList()) {
      id.append(':').append(escaped(entry.getKey())).append('=').append(escaped(entry.getValue()));
    }
    return IdFormat.ofBytes(id.toString().getBytes(StandardCharsets.UTF_8));
  }

  private static String escaped(String text) {
    return text.replace("%", "%25").replace(":", "%3A").replace("=", "%3D");
  }

  /**
   * One bucket, what it is asked for, and what became of that. Belongs to one request: the outcome
   * is set once, before the answer is made.
   */
  static final class DescriptorCharge {
    private final @Nullable Transaction transaction;
    private final LimitName limit;
    private final @Nullable RateLimitOverride closed;
    private final @Nullable String closedWhy;
    private final int debt; // the bursts that the bucket may owe
    private long cost;
    private long drained;
    private long owed;

    private boolean decided;
    private boolean over;
    private long remaining;
    private long retryInNanos;
    private long resetInNanos;
    private @Nullable Decision decision;

    private DescriptorCharge(Transaction transaction, long cost, Excess excess, int debt) {
      this.transaction = transaction;
      this.limit = transaction.name();
      this.closed = null;
      this.closedWhy = null;
      this.debt = debt;
      this.cost = cost;
      this.drained = excess == Excess.DRAIN ? cost : 0;
      this.owed = excess == Excess.DEBT ? cost : 0;
    }

    /**
     * A limit of zero, which a caller may bring, or none: a rule that denies, an id or a brought
     * limit that cannot be used. It lets nothing pass and has no bucket.
     */
    private DescriptorCharge(
        LimitName limit, RateLimitOverride closed, @Nullable String closedWhy) {
      this.transaction = null;
      this.limit = limit;
      this.closed = closed;
      this.closedWhy = closedWhy;
      this.debt = 0;
    }

    /** The same charge to another bucket. */
    private DescriptorCharge to(Transaction other) {
      DescriptorCharge charge = new DescriptorCharge(other, cost, Excess.REJECT, debt);
      charge.drained = drained;
      charge.owed = owed;
      return charge;
    }

    private void add(DescriptorCharge more) {
      cost = sum(cost, more.cost);
      drained = sum(drained, more.drained);
      owed = sum(owed, more.owed);
    }

    private Transaction bucket() {
      return Objects.requireNonNull(transaction);
    }

    private static long sum(long one, long other) {
      return one > Long.MAX_VALUE - other ? Long.MAX_VALUE : one + other;
    }

    /** Whether no wait makes it pass. */
    boolean neverFits() {
      Quota quota = quota();
      return quota == null || cost > quota.burst();
    }

    /** Whether it only looks: a proxy that charges later asks so. */
    boolean isProbe() {
      return cost == 0;
    }

    /** Returns the transaction for the limiter; null where nothing ever passes. */
    @Nullable Transaction asked() {
      if (transaction == null) {
        return null;
      }
      if (isProbe()) {
        return transaction.withCost(1).checkOnly();
      }
      if (neverFits()) {
        return transaction.withCost(0).checkOnly();
      }
      return transaction.withCost(cost);
    }

    /**
     * The tokens that are charged though the cost does not fit: a debt first, then what is left.
     */
    long chargedDespite(long remaining) {
      return sum(owed, Math.min(drained, Math.max(0, remaining - owed)));
    }

    /** Charges a number of tokens though the cost does not fit. */
    Transaction settled(long tokens) {
      Transaction held = owed > 0 ? inDebt() : Objects.requireNonNull(transaction);
      return held.withCost(Math.min(tokens, quotaOf(held).burst())).spendOnly();
    }

    /** Gives the cost back: all that the bucket can lack, and can owe where a rule makes debts. */
    Transaction givenBack() {
      Transaction held = mayOwe() ? inDebt() : Objects.requireNonNull(transaction);
      return held.withCost(Math.min(cost, quotaOf(held).burst()));
    }

    /** What is left in the bucket, by the decision on {@link #givenBack}. */
    private long remaining(Decision refunded) {
      Quota quota = Objects.requireNonNull(quota());
      long owable = mayOwe() ? CurrentLimit.inDebt(quota, debt).burst() - quota.burst() : 0;
      return Math.max(0, refunded.remaining() - owable);
    }

    private boolean mayOwe() {
      return debt > 0;
    }

    private Transaction inDebt() {
      Transaction held = Objects.requireNonNull(transaction);
      Transaction deep = Transaction.of(limit, CurrentLimit.inDebt(quotaOf(held), debt), held.id());
      return held.isShadow() ? deep.inShadow() : deep;
    }

    private static Quota quotaOf(Transaction transaction) {
      return Objects.requireNonNull(transaction.quota());
    }

    LimitName limit() {
      return limit;
    }

    /** Null where nothing ever passes. */
    @Nullable Quota quota() {
      return transaction == null ? null : transaction.quota();
    }

    /** The limit of zero that the caller brought. */
    @Nullable RateLimitOverride closedBy() {
      return closed;
    }

    /** Why it is closed without a limit; null if it has one. */
    @Nullable String closedWhy() {
      return closedWhy;
    }

    long cost() {
      return cost;
    }

    boolean isShadow() {
      return transaction != null && transaction.isShadow();
    }

    /** Takes that nothing ever passes: its limit is zero, or it has none. */
    void close() {
      decided = true;
      over = true;
    }

    /**
     * Takes what the limiter said.
     *
     * @param spent whether the cost was taken if it was there; otherwise it is still in the bucket
     */
    void decide(Decision made, boolean spent) {
      Quota quota = quota();
      decided = true;
      decision = made;
      if (neverFits() || quota == null) {
        over = true;
        remaining = made.remaining();
        resetInNanos = made.resetInNanos();
        return;
      }
      boolean untouched = made.allowed() && !made.degraded() && (isProbe() || !spent);
      long kept = untouched ? Math.max(1, cost) : 0;
      over = made.denied();
      remaining = made.remaining() + kept;
      retryInNanos = made.denied() ? made.retryInNanos() : 0;
      resetInNanos = Math.max(0, made.resetInNanos() - quota.incrementNanos(kept));
    }

    /** Takes that it was given back: nobody is refused for that, also if the bucket lacked none. */
    void refunded(Decision made) {
      decided = true;
      decision = made;
      remaining = remaining(made);
      resetInNanos = made.resetInNanos();
    }

    /** Takes that a trial failed after all: it has no outcome then. */
    void forget() {
      decided = false;
    }

    /** Whether it has an outcome; a trial that failed has none. */
    boolean isDecided() {
      return decided;
    }

    /** Whether it is over its limit. */
    boolean isOver() {
      return over;
    }

    /** Whether it refuses the request; a trial refuses nobody. */
    boolean refuses() {
      return over && !isShadow();
    }

    /** The tokens that are left. */
    long remaining() {
      return remaining;
    }

    /** How long to wait; 0 where that helps nobody. */
    long retryInNanos() {
      return retryInNanos;
    }

    /** When to come back, where that helps: whole seconds. */
    long retryAfterSeconds() {
      return Objects.requireNonNull(decision).retryAfterSeconds();
    }

    /** How long until the bucket is full. */
    long resetInNanos() {
      return resetInNanos;
    }

    /** What the limiter said; null where it was not asked. */
    @Nullable Decision decision() {
      return decision;
    }

    /** The store, or the failure rule that decided in its place. */
    DecidedBy decidedBy() {
      return decision == null ? DecidedBy.STORE : decision.decidedBy();
    }

    /** Whether a rule decided that asks no bucket: nobody knows what is left. */
    boolean isBlind() {
      return !decidedBy().knowsBucket();
    }

    /** The quota that it was held to: a share of its own where this process decided alone. */
    @Nullable Quota heldTo() {
      Decision made = decision;
      Transaction asked =
          made != null && made.decidedBy() == DecidedBy.LOCAL ? made.transaction() : null;
      return asked == null ? quota() : asked.quota();
    }

    /**
     * The one that a status tells: a refusal before a pass, what is in force before a trial, then
     * the smaller remaining. Clients are held to no trial.
     */
    DescriptorCharge stricter(DescriptorCharge other) {
      if (refuses() != other.refuses()) {
        return refuses() ? this : other;
      }
      if (isShadow() != other.isShadow()) {
        return isShadow() ? other : this;
      }
      return other.remaining < remaining ? other : this;
    }
  }
}
