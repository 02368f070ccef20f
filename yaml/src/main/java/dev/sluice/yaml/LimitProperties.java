// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.Limits;
import dev.sluice.yaml.internal.Node;
import dev.sluice.yaml.internal.Problems;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Reads limits from the properties of an application instead of files. The properties are a tree of
 * maps, lists and single values, with the same format as limit files. Each reported mistake names
 * its property, such as {@code sluice.limits.LoginsPerIPAddress.burst}. Never blocks.
 */
public final class LimitProperties {

  private static final String LIMITS = "limits";
  private static final String OVERRIDES = "overrides";

  /** The name of a property with the id of an override. */
  private static final Pattern ID = Pattern.compile(".*\\.ids\\[[0-9]+](\\.id)?");

  private final String prefix;
  private final List<String> places = new ArrayList<>();
  private final Problems problems = new Problems("", line -> places.get(line - 1));

  private LimitProperties(String prefix) {
    this.prefix = prefix;
  }

  /**
   * Reads limits.
   *
   * @param prefix the name of the property that contains names, limits and overrides, such as
   *     {@code sluice}
   * @param names a list of names, as in a names file; null if there are no names
   * @param limits a map from name to {burst, count, period}, as in a file of defaults; null if
   *     there are no defaults
   * @param overrides a list of overrides, as in a file of overrides; null if there are no overrides
   * @param warnings receives each warning, with the property's name
   * @return the loaded limits
   * @throws LimitPropertiesException if a property has a mistake; the exception lists all mistakes
   */
  public static Limits load(
      String prefix,
      @Nullable Object names,
      @Nullable Object limits,
      @Nullable Object overrides,
      Consumer<String> warnings) {
    return new LimitProperties(prefix).read(names, limits, overrides, warnings);
  }

  private Limits read(
      @Nullable Object names,
      @Nullable Object limits,
      @Nullable Object overrides,
      Consumer<String> warnings) {
    problems.recognized(); // messages are allowed to quote the application's own properties
    NamesReader declared =
        new NamesReader(
            Catalogue.of(),
            names == null ? Catalogue.samples() : Catalogue.of(),
            IdFormat.Registry.builtIn());
    if (names != null) {
      declared.section(node(names, prefix + "." + Sections.NAMES), problems);
    }
    Node defaults = limits == null ? null : node(limits, prefix + "." + LIMITS);
    if (defaults != null) {
      declared.defaults(defaults, problems);
      refuseFieldsOfServers(defaults);
    }
    KnownNames known = declared.known(true);
    Limits.Builder built = Limits.builder(known.catalogue());
    DefaultsReader quotas = new DefaultsReader(known, problems);
    if (defaults != null) {
      quotas.read(defaults);
      quotas.addTo(built);
    }
    if (overrides != null) {
      new OverridesReader(known, Strictness.LENIENT, problems.mistaken() ? null : quotas, problems)
          .read(node(overrides, prefix + "." + OVERRIDES))
          .keySet()
          .forEach(built::override);
    }
    List<Problem> found = problems.found().stream().sorted().toList();
    if (problems.mistaken()) {
      throw new LimitPropertiesException(
          found.stream()
              .filter(one -> one.severity() == Severity.MISTAKE)
              .map(this::text)
              .toList());
    }
    found.stream().map(this::text).forEach(warnings);
    return built.build();
  }

  private void refuseFieldsOfServers(Node defaults) {
    if (defaults instanceof Node.Mapping limits) {
      limits.entries().stream()
          .flatMap(
              one ->
                  one.value() instanceof Node.Mapping map ? map.entries().stream() : Stream.empty())
          .filter(field -> DefaultsReader.OF_SERVERS.contains(field.key().text()))
          .forEach(
              field ->
                  problems.mistakeWithoutText(
                      field.key(),
                      "only a Sluice server has reservations that expire; remove this property"));
    }
  }

  /** Formats a problem, whose line is the number of the property with the problem, from 1. */
  private String text(Problem problem) {
    return places.get(problem.line() - 1) + ": " + problem.message();
  }

  /** Converts a value; refuses an id that YAML can have changed to a number or a boolean. */
  private Node node(Object value, String place) {
    places.add(place);
    int line = places.size();
    if (value instanceof Map<?, ?> map) {
      return isList(map)
          ? sequence(line, new ArrayList<>(map.values()), place)
          : mapping(line, map, place);
    }
    if (value instanceof List<?> list) {
      return sequence(line, list, place);
    }
    Node.Scalar scalar = new Node.Scalar(line, 1, String.valueOf(value), true);
    if ((value instanceof Number || value instanceof Boolean) && ID.matcher(place).matches()) {
      problems.mistake(
          scalar,
          "found %s, expected a text in quotes, because YAML reads an unquoted 0123 as 83, and on as true"
              .formatted(value));
      return new Node.Broken(line, 1);
    }
    return scalar;
  }

  /** Whether a map is a list: in properties, each item of a list has its index as key. */
  private static boolean isList(Map<?, ?> map) {
    int index = 0;
    for (Object key : map.keySet()) {
      if (!String.valueOf(key).equals(Integer.toString(index++))) {
        return false;
      }
    }
    return index > 0;
  }

  private Node sequence(int line, List<?> items, String place) {
    List<Node> nodes = new ArrayList<>(items.size());
    for (int i = 0; i < items.size(); i++) {
      nodes.add(node(items.get(i), place + "[" + i + "]"));
    }
    return new Node.Sequence(line, 1, nodes);
  }

  private Node mapping(int line, Map<?, ?> map, String place) {
    List<Node.Entry> entries = new ArrayList<>(map.size());
    map.forEach(
        (key, value) -> {
          String name = String.valueOf(key);
          String below = place + "." + name;
          Node read = node(value, below);
          entries.add(new Node.Entry(new Node.Scalar(read.line(), 1, name, true), read));
        });
    return new Node.Mapping(line, 1, entries);
  }
}
