// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.limit.Limits;
import dev.sluice.yaml.CompanionFile;
import dev.sluice.yaml.Node;
import dev.sluice.yaml.Problems;
import dev.sluice.yaml.Values;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.OptionSpec;

/**
 * A reader of one configuration file: a map from options to their values. It keeps the good values
 * of a file with mistakes, so that all mistakes can be told at once. Not thread-safe.
 */
final class SettingsFile implements CompanionFile<SettingsFile.Content> {

  /**
   * One value of the file.
   *
   * @param texts as they would stand on the command line
   * @param place {@code file:line:column}
   */
  record Value(List<String> texts, String place) {}

  /**
   * The content of a file.
   *
   * @param values by the options' keys
   */
  record Content(Map<String, Value> values) {}

  private final Map<String, OptionSpec> options;
  private final Map<String, Value> values = new LinkedHashMap<>();

  SettingsFile(Map<String, OptionSpec> options) {
    this.options = options;
  }

  /** The good values, by the options' keys. */
  Map<String, Value> values() {
    return Map.copyOf(values);
  }

  @Override
  public Class<Content> type() {
    return Content.class;
  }

  @Override
  public String expected() {
    return "a map from options to values, such as http: 127.0.0.1:8080; write {} for none";
  }

  @Override
  public @Nullable Content read(
      Node root, String file, Limits limits, boolean known, Problems problems) {
    Node.Mapping map = Values.map(root, expected(), problems);
    if (map == null) {
      return null;
    }
    problems.recognize(map, options.keySet());
    for (Node.Entry entry : map.entries()) {
      Node.Scalar key = entry.key();
      OptionSpec option = options.get(key.text());
      if (option == null) {
        tellUnknown(key, problems);
        continue;
      }
      String place = "%s:%s:%s".formatted(file, key.line(), key.column());
      List<String> texts = texts(option, entry.value(), problems);
      if (texts.isEmpty() && !option.isMultiValue()) {
        continue; // told already
      }
      Value first = values.putIfAbsent(key.text(), new Value(texts, place));
      if (first != null) {
        problems.mistake(key, "found %s twice, first at %s".formatted(key.text(), first.place()));
      }
    }
    return problems.mistaken() ? null : new Content(Map.copyOf(values));
  }

  private void tellUnknown(Node.Scalar key, Problems problems) {
    String name = key.text();
    String ofVariable = Settings.keyOfVariable(name);
    if (Settings.NOT_IN_FILES.contains(name)) {
      problems.mistake(
          key,
          name.equals("config")
              ? "`config` stands in no file; give --config, or set SLUICE_CONFIG"
              : "`%s` is a flag only".formatted(name));
    } else if (options.containsKey(ofVariable)) {
      problems.mistake(
          key,
          "found %s, the name of an environment variable; write %s here"
              .formatted(name, ofVariable));
    } else {
      problems.unknownKey(key, "unknown option %s", options.keySet());
    }
  }

  private static List<String> texts(OptionSpec option, Node value, Problems problems) {
    if (Settings.isSwitch(option)) {
      Boolean on = Values.bool(value, problems);
      return on == null ? List.of() : List.of(String.valueOf(on));
    }
    List<Node> items =
        option.isMultiValue() && value instanceof Node.Sequence list
            ? list.items()
            : List.of(value);
    List<String> texts = new ArrayList<>();
    for (Node item : items) {
      String text = Values.text(item, expected(option), problems);
      if (text != null) {
        texts.add(text);
      }
    }
    return texts;
  }

  private static String expected(OptionSpec option) {
    return option.isMultiValue()
        ? "a list of %s, or one".formatted(option.paramLabel())
        : "a value: " + option.paramLabel();
  }
}
