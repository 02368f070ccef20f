// SPDX-License-Identifier: Apache-2.0
package dev.sluice.wire;

import dev.sluice.Limiter;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.Transaction;
import dev.sluice.internal.text.SafeText;
import dev.sluice.internal.text.Suggestion;
import dev.sluice.limit.Limits;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A parsed JSON request: one transaction or a batch. The request keeps the mistakes found in the
 * JSON. {@link #toTransactions} and {@link #toResets} throw an exception with these mistakes and
 * with any further mistakes. Not thread-safe.
 */
public final class WireRequest {

  private static final String BATCH_SPEND = "batchSpend";
  private static final Map<String, Act> ACTS = acts();

  /** The largest number of transactions in a batch. */
  public static final int MOST_TRANSACTIONS = 1000;

  private final @Nullable Long at;
  private final @Nullable String op;
  private final WireTransaction single;
  private final boolean upTo;
  private final @Nullable List<@Nullable WireTransaction> batch;
  private final Mistakes mistakes;

  WireRequest(
      @Nullable Long at,
      @Nullable String op,
      WireTransaction single,
      boolean upTo,
      @Nullable List<@Nullable WireTransaction> batch,
      Mistakes mistakes) {
    this.at = at;
    this.op = op;
    this.single = single;
    this.upTo = upTo;
    this.batch = batch;
    this.mistakes = mistakes;
  }

  /**
   * Makes a request with a single transaction, without parsing JSON.
   *
   * @param transaction the transaction
   * @return a request for which {@link #isBatch} returns false
   */
  public static WireRequest of(WireTransaction transaction) {
    return new WireRequest(null, null, transaction, false, null, new Mistakes());
  }

  /**
   * Makes a request to spend as many tokens as are available, up to the cost of a transaction,
   * without parsing JSON.
   *
   * @param transaction the transaction
   * @return the request
   */
  public static WireRequest ofUpTo(WireTransaction transaction) {
    return new WireRequest(null, null, transaction, true, null, new Mistakes());
  }

  /**
   * Makes a request with a batch, without parsing JSON.
   *
   * @param transactions the transactions of the batch, in order
   * @return a request for which {@link #isBatch} returns true
   */
  public static WireRequest ofBatch(List<WireTransaction> transactions) {
    WireTransaction none = new WireTransaction(null, null, null, null);
    return new WireRequest(null, null, none, false, List.copyOf(transactions), new Mistakes());
  }

  /**
   * Returns the time at which the request was recorded.
   *
   * @return the nanoseconds since 1970-01-01; null if the request is not part of a trace
   */
  public @Nullable Long at() {
    return at;
  }

  /**
   * Returns the operation.
   *
   * @return the field {@code op} of the request; null if the request has none
   */
  public @Nullable String op() {
    return op;
  }

  /**
   * Returns the operation that {@link #op} names. Adds a mistake if the operation is missing or
   * unknown, or is {@code batchSpend} without transactions.
   *
   * @return the operation; {@link Act#SPEND} for {@code batchSpend} and after a mistake
   */
  public Act act() {
    Act act = op == null ? null : ACTS.get(op);
    if (act == null) {
      add(
          "op",
          "%s, expected one of %s%s"
              .formatted(
                  op == null ? "the op is missing" : "found " + SafeText.quote(op),
                  String.join(", ", ACTS.keySet()),
                  op == null ? "" : Suggestion.didYouMean(op, List.copyOf(ACTS.keySet()))));
      return Act.SPEND;
    }
    if (BATCH_SPEND.equals(op) && !isBatch()) {
      add(
          "transactions",
          "the transactions are missing: the op batchSpend requires a list of transactions");
    }
    return act;
  }

  /**
   * Adds a mistake to the exception that {@link #toTransactions} and {@link #toResets} throw.
   *
   * @param field the path of the wrong field
   * @param message what was found, and what was expected
   */
  public void add(String field, String message) {
    mistakes.add(field, message);
  }

  /**
   * Returns whether the request is a batch, which is admitted or denied as a whole.
   *
   * @return false if the request is a single transaction
   */
  public boolean isBatch() {
    return batch != null;
  }

  /**
   * Returns whether the request is to spend as many tokens as are available, up to its cost.
   *
   * @return true if the request has the field {@code "upTo": true}
   */
  public boolean isUpTo() {
    return upTo;
  }

  /**
   * Returns the largest number of tokens to spend, for a request with {@code "upTo": true}.
   *
   * @return the request's cost in tokens; at least 1 after {@link #toSpendUpTo} returned
   */
  public long most() {
    return single.cost() == null ? 0 : single.cost();
  }

  /**
   * Returns the names of the limits in the request.
   *
   * @return the names, including unknown names; a transaction without a limit adds no name
   */
  public List<String> limits() {
    List<String> names = new ArrayList<>();
    for (WireTransaction one : written()) {
      String limit = one.limit();
      if (limit != null) {
        names.add(limit);
      }
    }
    return names;
  }

  /**
   * Returns the transactions as the client wrote them.
   *
   * @return the transactions; entries that are not JSON objects are left out
   */
  public List<WireTransaction> written() {
    return batch == null ? List.of(single) : batch.stream().flatMap(Stream::ofNullable).toList();
  }

  /**
   * Looks up the transactions of a check, spend or refund. Call this method only once.
   *
   * @param limits the limits in force
   * @param limiter the limiter, which decides whether a limit without a default is a mistake
   * @return the single transaction, or all transactions of the batch in their order
   * @throws WireException with all mistakes in the request
   */
  public List<Transaction> toTransactions(Limits limits, Limiter limiter) {
    requireNotUpTo();
    return lookedUp(single, limits, limiter, false);
  }

  /**
   * Looks up the transaction of a request with {@code "upTo": true}. Call this method only once.
   *
   * @param limits the limits in force
   * @param limiter the limiter, which decides whether a limit without a default is a mistake
   * @return a list with one transaction; ignore its cost and use {@link #most}
   * @throws WireException with all mistakes in the request
   */
  public List<Transaction> toSpendUpTo(Limits limits, Limiter limiter) {
    if (isBatch()) {
      mistakes.add("upTo", "found upTo in a batch, expected upTo with a single transaction only");
    } else if (most() < 1) {
      mistakes.add(
          "cost",
          "%s, expected the largest number of tokens to spend, 1 or more"
              .formatted(single.cost() == null ? "the cost is missing" : "found " + most()));
    }
    WireTransaction withoutCost = new WireTransaction(single.limit(), single.id(), null, null);
    return lookedUp(withoutCost, limits, limiter, false);
  }

  private void requireNotUpTo() {
    if (upTo) {
      mistakes.add("upTo", "found upTo, expected upTo only in a spend");
    }
  }

  /**
   * Looks up the transactions of a reset; rejects a cost or kind. Call this method only once.
   *
   * @param limits the limits in force
   * @param limiter the limiter, which decides whether a limit without a default is a mistake
   * @return the single transaction, or all transactions of the batch in their order
   * @throws WireException with all mistakes in the request
   */
  public List<Transaction> toResets(Limits limits, Limiter limiter) {
    requireNotUpTo();
    return lookedUp(single, limits, limiter, true);
  }

  private List<Transaction> lookedUp(
      WireTransaction one, Limits limits, Limiter limiter, boolean reset) {
    List<Transaction> found = new ArrayList<>();
    if (batch == null) {
      Transaction transaction = lookedUp(one, "", limits, limiter, reset);
      if (transaction != null) {
        found.add(transaction);
      }
    } else {
      lookUpBatch(batch, limits, limiter, reset, found);
    }
    if (!mistakes.none()) {
      throw mistakes.exception();
    }
    return found;
  }

  private void lookUpBatch(
      List<@Nullable WireTransaction> wires,
      Limits limits,
      Limiter limiter,
      boolean reset,
      List<Transaction> found) {
    if (single.limit() != null || single.id() != null || single.cost() != null) {
      mistakes.add(
          "transactions",
          "found a batch and a single transaction in one request, expected either \"transactions\""
              + " or \"limit\", \"id\" and \"cost\"");
    }
    if (wires.isEmpty()) {
      mistakes.add(
          "transactions", "found 0 transactions, expected 1 to %s".formatted(MOST_TRANSACTIONS));
    }
    Map<String, Integer> places = new HashMap<>();
    for (int i = 0; i < wires.size(); i++) {
      String path = "transactions[" + i + "]";
      Transaction transaction = lookedUp(wires.get(i), path + ".", limits, limiter, reset);
      if (transaction == null) {
        continue;
      }
      found.add(transaction);
      boolean touchesBucket = reset || transaction.quota() != null;
      Integer other = touchesBucket ? places.putIfAbsent(transaction.bucketKey(), i) : null;
      if (other != null) {
        mistakes.add(
            path,
            "found the bucket %s again, expected each bucket once in a batch; transactions[%s] has the same bucket"
                .formatted(transaction.bucketKey(), other));
      }
    }
  }

  private @Nullable Transaction lookedUp(
      @Nullable WireTransaction wire, String path, Limits limits, Limiter limiter, boolean reset) {
    if (wire == null) {
      return null;
    }
    if (reset) {
      wire.requireNoCostOrKind(path, mistakes);
    }
    return wire.toTransaction(limits, limiter, path, mistakes);
  }

  private static Map<String, Act> acts() {
    Map<String, Act> acts = new LinkedHashMap<>();
    for (Act act : Act.values()) {
      acts.put(act.name().toLowerCase(Locale.ROOT), act);
    }
    acts.put(BATCH_SPEND, Act.SPEND);
    return Collections.unmodifiableMap(acts);
  }
}
