// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.yaml.internal.Node;
import dev.sluice.yaml.internal.Problems;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The names that are allowed in a file.
 *
 * @param catalogue the names
 * @param broken names whose declaration has a mistake, so that their uses are not reported as
 *     unknown
 * @param complete false if a file that can declare names could not be read
 */
record KnownNames(Catalogue catalogue, Set<String> broken, boolean complete) {

  /**
   * Returns the limit with a name; null if the name is unknown. Reports an unknown name, unless
   * another mistake, such as a broken declaration, can be the cause.
   *
   * @param isDefault whether the entry is a default, which can declare the name
   */
  @Nullable LimitName find(Node.Scalar key, boolean isDefault, Problems problems) {
    LimitName name = catalogue.find(key.text());
    if (name != null) {
      problems.recognized();
    } else if (complete && !broken.contains(key.text())) {
      LimitName replacing = replacing(key.text());
      if (replacing != null) {
        problems.mistake(
            key,
            "found the name %s, but %s has its number %s and replaces this sample limit; write %2$s here, or, if %2$s is new, give it another number"
                .formatted(SafeText.quote(key.text()), replacing, replacing.number()));
        return null;
      }
      List<String> known =
          Stream.concat(catalogue.names().stream().map(LimitName::name), Sections.ALL.stream())
              .toList();
      String suggestion = problems.suggestion(key, known);
      problems.unknownKey(
          key,
          "found the name %s, expected one that is known"
              + (isDefault || suggestion.isEmpty() ? declaration(key.text(), isDefault) : ""),
          known,
          suggestion);
    }
    return name;
  }

  /** Returns the limit that has the number of a sample, and so replaces it among the samples. */
  private @Nullable LimitName replacing(String name) {
    LimitName sample = Catalogue.samples().find(name);
    Integer number = sample == null ? null : sample.number();
    boolean samples = Catalogue.samples().names().stream().anyMatch(catalogue.names()::contains);
    return number == null || !samples ? null : catalogue.find(number);
  }

  /** Returns a hint for a message: the line that would declare a name. */
  static String declaration(String name, boolean isDefault) {
    LimitName sample = Catalogue.samples().find(name);
    boolean isOfAddresses = name.contains("IP") || name.contains("Ip");
    String guess = isOfAddresses ? "ipAddress" : "string";
    return " (the line \"id: %s\" %s would declare it)"
        .formatted(
            sample == null ? guess : sample.id().name(), isDefault ? "here" : "in its default");
  }
}
