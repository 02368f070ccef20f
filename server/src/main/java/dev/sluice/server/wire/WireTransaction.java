package dev.sluice.server.wire;

import dev.sluice.Transaction;
import dev.sluice.limit.IdTexts;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Suggestion;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A transaction as JSON writes it; nothing in it has been looked up yet. Immutable.
 *
 * @param limit the limit's name, null where it is missing
 * @param id what is limited, null where it is missing
 * @param cost tokens, null for one
 * @param kind one of {@link #KINDS}, null for the first
 */
public record WireTransaction(
    @Nullable String limit, @Nullable String id, @Nullable Long cost, @Nullable String kind) {

  /** The kinds that a request may ask for, the default first. */
  static final List<String> KINDS = List.of("checkAndSpend", "checkOnly", "spendOnly");

  /**
   * Looks the transaction up; throws a {@link WireException} or an {@link InvalidRequestException}.
   *
   * @param path where the transaction stands in the request: empty, or {@code transactions[2].}
   */
  Transaction toTransaction(Limits limits, String path) {
    if (limit == null) {
      throw new WireException(path + "limit", "found no limit, expected the name of one");
    }
    if (id == null) {
      throw new WireException(path + "id", "found no id, expected what is to be limited, a string");
    }
    Transaction transaction = Transaction.of(limits, limit, id).withCost(cost == null ? 1 : cost);
    if (kind == null) {
      return transaction;
    }
    return switch (kind) {
      case "checkAndSpend" -> transaction;
      case "checkOnly" -> transaction.checkOnly();
      case "spendOnly" -> transaction.spendOnly();
      default ->
          throw new WireException(
              path + "kind",
              "found %s, expected one of %s%s"
                  .formatted(
                      IdTexts.quote(kind),
                      String.join(", ", KINDS),
                      Suggestion.didYouMean(kind, KINDS)));
    };
  }
}
