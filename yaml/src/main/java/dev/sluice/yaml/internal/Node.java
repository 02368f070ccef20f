// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml.internal;

import java.util.List;
import java.util.Set;

/**
 * A node of a YAML file, with the line and column where the node starts, both from 1. Callers must
 * not change a node.
 */
public sealed interface Node {

  /**
   * Returns the line where the node starts.
   *
   * @return the line, from 1
   */
  int line();

  /**
   * Returns the column where the node starts.
   *
   * @return the column in characters, from 1
   */
  int column();

  /**
   * A single value without a YAML type. The reader that uses the value decides whether the value is
   * a text, a number or a boolean. Therefore, a text such as {@code no} or {@code 010} never
   * becomes another value.
   *
   * @param line the line, from 1
   * @param column the column, from 1
   * @param text the value without quotes
   * @param plain whether the value is written without quotes
   */
  record Scalar(int line, int column, String text, boolean plain) implements Node {

    private static final Set<String> NULLS = Set.of("", "~", "null", "Null", "NULL");

    /**
     * Returns whether the value is YAML's null.
     *
     * @return whether the value is a plain {@code null}, a plain {@code ~} or empty
     */
    public boolean isNull() {
      return plain && NULLS.contains(text);
    }
  }

  /**
   * A list.
   *
   * @param line the line, from 1
   * @param column the column, from 1
   * @param items the items in order
   */
  record Sequence(int line, int column, List<Node> items) implements Node {}

  /**
   * A map. A key can occur more than once.
   *
   * @param line the line, from 1
   * @param column the column, from 1
   * @param entries the entries in order
   */
  record Mapping(int line, int column, List<Entry> entries) implements Node {}

  /**
   * Replaces a node whose mistake was already reported, so that no reader reports it again.
   *
   * @param line the line, from 1
   * @param column the column, from 1
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
