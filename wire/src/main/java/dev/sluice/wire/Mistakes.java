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
 * Collects the mistakes in a request, at most one mistake per field. Keeps the first {@link #MOST}
 * mistakes and counts the others, so that the response to a bad request does not become larger than
 * the request. Not thread-safe.
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
   * Returns whether the collection is empty.
   *
   * @return true if no mistake was added
   */
  public boolean none() {
    return count == 0;
  }

  /**
   * Adds a mistake.
   *
   * @param field the path of the wrong field; null if the mistake is not in a single field
   * @param message what was found, and what was expected
   */
  public void add(@Nullable String field, String message) {
    add(new Mistake(field, message));
  }

  /**
   * Reads a value, and adds the mistakes of the exception that the read throws.
   *
   * @param <T> the value's type
   * @param value reads the value; throws {@link WireException} if the value is wrong
   * @param otherwise the result if the value is wrong
   * @return the value; {@code otherwise} if the value is wrong
   */
  public <T> T read(Supplier<T> value, T otherwise) {
    try {
      return value.get();
    } catch (WireException e) {
      addAll(e);
      return otherwise;
    }
  }

  /** Adds the mistakes of an exception, and counts the mistakes that the exception left out. */
  void addAll(WireException thrown) {
    thrown.mistakes().forEach(this::add);
    count += thrown.count() - thrown.mistakes().size();
  }

  /** Adds the limiter's rejection of the transaction at the given path. */
  void addRefused(InvalidRequestException refused, String path) {
    String field = path + refused.field().name().toLowerCase(Locale.ROOT);
    String message = String.valueOf(refused.getMessage());
    add(new Mistake(field, message, refused instanceof UnknownLimitException));
  }

  /**
   * Adds a mistake, unless the field already has a mistake, so that a field that cannot be read is
   * not also reported as missing.
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
   * Returns an exception with all mistakes. Call this method only after a mistake was added.
   *
   * @return the exception, for the caller to throw
   */
  public WireException exception() {
    return new WireException(first, count, onlyUnknownLimits);
  }

  /**
   * A mistake in a request.
   *
   * @param field the path of the wrong field, such as {@code transactions[2].cost}; null if the
   *     text is not a JSON object
   * @param message what was found, and what was expected
   * @param unknownLimit whether the mistake is the name of a limit that does not exist
   */
  public record Mistake(@Nullable String field, String message, boolean unknownLimit) {

    Mistake(@Nullable String field, String message) {
      this(field, message, false);
    }

    /** Returns the mistake as one line of text. */
    @Override
    public String toString() {
      return field == null ? message : field + ": " + message;
    }
  }
}
