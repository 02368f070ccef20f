// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import dev.sluice.limit.IdFormat;
import dev.sluice.rules.RequestRule.Context;
import dev.sluice.rules.RequestRule.RequestSource;
import dev.sluice.web.RequestFacts;
import dev.sluice.web.RequestWord;
import dev.sluice.web.VaryBy;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * An id template with placeholders for values of a request, such as {@code {ip}}, for a program
 * without a rule book. Immutable and thread-safe; never blocks.
 */
public final class RequestTemplate {

  private final Template<Context> template;

  private RequestTemplate(Template<Context> template) {
    this.template = template;
  }

  /**
   * Parses a template.
   *
   * @param text the template, such as {@code {ip}}; all placeholders of rule books are allowed
   * @param format the format of the limit's ids
   * @param others defines further placeholders: maps the text between braces to the source of a
   *     value; returns null for a placeholder of rule books
   * @return the parsed template
   * @throws IllegalArgumentException if the text does not fit the format of the ids, or has an
   *     unknown placeholder
   */
  public static RequestTemplate parse(
      String text, IdFormat format, Function<String, @Nullable VaryBy> others) {
    return new RequestTemplate(Template.parse(text, format, word -> source(word, others)));
  }

  private static Template.Source<Context> source(
      String word, Function<String, @Nullable VaryBy> others) {
    VaryBy other = others.apply(word);
    VaryBy varyBy = other == null ? RequestWord.parse(word) : other;
    if (varyBy.pathVariable() != null) {
      throw new IllegalArgumentException(
          "found {%s}, but only rule books have paths with variables; use a rule book"
              .formatted(word));
    }
    return new RequestSource(word, false, varyBy, false);
  }

  /**
   * Returns the ids of a request: one id for each way in which the application can interpret the
   * request's values.
   *
   * @param facts the request
   * @return the parts of each id; empty if the request has no value for a placeholder
   * @throws dev.sluice.web.UnusableRequestException if the request has too many interpretations
   */
  public List<List<String>> ids(RequestFacts facts) {
    return facts
        .inEachReading(
            reading -> Optional.ofNullable(template.parts(new Context(reading, Map.of()))))
        .stream()
        .flatMap(Optional::stream)
        .toList();
  }
}
