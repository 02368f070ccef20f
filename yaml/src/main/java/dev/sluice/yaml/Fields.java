package dev.sluice.yaml;

import dev.sluice.text.Suggestion;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A map with known fields: reports those that are unknown, twice there or missing. Not thread-safe.
 */
final class Fields {

  private final Map<String, Node.Entry> byName = new HashMap<>();
  private final Node owner;
  private final Problems problems;

  private Fields(Node owner, Problems problems) {
    this.owner = owner;
    this.problems = problems;
  }

  /**
   * The fields of a map.
   *
   * @param owner where a missing field is reported
   */
  static Fields of(Node.Mapping map, Node owner, List<String> known, Problems problems) {
    Fields fields = new Fields(owner, problems);
    for (Node.Entry entry : map.entries()) {
      String name = entry.key().text();
      if (!known.contains(name)) {
        problems.mistake(
            entry.key(),
            "found the field %s, expected one of %s%s"
                .formatted(
                    Problems.showKey(entry.key()),
                    String.join(", ", known),
                    Suggestion.didYouMean(name, known)));
        continue;
      }
      Node.Entry first = fields.byName.putIfAbsent(name, entry);
      if (first != null) {
        problems.mistake(
            entry.key(),
            "found the field %s again, expected it once; it is on line %s too"
                .formatted(name, first.key().line()));
      }
    }
    return fields;
  }

  Node owner() {
    return owner;
  }

  @Nullable Node find(String name) {
    Node.Entry entry = byName.get(name);
    return entry == null ? null : entry.value();
  }

  /** Where to report what is wrong with a field. */
  Node at(String name) {
    Node value = find(name);
    return value == null ? owner : value;
  }

  /** The value of a field that must be there, null after its absence has been reported. */
  @Nullable Node require(String name) {
    Node value = find(name);
    if (value == null) {
      problems.mistake(owner, "found no field " + name + ", expected one");
    }
    return value;
  }
}
