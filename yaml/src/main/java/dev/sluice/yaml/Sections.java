// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/*
 * A file may have any of the sections, whichever option names it. What stands outside of sections
 * is left to the reader of the kind of file that it was named as: limits at the top of a file of
 * defaults, the list that a file of overrides is, and mistakes.
 */
/** The content of one limit file, by its sections. Immutable. */
final class Sections {

  static final String NAMES = "names";
  static final String LIMITS = "limits";
  static final String OVERRIDES = "overrides";
  static final String RULES = "rules";

  /** The sections; the last three belong to the rules. No limit may have such a name. */
  static final List<String> ALL =
      List.of(NAMES, LIMITS, OVERRIDES, RULES, "rulesOnly", "ignoreCase", "methodOverride");

  private final @Nullable Node root;
  private final Map<String, Node.Entry> byKey = new HashMap<>();
  private final List<Node.Entry> others = new ArrayList<>();

  private Sections(@Nullable Node root) {
    this.root = root;
  }

  /** A file that is not split. */
  static Sections none(@Nullable Node root) {
    return new Sections(root);
  }

  /** Splits a file; a section that stands there twice is reported. */
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

  /** The entry of a section, null where there is none. */
  Node.@Nullable Entry find(String key) {
    return byKey.get(key);
  }

  /** The first entry of the sections with these keys, null where there is none. */
  Node.@Nullable Entry first(Collection<String> keys) {
    return keys.stream().filter(byKey::containsKey).findFirst().map(byKey::get).orElse(null);
  }

  /** What stands outside of sections; null where nothing does. */
  @Nullable Node rest() {
    if (!(root instanceof Node.Mapping map)) {
      return root;
    }
    boolean isSections = others.isEmpty() && !byKey.isEmpty();
    return isSections ? null : new Node.Mapping(map.line(), map.column(), others);
  }

  /**
   * The sections with these keys as one map.
   *
   * @param withRest with what stands outside of sections, which may not be a map
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
