// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import com.google.protobuf.UInt64Value;
import dev.sluice.Decision;
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
import dev.sluice.limit.UnknownLimitException;
import dev.sluice.rules.RuleMatch.Excess;
import dev.sluice.server.rls.Mapping.Denied;
import dev.sluice.server.rls.Mapping.Limited;
import dev.sluice.server.rls.Mapping.Mapped;
import dev.sluice.server.rls.Mapping.Unlimited;
import dev.sluice.server.rls.Mapping.Unmatched;
import dev.sluice.server.rls.RlsPart.OverridePolicy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The buckets and costs that the descriptors of a request ask for. Belongs to one request. */
final class Lines {

  /**
   * The limit of descriptors that bring their own and name none of ours. Its number stands in
   * bucket keys and must never change.
   */
  static final LimitName OF_CALLER =
      LimitName.builder(2_000_000_002, "rls.override").id(IdFormat.bytes()).build();

  private static final long FEWEST_HITS = 1;

  private final Mapping mapping;
  private final OverridePolicy overrides;
  private final Limits limits;
  private final Map<String, Line> byBucket = new HashMap<>();
  private final Map<String, Line> refunds = new LinkedHashMap<>();
  private final List<Line> all = new ArrayList<>();
  private final List<Found> found = new ArrayList<>();

  private Lines(Mapping mapping, OverridePolicy overrides, Limits limits) {
    this.mapping = mapping;
    this.overrides = overrides;
    this.limits = limits;
  }

  /** How often a descriptor counts, and whether that is given back instead of charged. */
  private record Hits(long number, boolean givenBack) {

    long on(Mapping.Line line) {
      return givenBack ? line.refund(number) : line.cost(number);
    }
  }

  /** The result of one descriptor; its lines may be shared with other descriptors. */
  record Found(boolean matched, boolean unlimited, List<Line> lines) {}

  static Lines of(
      RateLimitRequest request, Mapping mapping, OverridePolicy overrides, Limits limits) {
    Lines lines = new Lines(mapping, overrides, limits);
    List<Mapped> mapped = new ArrayList<>(request.getDescriptorsCount());
    for (RateLimitDescriptor descriptor : request.getDescriptorsList()) {
      mapped.add(lines.mapped(request.getDomain(), descriptor));
    }
    Map<String, Integer> replacing = replacing(mapped);
    long hits = Math.max(FEWEST_HITS, Integer.toUnsignedLong(request.getHitsAddend()));
    for (int i = 0; i < mapped.size(); i++) {
      lines.add(request, i, hits, withoutReplaced(mapped.get(i), replacing));
    }
    return lines;
  }

  private Mapped mapped(String domain, RateLimitDescriptor descriptor) {
    try {
      return mapping.map(domain, descriptor.getEntriesList(), limits);
    } catch (InvalidIdException e) {
      boolean isText = RequestMessages.isText(descriptor);
      return new Denied(
          isText ? String.valueOf(e.getMessage()) : RequestMessages.NOT_TEXT, List.of());
    } catch (UnknownLimitException e) {
      return new Denied(String.valueOf(e.getMessage()), List.of());
    }
  }

  /** How many descriptors replace a limit. */
  private static Map<String, Integer> replacing(List<Mapped> all) {
    Map<String, Integer> replacing = Map.of();
    for (Mapped one : all) {
      for (String limit : one.replaces()) {
        replacing = replacing.isEmpty() ? new HashMap<>() : replacing;
        replacing.merge(limit, 1, Integer::sum);
      }
    }
    return replacing;
  }

  /** Without the limits that other descriptors replace. */
  private static Mapped withoutReplaced(Mapped mapped, Map<String, Integer> replacing) {
    if (replacing.isEmpty() || !(mapped instanceof Limited limited)) {
      return mapped;
    }
    List<Mapping.Line> rest = new ArrayList<>(limited.lines().size());
    for (Mapping.Line line : limited.lines()) {
      String limit = line.transaction().name().name();
      long own = limited.replaces().stream().filter(limit::equals).count();
      if (replacing.getOrDefault(limit, 0) == own) {
        rest.add(line);
      }
    }
    return new Limited(rest, limited.replaces());
  }

  /** In the order of the descriptors. */
  List<Found> found() {
    return found;
  }

  /** What is charged, each bucket once. */
  List<Line> all() {
    return all;
  }

  /** What is given back, each bucket once. */
  List<Line> refunds() {
    return List.copyOf(refunds.values());
  }

  private void add(RateLimitRequest request, int index, long hitsOfRequest, Mapped mapped) {
    RateLimitDescriptor descriptor = request.getDescriptors(index);
    Hits hits =
        new Hits(
            descriptor.hasHitsAddend() ? number(descriptor.getHitsAddend()) : hitsOfRequest,
            descriptor.getIsNegativeHits());
    if (mapped instanceof Denied denied) {
      found.add(closed(denied.why()));
      return;
    }
    boolean mayBring = overrides == OverridePolicy.ALLOW && !isPenalized(mapped);
    if (descriptor.hasLimit() && mayBring) {
      found.add(overridden(request, index, hits, mapped));
    } else if (mapped instanceof Limited limited) {
      found.add(limited(limited, hits));
    } else {
      found.add(new Found(!(mapped instanceof Unmatched), mapped instanceof Unlimited, List.of()));
    }
  }

  /**
   * A rule that denies, which no limit of the caller's opens, or a limit that has no default. So is
   * a value that makes no id, or a brought limit whose unit does not exist. A client may cause
   * these, and they must not fail the whole request: a proxy lets requests pass whose question
   * fails, past all the other limits too.
   */
  private Found closed(String why) {
    Line closed = new Line(OF_CALLER, RateLimitOverride.getDefaultInstance(), why);
    all.add(closed);
    return new Found(true, false, List.of(closed));
  }

  /** A client that brings a limit of its own must not pass a penalty by it. */
  private boolean isPenalized(Mapped mapped) {
    return limits.hasPenalties()
        && mapped instanceof Limited limited
        && limited.lines().stream()
            .map(Mapping.Line::transaction)
            .anyMatch(one -> limits.penaltyFor(one.name(), one.id()) != null);
  }

  /** Unsigned: what is beyond a signed number fits no bucket anyway. */
  private static long number(UInt64Value value) {
    return value.getValue() < 0 ? Long.MAX_VALUE : value.getValue();
  }

  private Found limited(Limited limited, Hits hits) {
    return limited.lines().size() == 1
        ? limited(limited.lines().get(0), hits)
        : together(limited, hits);
  }

  private Found limited(Mapping.Line meant, Hits hits) {
    Transaction transaction = meant.transaction();
    return new Found(
        true,
        transaction.coverage() == Coverage.UNLIMITED,
        transaction.quota() == null ? List.of() : List.of(merged(meant, hits)));
  }

  /** Where limits of one rule meet on a bucket, the highest cost counts. */
  private Found together(Limited limited, Hits hits) {
    Map<String, Mapping.Line> highest = new LinkedHashMap<>();
    boolean unlimited = !limited.lines().isEmpty();
    for (Mapping.Line meant : limited.lines()) {
      unlimited &= meant.transaction().coverage() == Coverage.UNLIMITED;
      if (meant.transaction().quota() != null) {
        highest.merge(
            meant.transaction().bucketKey(),
            meant,
            (one, two) -> hits.on(two) > hits.on(one) ? two : one);
      }
    }
    List<Line> lines = new ArrayList<>(highest.size());
    highest.values().forEach(meant -> lines.add(merged(meant, hits)));
    return new Found(true, unlimited, lines);
  }

  /**
   * The caller's limit takes the place of the rule's first one, and is not in shadow. Whatever else
   * the rule says holds: its cost, its excess, and its other limits.
   */
  private Found overridden(RateLimitRequest request, int index, Hits hits, Mapped mapped) {
    RateLimitDescriptor descriptor = request.getDescriptors(index);
    if (!CurrentLimit.hasUnit(descriptor.getLimit())) {
      return closed(
          "descriptors[%s].limit.unit: found %s, expected SECOND, MINUTE, HOUR, DAY, MONTH or YEAR"
              .formatted(index, descriptor.getLimit().getUnitValue()));
    }
    Quota quota = CurrentLimit.quota(descriptor.getLimit());
    List<Mapping.Line> ours = mapped instanceof Limited limited ? limited.lines() : List.of();
    if (ours.isEmpty() && !RequestMessages.isText(descriptor)) {
      return closed(RequestMessages.NOT_TEXT);
    }
    LimitName limit = ours.isEmpty() ? OF_CALLER : ours.get(0).transaction().name();
    if (quota == null) {
      List<Mapping.Line> others = ours.isEmpty() ? ours : ours.subList(1, ours.size());
      return closed(new Line(limit, descriptor.getLimit(), null), others, hits);
    }
    String id =
        ours.isEmpty() ? id(request.getDomain(), descriptor) : ours.get(0).transaction().id();
    Transaction brought = Transaction.of(limit, quota, id);
    if (ours.isEmpty()) {
      return limited(Mapping.Line.of(brought), hits);
    }
    List<Mapping.Line> lines = new ArrayList<>(ours.size());
    lines.add(ours.get(0).with(brought));
    for (Mapping.Line line : ours.subList(1, ours.size())) {
      boolean meets = line.transaction().bucketKey().equals(brought.bucketKey());
      lines.add(meets ? line.with(brought) : line);
    }
    return limited(new Limited(lines, mapped.replaces()), hits);
  }

  /** A limit of zero, and the others of its rule, which may charge though the request is denied. */
  private Found closed(Line closed, List<Mapping.Line> others, Hits hits) {
    all.add(closed);
    List<Line> lines = new ArrayList<>(List.of(closed));
    lines.addAll(together(new Limited(others, List.of()), hits).lines());
    return new Found(true, false, lines);
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

  /** Descriptors that meet on a bucket take from it what both cost, each by its own policy. */
  private Line merged(Mapping.Line meant, Hits hits) {
    String bucket = meant.transaction().bucketKey();
    if (hits.givenBack()) {
      Line refund = refunds.computeIfAbsent(bucket, key -> new Line(meant));
      refund.add(hits.on(meant), Excess.REJECT);
      return refund;
    }
    Line line = byBucket.get(bucket);
    if (line == null) {
      line = new Line(meant);
      byBucket.put(bucket, line);
      all.add(line);
    }
    line.add(hits.on(meant), meant.excess());
    return line;
  }

  /** One bucket and what it is asked for. */
  static final class Line {
    private final @Nullable Transaction transaction;
    private final LimitName limit;
    private final @Nullable RateLimitOverride closed;
    private final @Nullable String closedWhy;
    private long cost;
    private long drained;
    private long owed;

    private Line(Mapping.Line meant) {
      this.transaction = meant.transaction();
      this.limit = transaction.name();
      this.closed = null;
      this.closedWhy = null;
    }

    /**
     * A limit of zero, which a caller may bring, or none: a rule that denies, an id or a brought
     * limit that cannot be used. It lets nothing pass and has no bucket.
     */
    private Line(LimitName limit, RateLimitOverride closed, @Nullable String closedWhy) {
      this.transaction = null;
      this.limit = limit;
      this.closed = closed;
      this.closedWhy = closedWhy;
    }

    private void add(long more, Excess excess) {
      cost = sum(cost, more);
      drained = excess == Excess.DRAIN ? sum(drained, more) : drained;
      owed = excess == Excess.DEBT ? sum(owed, more) : owed;
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
    long remaining(Decision refunded) {
      Quota quota = Objects.requireNonNull(quota());
      long owable = mayOwe() ? CurrentLimit.inDebt(quota).burst() - quota.burst() : 0;
      return Math.max(0, refunded.remaining() - owable);
    }

    private boolean mayOwe() {
      return limit.deepestDebt() > 0;
    }

    private Transaction inDebt() {
      Transaction held = Objects.requireNonNull(transaction);
      Transaction deep = Transaction.of(limit, CurrentLimit.inDebt(quotaOf(held)), held.id());
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
  }
}
