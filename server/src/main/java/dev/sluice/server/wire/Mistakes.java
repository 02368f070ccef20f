// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.wire;

import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.UnknownLimitException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Collects what is wrong with a request, one mistake for each field. Keeps the first {@link #MOST}
 * and counts the others, so that a bad request does not get an answer larger than itself. For one
 * thread.
 */
final class Mistakes {

  static final int MOST = 20;

  private final List<Mistake> first = new ArrayList<>();
  private final Set<String> fields = new HashSet<>();
  private int count;
  private boolean onlyUnknownLimits = true;

  boolean none() {
    return count == 0;
  }

  void add(@Nullable String field, String message) {
    add(new Mistake(field, message));
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

  WireException exception() {
    return new WireException(first, count, onlyUnknownLimits);
  }
}
