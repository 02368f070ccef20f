package dev.sluice.yaml;

import java.util.List;
import java.util.Set;

/** A piece of a YAML file with the place where it starts; line and column count from 1. */
sealed interface Node {

  int line();

  int column();

  /**
   * A single value. YAML's types are decided by whoever knows what is expected, so that {@code no}
   * or {@code 010} are never silently something else.
   */
  record Scalar(int line, int column, String text, boolean plain) implements Node {

    private static final Set<String> NULLS = Set.of("", "~", "null", "Null", "NULL");

    boolean isNull() {
      return plain && NULLS.contains(text);
    }
  }

  /** A list. */
  record Sequence(int line, int column, List<Node> items) implements Node {}

  /** A map; its keys may repeat. */
  record Mapping(int line, int column, List<Entry> entries) implements Node {}

  /** Something that has been reported already, so that nobody complains about it again. */
  record Broken(int line, int column) implements Node {}

  /** A key with its value. */
  record Entry(Scalar key, Node value) {}
}
