// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml.internal;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A map with known fields: reports unknown, duplicate and missing fields. Not thread-safe. */
public final class Fields {

  private final Map<String, Node.Entry> byName = new HashMap<>();
  private final Node owner;
  private final Problems problems;

  private Fields(Node owner, Problems problems) {
    this.owner = owner;
    this.problems = problems;
  }

  /**
   * Returns the fields of a map, and reports unknown and duplicate fields.
   *
   * @param map the map
   * @param owner the node at which a missing field is reported
   * @param known the names of the fields that the map may have
   * @param problems receives the mistakes
   * @return the known fields
   */
  public static Fields of(Node.Mapping map, Node owner, List<String> known, Problems problems) {
    return of(map, owner, known, known, problems);
  }

  /**
   * Returns a map's fields. If the map has enough of the keys {@code recognizing}, the file counts
   * as a Sluice file, so messages can quote it.
   */
  public static Fields of(
      Node.Mapping map,
      Node owner,
      List<String> known,
      List<String> recognizing,
      Problems problems) {
    problems.recognize(map, recognizing);
    Fields fields = new Fields(owner, problems);
    for (Node.Entry entry : map.entries()) {
      String name = entry.key().text();
      if (!known.contains(name)) {
        problems.unknownKey(
            entry.key(),
            "found the field %s, expected one of " + String.join(", ", known),
            map,
            known);
        continue;
      }
      Node.Entry first = fields.byName.putIfAbsent(name, entry);
      if (first != null) {
        problems.mistakeWithoutText(
            entry.key(),
            "found the field %s again, expected it once; it is on line %s too"
                .formatted(name, first.key().line()));
      }
    }
    return fields;
  }

  /**
   * Returns the node at which a missing field is reported.
   *
   * @return the node {@code owner} that was passed to {@link #of}
   */
  public Node owner() {
    return owner;
  }

  /**
   * Returns the value of a field.
   *
   * @param name the field's name
   * @return the field's value, null if the field is absent
   */
  public @Nullable Node find(String name) {
    Node.Entry entry = byName.get(name);
    return entry == null ? null : entry.value();
  }

  /**
   * Returns the node at which to report a mistake in a field.
   *
   * @param name the field's name
   * @return the field's value, or the owner if the field is absent
   */
  public Node at(String name) {
    Node value = find(name);
    return value == null ? owner : value;
  }

  /**
   * Returns the value of a required field, and reports a missing field.
   *
   * @param name the field's name
   * @return the field's value; null if the field is missing
   */
  public @Nullable Node require(String name) {
    Node value = find(name);
    if (value == null) {
      problems.mistakeWithoutText(owner, "the field " + name + " is missing");
    }
    return value;
  }
}
