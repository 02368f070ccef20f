// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import java.util.List;
import java.util.Set;

/**
 * A piece of a YAML file with the place where it starts; line and column count from 1. Immutable
 * for its readers.
 */
public sealed interface Node {

  /**
   * Returns the line where the piece starts.
   *
   * @return from 1
   */
  int line();

  /**
   * Returns the column where the piece starts.
   *
   * @return in characters, from 1
   */
  int column();

  /**
   * A single value. YAML's types are decided by the reader, which knows what is expected, so that
   * {@code no} or {@code 010} are never silently something else.
   *
   * @param line from 1
   * @param column from 1
   * @param text the value without quotes
   * @param plain whether it stands there without quotes
   */
  record Scalar(int line, int column, String text, boolean plain) implements Node {

    private static final Set<String> NULLS = Set.of("", "~", "null", "Null", "NULL");

    /**
     * Returns whether this is YAML's null.
     *
     * @return true for a plain {@code null}, {@code ~} or nothing at all
     */
    public boolean isNull() {
      return plain && NULLS.contains(text);
    }
  }

  /**
   * A list.
   *
   * @param line from 1
   * @param column from 1
   * @param items in order
   */
  record Sequence(int line, int column, List<Node> items) implements Node {}

  /**
   * A map; its keys may repeat.
   *
   * @param line from 1
   * @param column from 1
   * @param entries in order
   */
  record Mapping(int line, int column, List<Entry> entries) implements Node {}

  /**
   * Something that has been reported already, so that nobody complains about it again.
   *
   * @param line from 1
   * @param column from 1
   */
  record Broken(int line, int column) implements Node {}

  /**
   * A key with its value.
   *
   * @param key the key
   * @param value the value
   */
  record Entry(Scalar key, Node value) {}
}
