// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.protobuf.UInt64Value;
import dev.sluice.Decision;
import dev.sluice.Decision.DecidedBy;
import dev.sluice.Reservation.Receipt;
import dev.sluice.Reservation.Settlement;
import dev.sluice.Transaction;
import dev.sluice.envoy.RateLimitDescriptor;
import dev.sluice.envoy.RateLimitDescriptor.RateLimitOverride;
import dev.sluice.envoy.RateLimitRequest;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.InvalidRequestException.MissingDefaultException;
import dev.sluice.limit.InvalidRequestException.UnknownLimitException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Coverage;
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

/** Buckets and costs of the descriptors of one request, found by rules or by limit names. */
final class DescriptorCharges {

  /** The limit for quotas that proxies send; its number, part of bucket keys, must never change. */
  static final LimitName OF_CALLER =
      LimitName.builder(2_000_000_002, "rls.override")
          .id(IdFormat.bytes())
          .message("denied: at most {rate}") // proxies and their clients do not know the name
          .build();

  private static final long FEWEST_HITS = 1;

  private final RateLimitRequest request;
  private final OverridePolicy overrides;
  private final Consumer<Transaction> requireDefault;
  private final Limits limits;
  private final RuleBook book;
  private final Map<String, DescriptorCharge> byBucket = new HashMap<>();
  private final Map<String, DescriptorCharge> refunds = new LinkedHashMap<>();
  private final Map<OpenCalls.CallKey, DescriptorCharge> settlements = new LinkedHashMap<>();
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
   * The result of matching one descriptor with the rules.
   *
   * @param matched whether the descriptor matches a rule or the name of a limit; a descriptor
   *     without a match is counted and allowed
   * @param denied why a rule denies the descriptor, or why its values make no valid id; otherwise
   *     null
   * @param charges the charges for the descriptor; several descriptors can share a charge for the
   *     same bucket
   * @param replaces the limits that this descriptor replaces: the request's other descriptors are
   *     not charged for these limits
   */
  record Found(
      boolean matched,
      boolean unlimited,
      @Nullable RefusedDescriptor denied,
      List<DescriptorCharge> charges,
      List<String> replaces) {

    static final Found UNMATCHED = new Found(false, false, null, List.of(), List.of());

    static Found denied(RefusedDescriptor denied, List<String> replaces) {
      return new Found(true, false, denied, List.of(), replaces);
    }

    static Found limited(List<DescriptorCharge> charges, List<String> replaces) {
      return new Found(true, false, null, charges, replaces);
    }
  }

  /**
   * A descriptor that is always denied.
   *
   * @param line the line of the matching rule, 0 for none
   * @param byRule whether a rule denies the descriptor; otherwise no limit can be charged for the
   *     descriptor
   */
  record RefusedDescriptor(String why, int line, boolean byRule) {

    /** Returns the denial of a descriptor for which no limit can be charged. */
    static RefusedDescriptor unusable(String why) {
      return new RefusedDescriptor(why, 0, false);
    }
  }

  /**
   * Determines the charges of a request.
   *
   * @param requireDefault throws if the limit of a transaction lacks a required default quota
   * @throws MissingDefaultException if a descriptor matches a limit without a default quota
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

  List<Found> found() {
    return found;
  }

  /** Returns the charges that are neither refunds nor settlements, one for each bucket. */
  List<DescriptorCharge> all() {
    return all;
  }

  List<DescriptorCharge> refunds() {
    return List.copyOf(refunds.values());
  }

  /** Returns the settlements of requests that have ended, one for each bucket and request. */
  List<DescriptorCharge> settlements() {
    return List.copyOf(settlements.values());
  }

  /** Returns the name of the rule file; empty if there are no rules. */
  String file() {
    return book.file();
  }

  private Found meaning(RateLimitDescriptor descriptor) {
    List<DescriptorEntry> entries = new ArrayList<>(descriptor.getEntriesCount());
    for (RateLimitDescriptor.Entry entry : descriptor.getEntriesList()) {
      entries.add(new DescriptorEntry(entry.getKey(), entry.getValue()));
    }
    int line = 0;
    try {
      Optional<RuleMatch> match = book.match(request.getDomain(), entries);
      if (match.isPresent()) {
        line = match.get().line();
        return ofRule(match.get(), descriptor);
      }
      return book.isRulesOnly(request.getDomain()) ? Found.UNMATCHED : ofName(entries, descriptor);
    } catch (InvalidIdException e) {
      boolean isText = RequestMessages.isText(descriptor);
      String why = isText ? String.valueOf(e.getMessage()) : RequestMessages.NOT_TEXT;
      return Found.denied(new RefusedDescriptor(why, line, false), List.of());
    } catch (UnknownLimitException e) {
      return Found.denied(
          new RefusedDescriptor(String.valueOf(e.getMessage()), line, false), List.of());
    }
  }

  private Found ofRule(RuleMatch match, RateLimitDescriptor descriptor) {
    return switch (match.verdict()) {
      case UNLIMITED -> new Found(true, true, null, List.of(), match.replaces());
      case DENIES ->
          Found.denied(
              new RefusedDescriptor("a rule denies this descriptor", match.line(), true),
              match.replaces());
      case CHARGES -> {
        List<DescriptorCharge> charges = new ArrayList<>(match.charges().size());
        for (RuleCharge charge : match.charges()) {
          try {
            Transaction transaction = charge.transaction(limits);
            requireDefault.accept(transaction);
            charges.add(
                charge(transaction, cost(charge, descriptor), charge.excess(), descriptor)
                    .ofCall(descriptor.getIsNegativeHits() ? null : charge.call())
                    .matchedOn(match.line()));
          } catch (InvalidIdException | MissingDefaultException e) {
            if (!charge.shadow()) { // a shadow charge never denies a request
              throw e;
            }
          }
        }
        // A rule whose own limits were all skipped replaces no limits of other descriptors.
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

  /** Returns the cost of a rule's charge. */
  private long cost(RuleCharge charge, RateLimitDescriptor descriptor) {
    boolean isReport = charge.excess() == Excess.SETTLE && charge.fixedCost() == null;
    return charge.cost(isReport ? hits(descriptor, 0) : hits(descriptor));
  }

  private long hits(RateLimitDescriptor descriptor) {
    return hits(descriptor, FEWEST_HITS);
  }

  /**
   * Returns the hits of a descriptor. A proxy sends an unsigned number; a number above {@code
   * Long.MAX_VALUE} exceeds every bucket, and is capped at {@code Long.MAX_VALUE}.
   *
   * @param fewest the smallest result for a descriptor that does not contain its own number of hits
   */
  private long hits(RateLimitDescriptor descriptor, long fewest) {
    if (!descriptor.hasHitsAddend()) {
      return Math.max(fewest, Integer.toUnsignedLong(request.getHitsAddend()));
    }
    UInt64Value hits = descriptor.getHitsAddend();
    return hits.getValue() < 0 ? Long.MAX_VALUE : hits.getValue();
  }

  /** Makes a charge. Negative hits refund at most what positive hits would cost. */
  private DescriptorCharge charge(
      Transaction transaction, long cost, Excess excess, RateLimitDescriptor descriptor) {
    int debt = limits.debtOf(transaction.name());
    String domain = request.getDomain();
    return descriptor.getIsNegativeHits()
        ? new DescriptorCharge(
            domain, transaction, Math.min(hits(descriptor), cost), Excess.REJECT, debt)
        : new DescriptorCharge(domain, transaction, cost, excess, debt);
  }

  /** Removes the charges that other descriptors replace; a rule cannot replace its own charges. */
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
   * Denies a descriptor if its rule denies the descriptor, its limit has no default quota, its
   * values make no valid id, or the limit that the proxy sent has an unknown unit; clients can
   * cause each of these mistakes. An error for the whole request would be worse: after an error, a
   * proxy can let the request pass all limits.
   */
  private Found closed(RefusedDescriptor why) {
    DescriptorCharge closed = DescriptorCharge.refused(why);
    all.add(closed);
    return Found.limited(List.of(closed), List.of());
  }

  /**
   * Whether a penalty is in force for a bucket of the descriptor. A limit that the proxy sends must
   * not bypass a penalty.
   */
  private boolean isPenalized(Found meant) {
    return limits.hasPenalties()
        && meant.charges().stream()
            .anyMatch(one -> limits.penaltyFor(one.limit(), one.bucket().id()) != null);
  }

  /** Merges the charges of one rule for the same bucket; the merged charge has the highest cost. */
  private Found together(List<DescriptorCharge> meant, RateLimitDescriptor descriptor) {
    Map<OpenCalls.CallKey, DescriptorCharge> highest = new LinkedHashMap<>();
    boolean unlimited = !meant.isEmpty();
    for (DescriptorCharge one : meant) {
      unlimited &= one.bucket().coverage() == Coverage.UNLIMITED;
      if (one.quota() != null) {
        highest.merge(one.place(), one, (a, b) -> b.cost() > a.cost() ? b.joined(a) : a.joined(b));
      }
    }
    List<DescriptorCharge> charges = new ArrayList<>(highest.size());
    highest.forEach(
        (place, one) -> charges.add(merged(place, one, descriptor.getIsNegativeHits())));
    return new Found(true, unlimited, null, charges, List.of());
  }

  /**
   * Merges the charges of several descriptors for the same bucket: the costs are added, and if
   * proxies sent limits, the lowest quota applies to all.
   */
  private DescriptorCharge merged(
      OpenCalls.CallKey place, DescriptorCharge one, boolean givenBack) {
    DescriptorCharge met =
        one.settles()
            ? settlements.putIfAbsent(place, one)
            : (givenBack ? refunds : byBucket).putIfAbsent(place.bucket(), one);
    if (met != null) {
      met.add(one);
      if (!givenBack) {
        met.lower(one);
      }
      return met;
    }
    if (!givenBack && !one.settles()) {
      all.add(one);
    }
    return one;
  }

  /** Replaces the first limit of a rule by the limit that the proxy sent. */
  private Found overridden(int index, Found meant) {
    RateLimitDescriptor descriptor = request.getDescriptors(index);
    if (!CurrentLimit.hasUnit(descriptor.getLimit())) {
      return closed(
          RefusedDescriptor.unusable(
              "descriptors[%s].limit.unit: found %s, expected SECOND, MINUTE, HOUR, DAY, MONTH or YEAR"
                  .formatted(index, descriptor.getLimit().getUnitValue())));
    }
    Quota quota = CurrentLimit.quota(descriptor.getLimit());
    List<DescriptorCharge> ours = meant.charges();
    String id;
    try {
      id = ours.isEmpty() ? id(request.getDomain(), descriptor) : ours.get(0).bucket().id();
    } catch (InvalidIdException e) {
      return closed(RefusedDescriptor.unusable(String.valueOf(e.getMessage())));
    }
    LimitName limit = ours.isEmpty() ? OF_CALLER : ours.get(0).limit();
    if (quota == null) {
      DescriptorCharge closed = new DescriptorCharge(limit, descriptor.getLimit(), null);
      return withOthers(closed, ours.isEmpty() ? ours : ours.subList(1, ours.size()), descriptor);
    }
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

  /** Returns a denying charge, for a limit of zero from a proxy, and the rule's other charges. */
  private Found withOthers(
      DescriptorCharge closed, List<DescriptorCharge> others, RateLimitDescriptor descriptor) {
    all.add(closed);
    List<DescriptorCharge> charges = new ArrayList<>(List.of(closed));
    charges.addAll(together(others, descriptor).charges());
    return Found.limited(charges, List.of());
  }

  private static String id(String domain, RateLimitDescriptor descriptor) {
    if (!RequestMessages.isText(descriptor)) {
      throw new InvalidIdException(RequestMessages.NOT_TEXT);
    }
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
   * A charge of one request: the bucket, the cost, and the outcome. A charge's outcome is set once,
   * before the response is made.
   */
  static final class DescriptorCharge {
    private final String domain;
    private @Nullable Transaction transaction;
    private final LimitName limit;
    private final @Nullable RateLimitOverride closed;
    private final @Nullable RefusedDescriptor denied;
    private final int debt; // how many bursts of debt the bucket can have
    private final boolean settles;
    private @Nullable String call; // the id of the request that reserves or settles
    private int line; // the matching rule's line, 0 for none
    private long cost;
    private long drained;
    private long owed;

    private boolean decided;
    private boolean over;
    private long remaining;
    private long retryInNanos;
    private long resetInNanos;
    private @Nullable Decision decision;
    private @Nullable Quota described; // the quota of a refund's or settlement's outcome

    private DescriptorCharge(
        String domain, Transaction transaction, long cost, Excess excess, int debt) {
      this.domain = domain;
      this.transaction = transaction;
      this.limit = transaction.name();
      this.closed = null;
      this.denied = null;
      this.debt = debt;
      this.cost = cost;
      this.drained = excess == Excess.DRAIN ? cost : 0;
      this.owed = excess == Excess.DEBT || excess == Excess.SETTLE ? cost : 0;
      this.settles = excess == Excess.SETTLE;
    }

    /**
     * Makes a charge that has no bucket and always denies: the proxy sent a limit of zero, a rule
     * denies, or an id or limit is not valid.
     */
    private DescriptorCharge(
        LimitName limit, RateLimitOverride closed, @Nullable RefusedDescriptor denied) {
      this.domain = "";
      this.transaction = null;
      this.settles = false;
      this.limit = limit;
      this.closed = closed;
      this.denied = denied;
      this.line = denied == null ? 0 : denied.line();
      this.debt = 0;
    }

    /** Makes a charge that always denies, for which no limit is known. */
    static DescriptorCharge refused(RefusedDescriptor why) {
      return new DescriptorCharge(OF_CALLER, RateLimitOverride.getDefaultInstance(), why);
    }

    private DescriptorCharge to(Transaction other) {
      Excess excess = settles ? Excess.SETTLE : Excess.REJECT;
      DescriptorCharge charge = new DescriptorCharge(domain, other, cost, excess, debt);
      charge.drained = drained;
      charge.owed = owed;
      return charge.ofCall(call).matchedOn(line);
    }

    /** Sets the id of the request whose tokens this charge reserves or settles. */
    @CanIgnoreReturnValue
    private DescriptorCharge ofCall(@Nullable String id) {
      call = id;
      return this;
    }

    /** Whether this charge settles the cost of a request that has ended. */
    boolean settles() {
      return settles;
    }

    /**
     * Returns the key of the request's reservation; null if this charge neither makes nor settles a
     * reservation.
     */
    OpenCalls.@Nullable CallKey call() {
      if (call == null) {
        return null;
      }
      Transaction held = bucket();
      List<?> terms =
          held.supplied()
              ? held.quotas()
              : held.quotas().stream().skip(1).map(Quota::period).toList();
      return new OpenCalls.CallKey(domain, held.bucketKey(), terms, call);
    }

    /**
     * Returns the key for merging charges. Charges with equal keys are for the same bucket;
     * settlements with equal keys are also for the same request.
     */
    private OpenCalls.CallKey place() {
      OpenCalls.CallKey settled = settles ? call() : null;
      return settled == null
          ? new OpenCalls.CallKey(domain, bucket().bucketKey(), List.of(), "")
          : settled;
    }

    @CanIgnoreReturnValue
    private DescriptorCharge matchedOn(int ruleLine) {
      line = ruleLine;
      return this;
    }

    int line() {
      return line;
    }

    boolean isDeniedByRule() {
      return denied != null && denied.byRule();
    }

    private void add(DescriptorCharge more) {
      cost = sum(cost, more.cost);
      drained = sum(drained, more.drained);
      owed = sum(owed, more.owed);
      joined(more);
    }

    /** Replaces the quotas by those of another charge for the same bucket, if they are lower. */
    private void lower(DescriptorCharge other) {
      Quota own = bucket().quota();
      Quota others = other.bucket().quota();
      if (own == null || others == null || own.isLowerThan(others)) {
        return;
      }
      boolean isMore = other.bucket().quotas().size() > bucket().quotas().size();
      if (others.isLowerThan(own) || isMore) {
        transaction = other.transaction;
      }
    }

    /**
     * Makes no reservation for this charge if {@code other}, which is merged into this charge,
     * belongs to a different reservation or to none: a settlement would also refund {@code other}.
     */
    @CanIgnoreReturnValue
    private DescriptorCharge joined(DescriptorCharge other) {
      call = Objects.equals(call, other.call) ? call : null;
      return this;
    }

    private Transaction bucket() {
      return Objects.requireNonNull(transaction);
    }

    private static long sum(long one, long other) {
      return one > Long.MAX_VALUE - other ? Long.MAX_VALUE : one + other;
    }

    /** Whether this charge has no bucket and denies every request. */
    boolean isClosed() {
      return transaction == null;
    }

    /** Whether this charge can never pass, however long the client waits. */
    boolean neverFits() {
      return transaction == null || (cost > burst(transaction) && !reserves());
    }

    /**
     * Whether the cost is an estimate. For an estimate above the burst, only the burst is charged.
     */
    private boolean reserves() {
      return call != null && !settles;
    }

    /** Whether this charge has the cost 0 and only checks the bucket. */
    boolean isProbe() {
      return cost == 0;
    }

    /** Returns the transaction for the limiter; null if this charge always denies the request. */
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
      return transaction.withCost(Math.min(cost, burst(transaction)));
    }

    /** Whether the cost, or a part of the cost, is charged even after a denial. */
    boolean isDueAnyway() {
      return owed > 0 || drained > 0;
    }

    /**
     * Returns how many tokens to charge after a denial to the bucket of one quota. If the rule
     * allows debt, the whole cost is charged. If the rule drains the bucket, at most {@code
     * remaining} tokens are charged. If another request takes these tokens first, a limit that
     * allows debt owes the missing tokens.
     */
    long chargedDespite(long remaining) {
      return sum(owed, Math.min(drained, Math.max(0, remaining - owed)));
    }

    /** Returns a transaction on the bucket that takes no tokens. */
    Transaction free() {
      return bucket().withCost(0);
    }

    /** Returns the refund of this charge's cost, at most the largest burst plus its debt. */
    Transaction givenBack() {
      Transaction held = bucket();
      List<Quota> quotas = held.quotas().stream().map(this::refundable).toList();
      if (!quotas.equals(held.quotas())) {
        Transaction deep = Transaction.of(limit, quotas, held.id());
        held = held.isShadow() ? deep.inShadow() : deep;
      }
      return held.withCost(Math.min(cost, burst(held)));
    }

    /**
     * Returns a quota for a refund, with the rate of the given quota. A refund never overfills a
     * bucket, but its cost must not exceed the burst of any quota. So all quotas of a refund have
     * the limit's largest burst, plus the allowed debt.
     */
    private Quota refundable(Quota quota) {
      long largest = bucket().quotas().stream().mapToLong(Quota::burst).max().orElse(quota.burst());
      return CurrentLimit.withBurst(quota, largest, 1L + debt);
    }

    /** Returns the highest cost that a full bucket allows. */
    static long burst(Transaction transaction) {
      return Quota.leastBurst(transaction.quotas());
    }

    LimitName limit() {
      return limit;
    }

    /** Returns the quota; null if this charge denies every request. */
    @Nullable Quota quota() {
      return transaction == null ? null : transaction.quota();
    }

    /** Returns the limit of zero that the proxy sent; null if the proxy sent no such limit. */
    @Nullable RateLimitOverride closedBy() {
      return closed;
    }

    /**
     * Returns why this charge denies every request; null if the charge can be allowed, or if the
     * proxy sent a limit of zero.
     */
    @Nullable String closedWhy() {
      return denied == null ? null : denied.why();
    }

    long cost() {
      return cost;
    }

    long burst() {
      return burst(bucket());
    }

    boolean isShadow() {
      return transaction != null && transaction.isShadow();
    }

    /** Sets the outcome of a charge that denies every request. */
    void close() {
      decided = true;
      over = true;
    }

    /** Sets the decision; {@code spent} tells whether a cost was spent and not only checked. */
    void decide(Decision made, boolean spent) {
      decided = true;
      decision = made;
      Quota quota = heldTo();
      if (neverFits() || quota == null) {
        over = true;
        remaining = made.remaining();
        resetInNanos = made.resetInNanos();
        return;
      }
      boolean untouched = made.allowed() && !made.degraded() && (isProbe() || !spent);
      long kept = untouched ? Math.min(Math.max(1, cost), burst()) : 0;
      over = made.denied();
      remaining = made.remaining() + kept;
      retryInNanos = made.denied() ? made.retryInNanos() : 0;
      resetInNanos = Math.max(0, made.resetInNanos() - quota.incrementNanos(kept));
    }

    /** Sets a refund's outcome to that of its tightest quota; a refund never denies. */
    void refunded(Decision made) {
      decided = true;
      decision = made;
      List<Quota> quotas = bucket().quotas();
      for (int i = 0; i < quotas.size(); i++) {
        Decision one = made.quotas().isEmpty() ? made : made.quotas().get(i);
        Quota quota = quotas.get(i);
        long left = Math.max(0, one.remaining() - (refundable(quota).burst() - quota.burst()));
        if (i == 0 || left < remaining) {
          remaining = left;
          resetInNanos = one.resetInNanos();
          described = quotas.size() == 1 ? null : quota;
        }
      }
    }

    boolean took(Receipt.Part part) {
      Transaction taken = part.transaction();
      return taken.name().equals(limit) && taken.id().equals(bucket().id());
    }

    /** Sets a settlement's outcome to that of its tightest quota; a settlement never denies. */
    void settled(Settlement settlement) {
      long fewest = Long.MAX_VALUE;
      for (Settlement.Part part : settlement.parts()) {
        long left = part.remaining() - part.owed();
        Quota quota = quotaOf(part);
        if (quota != null && left < fewest) {
          fewest = left;
          described = quota;
          remaining = part.remaining();
          resetInNanos = quota.incrementNanos(Math.max(0, quota.burst() - left));
          decided = true;
        }
      }
    }

    /**
     * Returns the current quota of the bucket of a settled charge. A settlement has the same
     * buckets as its reservation ({@link #call}), so the quotas of both have the same order.
     */
    private @Nullable Quota quotaOf(Settlement.Part part) {
      Quota own = part.transaction().quota();
      int index = own == null ? -1 : part.transaction().quotas().indexOf(own);
      List<Quota> now = bucket().quotas();
      return index < 0 || index >= now.size() ? quota() : now.get(index);
    }

    /** Clears the outcome of a failed charge in shadow mode. */
    void forget() {
      decided = false;
    }

    /** Whether the charge has an outcome. A charge in shadow mode has no outcome if it failed. */
    boolean isDecided() {
      return decided;
    }

    boolean isOver() {
      return over;
    }

    /** Whether the charge denies the request. A charge in shadow mode never denies a request. */
    boolean refuses() {
      return over && !isShadow();
    }

    long remaining() {
      return remaining;
    }

    /** Returns the nanoseconds that the client must wait; 0 if waiting does not help. */
    long retryInNanos() {
      return retryInNanos;
    }

    /** Returns how many whole seconds the client must wait, if waiting helps. */
    long retryAfterSeconds() {
      return Objects.requireNonNull(decision).retryAfterSeconds();
    }

    /** Returns the nanoseconds until the bucket is full. */
    long resetInNanos() {
      return resetInNanos;
    }

    /** Returns the limiter's decision; null if the limiter was not called. */
    @Nullable Decision decision() {
      return decision;
    }

    DecidedBy decidedBy() {
      return decision == null ? DecidedBy.STORE : decision.decidedBy();
    }

    /**
     * Whether a failure rule decided without a bucket, so that the remaining tokens are unknown.
     */
    boolean isBlind() {
      return !decidedBy().knowsBucket();
    }

    /** Returns the applied quota: the strictest, or a share of it if the store did not decide. */
    @Nullable Quota heldTo() {
      if (described != null) {
        return described;
      }
      Decision made = decision;
      Transaction asked =
          made != null && (made.decidedBy() == DecidedBy.LOCAL || !made.quotas().isEmpty())
              ? made.transaction()
              : null;
      return asked == null ? quota() : asked.quota();
    }

    /**
     * Returns the charge that determines the descriptor's status: first a denied charge, then a
     * charge that is not in shadow mode, then the charge with fewer remaining tokens.
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
