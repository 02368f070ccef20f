// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.EndTime;
import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.yaml.internal.Fields;
import dev.sluice.yaml.internal.Node;
import dev.sluice.yaml.internal.OverrideDoubts;
import dev.sluice.yaml.internal.Problems;
import dev.sluice.yaml.internal.Quotas;
import dev.sluice.yaml.internal.Values;
import java.time.Instant;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Reads a list of maps with one key, name → {burst, count, period, ids}. Not thread-safe. */
final class OverridesReader {

  private static final List<String> FIELDS =
      List.of("burst", "count", "period", Quotas.LIST, "ids");
  private static final List<String> ID_FIELDS = List.of("id", "comment", "author", "until");
  private static final String EXPECTED = "a list of name → {burst, count, period, ids}";

  private final KnownNames names;
  private final Strictness strictness;
  private final @Nullable DefaultsReader defaults;
  private final Problems problems;
  private final Map<LimitOverride, Integer> overrides = new LinkedHashMap<>();
  private final Map<LimitName, Map<String, Integer>> lines = new HashMap<>();
  private final Set<LimitName> warned = new HashSet<>();

  /**
   * Makes a reader.
   *
   * @param defaults the defaults with which overrides are compared; null if the defaults are
   *     unknown
   */
  OverridesReader(
      KnownNames names,
      Strictness strictness,
      @Nullable DefaultsReader defaults,
      Problems problems) {
    this.names = names;
    this.strictness = strictness;
    this.defaults = defaults;
    this.problems = problems;
  }

  /** Returns the overrides without a mistake, each with its line in the file. */
  Map<LimitOverride, Integer> read(Node root) {
    boolean isNothing = root instanceof Node.Scalar value && value.isNull();
    String hint =
        isNothing
            ? "; write [] for none"
            : root instanceof Node.Mapping ? "; is it a file of defaults?" : "";
    Node.Sequence list = Values.list(root, EXPECTED + hint, problems);
    if (list != null) {
      list.items().forEach(this::entry);
    }
    return overrides;
  }

  private void entry(Node item) {
    if (item instanceof Node.Broken) {
      return;
    }
    if (!(item instanceof Node.Mapping map) || map.entries().isEmpty()) {
      problems.wrongKind(item, "name → {burst, count, period, ids}");
      return;
    }
    if (looksUnindented(map)) {
      problems.mistakeWithoutText(
          map.entries().get(1).key(),
          "the field %s is not part of the override; indent it further than the name above it"
              .formatted(map.entries().get(1).key().text()));
      return;
    }
    if (map.entries().size() > 1) {
      problems.mistakeWithoutText(
          map.entries().get(1).key(),
          "found %s names in one entry, expected one: begin each entry with \"- \""
              .formatted(map.entries().size()));
    }
    map.entries().forEach(this::override);
  }

  private static boolean looksUnindented(Node.Mapping map) {
    return map.entries().size() > 1
        && map.entries().get(0).value() instanceof Node.Scalar scalar
        && scalar.isNull()
        && FIELDS.contains(map.entries().get(1).key().text());
  }

  private void override(Node.Entry entry) {
    LimitName name = names.find(entry.key(), false, problems);
    Node.Mapping map = Values.map(entry.value(), "{burst, count, period, ids}", problems);
    if (map == null) {
      return;
    }
    if (isUnlimited(map)) {
      return;
    }
    Fields fields = Fields.of(map, entry.key(), FIELDS, problems);
    List<Quota> quotas = Quotas.readAll(fields, problems);
    if (name != null && quotas != null) {
      compareWithDefault(entry.key(), name, quotas);
    }
    Node ids = fields.require("ids");
    if (ids instanceof Node.Sequence list && !list.items().isEmpty()) {
      list.items().forEach(id -> id(id, name, quotas));
    } else if (ids instanceof Node.Sequence) {
      problems.mistakeWithoutText(ids, "found an empty list, expected at least one id");
    } else if (ids != null && !(ids instanceof Node.Broken)) {
      problems.wrongKind(ids, "a list of ids");
    }
  }

  /** Reports {@code unlimited} in an override, since metrics would not count the id's requests. */
  private boolean isUnlimited(Node.Mapping map) {
    for (Node.Entry field : map.entries()) {
      if (field.key().text().equals("unlimited")) {
        problems.mistakeWithoutText(
            field.key(),
            "found unlimited in an override, expected burst, count and period: write a burst and a"
                + " count that requests for these ids never reach");
        return true;
      }
    }
    return false;
  }

  private void compareWithDefault(Node key, LimitName name, List<Quota> quotas) {
    if (defaults == null || name.overridesOnly()) {
      return;
    }
    List<Quota> other = defaults.quotas().get(name);
    if (quotas.equals(other)) {
      problems.warning(key, OverrideDoubts.equalsDefault(name));
    } else if (other == null && !defaults.unlimited().contains(name) && warned.add(name)) {
      problems.warning(key, OverrideDoubts.noDefault(name));
    }
  }

  /** Reads one item of the list of ids: an id, or {id, comment, author, until}. */
  private void id(Node item, @Nullable LimitName name, @Nullable List<Quota> quotas) {
    Node idNode = item;
    boolean ended = false;
    String comment = "";
    String author = "";
    Instant until = null;
    if (item instanceof Node.Mapping map) {
      if (looksUnquoted(map)) {
        problems.mistake(
            item,
            "found %s, which YAML reads as a map because it ends with \":\"; put the id in quotes"
                .formatted(SafeText.quote(map.entries().get(0).key().text() + ":")));
        return;
      }
      Fields fields = Fields.of(map, item, ID_FIELDS, problems);
      idNode = fields.require("id");
      comment = note(fields.find("comment"));
      author = note(fields.find("author"));
      Node end = fields.find("until");
      until = until(end);
      if (end != null && until != null && !until.isAfter(Instant.now())) {
        problems.warning(end, "the override has ended and is not in force; remove the override");
        ended = true;
      }
    }
    String text = Values.text(idNode, "an id, or {id, comment}", problems);
    if (text == null || idNode == null || name == null) {
      return;
    }
    try {
      String canonical = name.overrideId().canonical(text, strictness);
      if (isFirst(canonical, idNode, name) && quotas != null) {
        if (!ended) {
          overrides.put(
              new LimitOverride(name, canonical, quotas, comment, author, until), idNode.line());
        }
      }
      String doubt = name.overrideId().doubt(canonical);
      if (doubt != null) {
        problems.warning(idNode, doubt);
      }
      String range = OverrideDoubts.ofWritten(text, name);
      if (range != null) {
        problems.warning(idNode, range);
      }
    } catch (InvalidIdException e) {
      problems.mistake(idNode, String.valueOf(e.getMessage()));
    }
  }

  private static boolean looksUnquoted(Node.Mapping map) {
    return map.entries().size() == 1
        && !ID_FIELDS.contains(map.entries().get(0).key().text())
        && map.entries().get(0).value() instanceof Node.Scalar scalar
        && scalar.isNull();
  }

  private @Nullable Instant until(@Nullable Node node) {
    String text = Values.text(node, "a date such as 2027-03-01", problems);
    if (text == null || node == null) {
      return null;
    }
    try {
      return EndTime.parse(text);
    } catch (IllegalArgumentException e) {
      problems.mistake(node, String.valueOf(e.getMessage()));
      return null;
    }
  }

  private String note(@Nullable Node node) {
    if (node == null || (node instanceof Node.Scalar scalar && scalar.isNull())) {
      return "";
    }
    if (node instanceof Node.Scalar scalar) {
      return scalar.text();
    }
    if (!(node instanceof Node.Broken)) {
      problems.wrong(node, "a text");
    }
    return "";
  }

  private boolean isFirst(String canonical, Node node, LimitName name) {
    Integer first =
        lines.computeIfAbsent(name, n -> new HashMap<>()).putIfAbsent(canonical, node.line());
    if (first != null) {
      problems.mistake(
          node,
          "found %s again for %s, expected each id once; it is on line %s too"
              .formatted(SafeText.quote(canonical), name, first));
    }
    return first == null;
  }
}
