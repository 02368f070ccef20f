// SPDX-License-Identifier: Apache-2.0
package dev.sluice.wire;

import dev.sluice.internal.text.Suggestion;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.wire.Mistakes.Mistake;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Thrown for a request with mistakes. Lists the mistakes of the request. Nothing was charged. */
public final class WireException extends IllegalArgumentException {

  private static final long serialVersionUID = 1;

  private final transient List<Mistake> mistakes;
  private final int count;
  private final boolean unknownLimit;

  /**
   * Creates an exception with at least one mistake; {@code count} includes mistakes that the list
   * leaves out.
   */
  WireException(List<Mistake> mistakes, int count, boolean unknownLimit) {
    super(mistakes.get(0).message());
    this.mistakes = List.copyOf(mistakes);
    this.count = count;
    this.unknownLimit = unknownLimit;
  }

  /**
   * Makes an exception for a single mistake.
   *
   * @param field the path of the wrong field; null if the mistake is not in a single field
   * @param message what was found, and what was expected
   */
  public WireException(@Nullable String field, String message) {
    this(List.of(new Mistake(field, message)), 1, false);
  }

  /**
   * Converts the limiter's rejection to a mistake in the request.
   *
   * @param refused the exception that the limiter threw
   * @param path the place of the transaction in the request: empty, or {@code transactions[2].}
   * @return the exception, with the path of the field
   */
  public static WireException of(InvalidRequestException refused, String path) {
    Mistakes one = new Mistakes();
    one.addRefused(refused, path);
    return one.exception();
  }

  /**
   * Returns the mistakes in the order in which they were found, at most {@value Mistakes#MOST}.
   *
   * @return the mistakes, at least one
   */
  public List<Mistake> mistakes() {
    return mistakes;
  }

  /**
   * Returns the number of mistakes, including those that {@link #mistakes} leaves out.
   *
   * @return the number of all mistakes, at least 1
   */
  public int count() {
    return count;
  }

  /**
   * Returns the field of the first mistake.
   *
   * @return the field's path, such as {@code transactions[2].cost}; null if the text is not a JSON
   *     object
   */
  public @Nullable String field() {
    return mistakes.get(0).field();
  }

  /**
   * Returns a copy whose messages suggest no names of limits.
   *
   * @return the copy, for a client that must not see the names of other limits
   */
  public WireException withoutSuggestions() {
    List<Mistake> plain =
        mistakes.stream()
            .map(
                one ->
                    new Mistake(
                        one.field(), Suggestion.removedFrom(one.message()), one.unknownLimit()))
            .toList();
    return new WireException(plain, count, unknownLimit);
  }

  /**
   * Returns whether all mistakes in the request are names of limits that do not exist.
   *
   * @return false if at least one mistake is not the name of an unknown limit
   */
  public boolean unknownLimit() {
    return unknownLimit;
  }
}
