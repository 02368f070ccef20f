// SPDX-License-Identifier: Apache-2.0
package dev.sluice.wire;

import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.UnknownLimitException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Collects what is wrong with a request, one mistake for each field. Keeps the first {@link #MOST}
 * and counts the others, so that a bad request does not get an answer larger than itself. For one
 * thread.
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
   * Reads a value, and adds what is wrong with it.
   *
   * @param <T> the value's type
   * @param value throws for a value that is wrong
   * @param otherwise what is returned then
   * @return the value
   */
  public <T> T read(Supplier<T> value, T otherwise) {
    try {
      return value.get();
    } catch (WireException e) {
      addAll(e);
      return otherwise;
    }
  }

  /** Adds the mistakes that were thrown, also those that were only counted. */
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

  /** A field that could not be read is also a missing one: only the first of the two is true. */
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
   * Returns the exception that has all of them.
   *
   * @return the exception; there must be at least one mistake
   */
  public WireException exception() {
    return new WireException(first, count, onlyUnknownLimits);
  }

  /**
   * One thing that is wrong with a request. Immutable.
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

    /** As one line for people. */
    @Override
    public String toString() {
      return field == null ? message : field + ": " + message;
    }
  }
}
