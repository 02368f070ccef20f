// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import dev.sluice.yaml.internal.Node;
import dev.sluice.yaml.internal.Problems;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/*
 * Every section is allowed in every limit file, no matter which option names the file. The option
 * decides only how content outside of sections is read: as limits in a file of defaults, or as the
 * list of overrides in a file of overrides. In any other file, content outside of sections is a
 * mistake.
 */
/** The sections of one limit file. Immutable. */
final class Sections {

  static final String NAMES = "names";
  static final String LIMITS = "limits";
  static final String OVERRIDES = "overrides";
  static final String RULES = "rules";

  /** The keys of all sections; the last four belong to rule books. */
  static final List<String> ALL =
      List.of(NAMES, LIMITS, OVERRIDES, RULES, "rulesOnly", "ignoreCase", "methodOverride");

  private final @Nullable Node root;
  private final Map<String, Node.Entry> byKey = new HashMap<>();
  private final List<Node.Entry> others = new ArrayList<>();

  private Sections(@Nullable Node root) {
    this.root = root;
  }

  /** Returns the content of a file that is not split into sections. */
  static Sections none(@Nullable Node root) {
    return new Sections(root);
  }

  /** Splits a file into sections. Reports a section that occurs twice. */
  static Sections of(@Nullable Node root, Problems problems) {
    Sections sections = new Sections(root);
    if (root instanceof Node.Mapping map) {
      problems.recognize(map, ALL);
      map.entries().forEach(entry -> sections.add(entry, problems));
    }
    return sections;
  }

  private void add(Node.Entry entry, Problems problems) {
    String key = entry.key().text();
    if (!ALL.contains(key)) {
      others.add(entry);
      return;
    }
    if ((key.equals(LIMITS) || key.equals(OVERRIDES)) && !(entry.value() instanceof Node.Scalar)) {
      problems.recognized();
    }
    Node.Entry first = byKey.putIfAbsent(key, entry);
    if (first != null) {
      problems.mistakeWithoutText(
          entry.key(),
          "found the section %s again, expected it once; it is on line %s too"
              .formatted(key, first.key().line()));
    }
  }

  /** Returns the entry of a section; null if the file does not have the section. */
  Node.@Nullable Entry find(String key) {
    return byKey.get(key);
  }

  /** Returns the entry of the first given section that the file has; null if there is none. */
  Node.@Nullable Entry first(Collection<String> keys) {
    return keys.stream().filter(byKey::containsKey).findFirst().map(byKey::get).orElse(null);
  }

  /** Returns the content outside of sections; null if all content is inside sections. */
  @Nullable Node rest() {
    if (!(root instanceof Node.Mapping map)) {
      return root;
    }
    boolean isSections = others.isEmpty() && !byKey.isEmpty();
    return isSections ? null : new Node.Mapping(map.line(), map.column(), others);
  }

  /**
   * Returns the sections with the given keys as one map.
   *
   * @param withRest whether to include the content outside of sections, even if it is not a map
   */
  @Nullable Node only(Collection<String> keys, boolean withRest) {
    if (!(root instanceof Node.Mapping map)) {
      return withRest ? root : null;
    }
    Stream<Node.Entry> asked = keys.stream().filter(byKey::containsKey).map(byKey::get);
    return new Node.Mapping(
        map.line(),
        map.column(),
        Stream.concat(asked, withRest ? others.stream() : Stream.of()).toList());
  }
}
