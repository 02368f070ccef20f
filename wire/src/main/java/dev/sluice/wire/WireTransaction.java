// SPDX-License-Identifier: Apache-2.0
package dev.sluice.wire;

import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.internal.text.SafeText;
import dev.sluice.internal.text.Suggestion;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.InvalidRequestException.UnknownLimitException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A parsed JSON transaction, before its limit is looked up.
 *
 * @param limit the limit's name; null if missing
 * @param id the id to limit; null if missing
 * @param cost the cost in tokens; null for the default of 1
 * @param kind one of {@link #KINDS}; null for {@code checkAndSpend}
 */
public record WireTransaction(
    @Nullable String limit, @Nullable String id, @Nullable Long cost, @Nullable String kind) {

  /** The kinds of a transaction; the first is the default. */
  static final List<String> KINDS = List.of("checkAndSpend", "checkOnly", "spendOnly");

  /**
   * Looks up the limit, and makes a transaction.
   *
   * @param limiter rejects a limit without a default
   * @param path the path of the transaction in the request: empty, or {@code transactions[2].}
   * @param mistakes receives the mistakes in this transaction
   * @return the transaction; null after a mistake
   */
  @Nullable Transaction toTransaction(
      Limits limits, Limiter limiter, String path, Mistakes mistakes) {
    LimitName name = name(limiter, path, mistakes);
    if (id == null) {
      mistakes.add(
          path + "id", "the id is missing, expected a string that names the limited client");
    }
    if (kind != null && !KINDS.contains(kind)) {
      mistakes.add(
          path + "kind",
          "found %s, expected one of %s%s"
              .formatted(
                  SafeText.quote(kind),
                  String.join(", ", KINDS),
                  Suggestion.didYouMean(kind, KINDS)));
    }
    if (name == null || limit == null || id == null) {
      if (name != null) {
        requireNoNegativeCost(path, mistakes);
      }
      return null;
    }
    try {
      Transaction transaction = Transaction.of(limits, limit, id);
      limiter.requireDefault(transaction);
      return ofKind(transaction.withCost(cost == null ? 1 : cost));
    } catch (InvalidRequestException e) {
      mistakes.addRefused(e, path);
      requireNoNegativeCost(path, mistakes);
      return null;
    }
  }

  /**
   * Requires that the cost is not negative. A cost above the default's burst is allowed here, since
   * an override can have a larger burst.
   */
  private void requireNoNegativeCost(String path, Mistakes mistakes) {
    if (cost != null && cost < 0) {
      mistakes.add(path + "cost", "invalid cost, must be >= 0: found " + cost);
    }
  }

  private @Nullable LimitName name(Limiter limiter, String path, Mistakes mistakes) {
    if (limit == null) {
      mistakes.add(path + "limit", "the name of the limit is missing");
      return null;
    }
    try {
      return limiter.limit(limit).name(); // finds an unknown limit even if the id is missing
    } catch (UnknownLimitException e) {
      mistakes.addRefused(e, path);
      return null;
    }
  }

  private Transaction ofKind(Transaction transaction) {
    return kind == null || kind.equals("checkAndSpend")
        ? transaction
        : kind.equals("checkOnly") ? transaction.checkOnly() : transaction.spendOnly();
  }

  /** Requires that a reset has no cost and no kind, since a reset deletes the whole bucket. */
  void requireNoCostOrKind(String path, Mistakes mistakes) {
    if (cost != null) {
      mistakes.add(path + "cost", "found a cost, expected none: a reset deletes the whole bucket");
    }
    if (kind != null) {
      mistakes.add(path + "kind", "found a kind, expected none: a reset deletes the whole bucket");
    }
  }
}
