// SPDX-License-Identifier: Apache-2.0
package dev.sluice.wire;

import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.InvalidRequestException.UnknownLimitException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Collects what is wrong with a request, at most one mistake for each field. Keeps the first {@link
 * #MOST} and counts the others, so that the answer to a bad request does not become larger than the
 * request. Not thread-safe.
 */
public final class Mistakes {

  static final int MOST = 20;

  private final List<Mistake> first = new ArrayList<>();
  private final Set<String> fields = new HashSet<>();
  private int count;
  private boolean onlyUnknownLimits = true;

  /** Makes an empty collection. */
  public Mistakes() {}

  /**
   * Whether nothing is wrong.
   *
   * @return true until something is added
   */
  public boolean none() {
    return count == 0;
  }

  /**
   * Adds a mistake.
   *
   * @param field the path of the wrong field, null if it is not one field
   * @param message what was found, and what was expected
   */
  public void add(@Nullable String field, String message) {
    add(new Mistake(field, message));
  }

  /**
   * Reads a value, and adds the mistakes that the read throws.
   *
   * @param <T> the value's type
   * @param value reads the value; throws {@link WireException} if it is wrong
   * @param otherwise the result if the value is wrong
   * @return the value, or {@code otherwise}
   */
  public <T> T read(Supplier<T> value, T otherwise) {
    try {
      return value.get();
    } catch (WireException e) {
      addAll(e);
      return otherwise;
    }
  }

  /** Adds the mistakes of an exception; also counts those that the exception left out. */
  void addAll(WireException thrown) {
    thrown.mistakes().forEach(this::add);
    count += thrown.count() - thrown.mistakes().size();
  }

  /** Adds the limiter's refusal of the transaction at the given path. */
  void addRefused(InvalidRequestException refused, String path) {
    String field = path + refused.field().name().toLowerCase(Locale.ROOT);
    String message = String.valueOf(refused.getMessage());
    add(new Mistake(field, message, refused instanceof UnknownLimitException));
  }

  /**
   * Adds a mistake, unless the field already has one: a field that could not be read would
   * otherwise be reported as missing too.
   */
  private void add(Mistake mistake) {
    if (mistake.field() != null && !fields.add(mistake.field())) {
      return;
    }
    count++;
    onlyUnknownLimits &= mistake.unknownLimit();
    if (first.size() < MOST) {
      first.add(mistake);
    }
  }

  /**
   * Returns the exception with all mistakes, of which there must be at least one.
   *
   * @return the exception, which the caller throws
   */
  public WireException exception() {
    return new WireException(first, count, onlyUnknownLimits);
  }

  /**
   * A mistake in a request.
   *
   * @param field the path of the wrong field, {@code transactions[2].cost}; null if the text is not
   *     a JSON object
   * @param message what was found, and what was expected
   * @param unknownLimit whether the mistake is the name of a limit that does not exist
   */
  public record Mistake(@Nullable String field, String message, boolean unknownLimit) {

    Mistake(@Nullable String field, String message) {
      this(field, message, false);
    }

    /** Returns one line for people. */
    @Override
    public String toString() {
      return field == null ? message : field + ": " + message;
    }
  }
}
