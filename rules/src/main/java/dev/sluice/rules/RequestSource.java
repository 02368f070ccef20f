// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import dev.sluice.rules.Template.Source;
import dev.sluice.text.Suggestion;
import dev.sluice.web.PathPattern;
import dev.sluice.web.VaryBy;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * A value of a request. Immutable and thread-safe.
 *
 * @param word its placeholder, without braces
 * @param ignoresCase whether the rule has paths in lower case
 */
record RequestSource(String word, boolean ignoresCase, VaryBy varyBy)
    implements Source<RequestRule.Context> {

  /**
   * Reads a placeholder of a rule.
   *
   * @param paths the rule's, which must all have the variable that it names
   */
  static RequestSource parse(String word, List<PathPattern> paths, boolean ignoresCase) {
    VaryBy varyBy = RequestKey.parse(word);
    String variable = varyBy.pathVariable();
    for (PathPattern path : paths) {
      if (variable != null && !path.variables().contains(variable)) {
        throw new IllegalArgumentException(
            "found {%s}, but the path %s has no variable of that name%s"
                .formatted(word, path, Suggestion.didYouMean(variable, path.variables())));
      }
    }
    return new RequestSource(word, ignoresCase, varyBy);
  }

  @Override
  public @Nullable String value(RequestRule.Context context) {
    return varyBy.value(context.facts(), context.variables());
  }

  @Override
  public @Nullable String nearest(String value) {
    int bar = word.indexOf('|');
    String source = bar < 0 ? word : word.substring(0, bar);
    if (bar >= 0 && value.equals(word.substring(bar + 1))) {
      return value;
    }
    if (source.equals("ip") || source.startsWith("ip/")) {
      int bits = source.equals("ip") ? 0 : Integer.parseInt(source.substring("ip/".length()));
      return GroupedAddress.lowest(value) == null ? null : GroupedAddress.of(value, bits);
    }
    return switch (source.startsWith("path:") ? "path:" : source) {
      case "host" -> value.toLowerCase(Locale.ROOT);
      case "method" -> value.toUpperCase(Locale.ROOT);
      case "path" -> ofPath(value.startsWith("/") ? value : "/" + value);
      case "path:" -> ofPath(value);
      default -> value;
    };
  }

  private String ofPath(String value) {
    return ignoresCase ? PathPattern.folded(value) : value;
  }
}
