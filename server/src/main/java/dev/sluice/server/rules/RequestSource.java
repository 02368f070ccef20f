// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rules;

import dev.sluice.server.rules.Template.Source;
import dev.sluice.text.Suggestion;
import dev.sluice.web.PathPattern;
import dev.sluice.web.VaryBy;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A value of a request. Immutable and thread-safe. */
record RequestSource(VaryBy varyBy) implements Source<RequestRule.Context> {

  /**
   * Reads a placeholder of a rule.
   *
   * @param paths the rule's, which must all have the variable that it names
   */
  static RequestSource parse(String word, List<PathPattern> paths) {
    VaryBy varyBy = RequestKey.parse(word);
    String variable = varyBy.pathVariable();
    for (PathPattern path : paths) {
      if (variable != null && !path.variables().contains(variable)) {
        throw new IllegalArgumentException(
            "found {%s}, but the path %s has no variable of that name%s"
                .formatted(word, path, Suggestion.didYouMean(variable, path.variables())));
      }
    }
    return new RequestSource(varyBy);
  }

  @Override
  public @Nullable String value(RequestRule.Context context) {
    return varyBy.value(context.facts(), context.variables());
  }
}
