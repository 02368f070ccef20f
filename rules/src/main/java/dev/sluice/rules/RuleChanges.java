// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import dev.sluice.internal.text.SafeText;
import dev.sluice.yaml.internal.Node;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The differences between two rule books, as lines of text. A rule that moved to another line is
 * reported only if its order with another rule changed. Stateless.
 */
final class RuleChanges {

  /** The largest number of rules per book for which all pairs of rules are compared. */
  private static final int MOST_COMPARED = 1000;

  private RuleChanges() {}

  /** Matches a text that YAML reads as another value than a text if it has no quotes. */
  private static final Pattern OTHER_VALUE =
      Pattern.compile("|~|(?i:null|true|false)|[-+]?[.0-9].*", Pattern.DOTALL);

  /**
   * A rule without comments and layout.
   *
   * @param text the fields and quotes as written
   * @param meaning the same for two rules that differ only in quotes or in the order of fields
   */
  private record Written(int line, String text, String meaning) {}

  /**
   * Compares two books.
   *
   * @param before the content of the earlier file; null if there was no file
   * @param after the content of the later file; null if there is no file
   */
  static List<String> between(@Nullable Node before, @Nullable Node after) {
    List<String> lines = new ArrayList<>();
    for (String field : RuleBookFile.SECTIONS) {
      if (!field.equals(RuleBookFile.RULES)) {
        Node old = find(before, field);
        Node now = find(after, field);
        if (!text(old, true).equals(text(now, true))) {
          lines.add("%s %s → %s".formatted(field, text(old, false), text(now, false)));
        }
      }
    }
    compare(rules(before), rules(after), lines);
    return lines;
  }

  private static List<Written> rules(@Nullable Node root) {
    return find(root, RuleBookFile.RULES) instanceof Node.Sequence list
        ? list.items().stream()
            .map(item -> new Written(item.line(), text(item, false), text(item, true)))
            .toList()
        : List.of();
  }

  private static @Nullable Node find(@Nullable Node root, String field) {
    return root instanceof Node.Mapping map
        ? map.entries().stream()
            .filter(entry -> entry.key().text().equals(field))
            .map(Node.Entry::value)
            .findFirst()
            .orElse(null)
        : null;
  }

  /** Adds a line for each rule that is not part of a longest common subsequence. */
  private static void compare(List<Written> before, List<Written> after, List<String> lines) {
    int start = 0;
    int oldEnd = before.size();
    int newEnd = after.size();
    while (start < Math.min(oldEnd, newEnd) && same(before.get(start), after.get(start))) {
      start++;
    }
    while (Math.min(oldEnd, newEnd) > start
        && same(before.get(oldEnd - 1), after.get(newEnd - 1))) {
      oldEnd--;
      newEnd--;
    }
    List<Written> old = before.subList(start, oldEnd);
    List<Written> now = after.subList(start, newEnd);
    if (Math.max(old.size(), now.size()) > MOST_COMPARED) {
      lines.add("%s rules → %s rules, most of them changed".formatted(before.size(), after.size()));
      return;
    }
    int[][] common = common(old, now);
    int i = 0;
    int j = 0;
    while (i < old.size() || j < now.size()) {
      if (i < old.size() && j < now.size() && same(old.get(i), now.get(j))) {
        i++;
        j++;
      } else if (j == now.size() || (i < old.size() && common[i + 1][j] >= common[i][j + 1])) {
        Written gone = old.get(i++);
        lines.add("removed, was on line %s: %s".formatted(gone.line, gone.text));
      } else {
        Written added = now.get(j++);
        lines.add("added on line %s: %s".formatted(added.line, added.text));
      }
    }
  }

  private static boolean same(Written one, Written other) {
    return one.meaning.equals(other.meaning);
  }

  /**
   * Returns, for all i and j, the length of the longest common subsequence of the old rules from
   * index i on and the new rules from index j on.
   */
  private static int[][] common(List<Written> old, List<Written> now) {
    int[][] common = new int[old.size() + 1][now.size() + 1];
    for (int i = old.size() - 1; i >= 0; i--) {
      for (int j = now.size() - 1; j >= 0; j--) {
        common[i][j] =
            same(old.get(i), now.get(j))
                ? common[i + 1][j + 1] + 1
                : Math.max(common[i + 1][j], common[i][j + 1]);
      }
    }
    return common;
  }

  /**
   * Returns a node in the flow style of YAML.
   *
   * @param isMeaning whether to sort fields, and to leave out quotes that change no value
   */
  private static String text(@Nullable Node node, boolean isMeaning) {
    if (node instanceof Node.Scalar scalar) {
      boolean isPlain =
          scalar.plain() && (!isMeaning || OTHER_VALUE.matcher(scalar.text()).matches());
      return isPlain ? SafeText.printable(scalar.text()) : SafeText.quote(scalar.text());
    }
    if (node instanceof Node.Sequence list) {
      return list.items().stream()
          .map(item -> text(item, isMeaning))
          .collect(Collectors.joining(", ", "[", "]"));
    }
    if (node instanceof Node.Mapping map) {
      Stream<String> fields =
          map.entries().stream()
              .map(entry -> text(entry.key(), isMeaning) + ": " + text(entry.value(), isMeaning));
      return (isMeaning ? fields.sorted() : fields).collect(Collectors.joining(", ", "{", "}"));
    }
    return "none";
  }
}
