// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules.convert;

import dev.sluice.gcra.Quota;
import dev.sluice.yaml.Node;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A descriptor of the configuration, with those below it. Immutable.
 *
 * @param node where it stands
 * @param key the key of the entry
 * @param value the value, {@code prefix*} for all that begin so; null for any
 * @param rate what it limits; null if it only leads to others
 * @param shadow whether its limit is in shadow
 * @param shared whether all values that it matches share a count
 * @param below the descriptors of the next entry
 */
record Branch(
    Node node,
    String key,
    @Nullable String value,
    @Nullable Rate rate,
    boolean shadow,
    boolean shared,
    List<Branch> below) {

  /**
   * A limit as it is written.
   *
   * @param name the name that the author gave it, empty for none
   * @param named where that name stands, null for none
   * @param quota null for unlimited
   * @param isNothing whether nothing may pass (0 requests)
   * @param replaces the names of rates that other descriptors are not charged then
   */
  record Rate(
      String name,
      @Nullable Node named,
      @Nullable Quota quota,
      boolean isNothing,
      List<String> replaces) {}

  private static final String STAR = "*";

  /** The order in which the reference looks: the value itself, patterns, any value. */
  int rank() {
    return value == null ? 2 : value.endsWith(STAR) ? 1 : 0;
  }

  boolean isExact() {
    return rank() == 0;
  }

  /** Whether the values of an entry make a difference to what is counted. */
  boolean varies() {
    return !isExact() && !shared;
  }

  /** Whether it or a branch below it has a limit, or says that there is none. */
  boolean decides() {
    return rate != null || below.stream().anyMatch(Branch::decides);
  }

  /** Whether each entry that is for the other one is for this one too. */
  boolean covers(Branch other) {
    if (!key.equals(other.key)) {
      return false;
    }
    if (value == null) {
      return true;
    }
    if (other.value == null) {
      return false;
    }
    String prefix = value.substring(0, value.length() - (isExact() ? 0 : 1));
    return isExact() ? value.equals(other.value) : other.value.startsWith(prefix);
  }
}
