package dev.sluice.server.wire;

import dev.sluice.Transaction;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.Limits;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A request as JSON writes it: one transaction, or a batch of them. Immutable.
 *
 * @param at when it was recorded, in nanoseconds since the epoch; null outside of traces
 * @param op what is to be done; null outside of traces
 * @param single the transaction that the request itself is, all of whose parts are missing in a
 *     batch
 * @param transactions the batch, null for a single transaction
 */
public record WireRequest(
    @Nullable Long at,
    @Nullable String op,
    WireTransaction single,
    @Nullable List<WireTransaction> transactions) {

  /** The most transactions of a batch. */
  public static final int MOST_TRANSACTIONS = 1000;

  /**
   * Whether several transactions are to be decided as one.
   *
   * @return false for a single transaction
   */
  public boolean isBatch() {
    return transactions != null;
  }

  /**
   * Looks the transactions up.
   *
   * @param limits the limits that hold now
   * @return one transaction, or those of the batch in their order
   * @throws WireException for whatever is wrong, with the path of the field
   */
  public List<Transaction> toTransactions(Limits limits) {
    if (transactions == null) {
      return List.of(lookedUp(single, limits, ""));
    }
    if (single.limit() != null || single.id() != null || single.cost() != null) {
      throw new WireException(
          "transactions",
          "found a batch and a single transaction in one request, expected either \"transactions\""
              + " or \"limit\", \"id\" and \"cost\"");
    }
    if (transactions.isEmpty() || transactions.size() > MOST_TRANSACTIONS) {
      throw new WireException(
          "transactions",
          "found %s transactions, expected 1 to %s"
              .formatted(transactions.size(), MOST_TRANSACTIONS));
    }
    List<Transaction> found = new ArrayList<>(transactions.size());
    for (int i = 0; i < transactions.size(); i++) {
      found.add(lookedUp(transactions.get(i), limits, "transactions[" + i + "]."));
    }
    return found;
  }

  private static Transaction lookedUp(WireTransaction wire, Limits limits, String path) {
    try {
      return wire.toTransaction(limits, path);
    } catch (InvalidRequestException e) {
      throw WireException.of(e, path);
    }
  }
}
