// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IdFormat.Strictness;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/*
 * A template is a text with {placeholders}. Two different lists of values must never make the same
 * id. Otherwise one client could spend from another client's bucket. So:
 *
 * - if the id's format has several parts, each part has its own template; the format joins the
 *   parts and escapes their separators;
 * - otherwise, two placeholders in one text must have a ":" between them, and ":" and "%" inside
 *   their values are written as %3A and %25. The value of a single placeholder stays unchanged.
 */
/**
 * Makes an id from the values of a descriptor or a request.
 *
 * @param <C> the type of the source of the values
 */
final class Template<C> {

  /**
   * A placeholder that takes a value from a context.
   *
   * @param <C> the type from which the value is taken
   */
  interface Source<C> {

    /** Returns the placeholder's value; null if the template's limit is to be skipped. */
    @Nullable String value(C context);

    /** Throws an exception if an id of this placeholder alone cannot have the format. */
    default void requireFits(IdFormat format) {}

    /** Returns a source whose value is adapted to the format of an id or of a part of an id. */
    default Source<C> in(IdFormat format) {
      return this;
    }

    /** Whether the placeholder skips the limit for IPv4 clients that the rule matches. */
    default boolean skipsIpv4() {
      return false;
    }

    /** Returns a value as the placeholder writes it in ids, such as a range; null if unusable. */
    default @Nullable String nearest(String value) {
      return value;
    }
  }

  private static final List<String> EMPTY = List.of("");

  private record Piece<C>(String text, @Nullable Source<C> source) {

    Piece<C> in(IdFormat format) {
      return source == null ? this : new Piece<>(text, source.in(format));
    }
  }

  private final String text;
  private final List<List<Piece<C>>> parts;
  private final List<Pattern> forms;
  private final boolean ofEverybody;

  private Template(String text, List<List<Piece<C>>> parts, boolean ofEverybody) {
    this.text = text;
    this.parts = parts;
    this.forms = parts.stream().map(Template::form).toList();
    this.ofEverybody = ofEverybody;
  }

  /** Returns a copy that replaces an empty value with the id {@link JoinedIds#EVERYBODY}. */
  Template<C> ofEverybody() {
    return new Template<>(text, parts, true);
  }

  /**
   * Parses a template for ids of a format.
   *
   * @param placeholders parses the text between braces
   * @throws IllegalArgumentException if the text does not fit the format, or the text has a syntax
   *     error
   */
  static <C> Template<C> parse(
      String text, IdFormat format, Function<String, Source<C>> placeholders) {
    int wanted = format.parts().size();
    List<List<Piece<C>>> parts = split(pieces(text, placeholders), wanted);
    if (parts.size() != wanted) {
      throw new IllegalArgumentException(
          "found %s part(s) in the id %s, expected %s, joined with \":\": %s"
              .formatted(parts.size(), SafeText.quote(text), wanted, format.name()));
    }
    for (int i = 0; i < wanted; i++) {
      IdFormat part = format.parts().get(i);
      requireUnambiguous(text, parts.get(i));
      parts.get(i).replaceAll(piece -> piece.in(part));
      requireFits(parts.get(i), part);
    }
    return new Template<>(text, parts, false);
  }

  private static <C> List<Piece<C>> pieces(String text, Function<String, Source<C>> placeholders) {
    List<Piece<C>> pieces = new ArrayList<>();
    int start = 0;
    while (start < text.length()) {
      int open = text.indexOf('{', start);
      int end = open < 0 ? text.length() : open;
      int stray = text.indexOf('}', start);
      if (stray >= 0 && stray < end) {
        throw new IllegalArgumentException(
            "found a \"}\" without its \"{\" in %s".formatted(SafeText.quote(text)));
      }
      if (end > start) {
        pieces.add(new Piece<>(text.substring(start, end), null));
      }
      if (open < 0) {
        return pieces;
      }
      int close = text.indexOf('}', open);
      if (close < 0) {
        throw new IllegalArgumentException(
            "found a \"{\" without its \"}\" in %s".formatted(SafeText.quote(text)));
      }
      String word = text.substring(open + 1, close);
      pieces.add(new Piece<>(text.substring(open, close + 1), placeholders.apply(word)));
      start = close + 1;
    }
    return pieces;
  }

  /** Splits a template at the first colons outside of braces, into at most {@code most} parts. */
  private static <C> List<List<Piece<C>>> split(List<Piece<C>> pieces, int most) {
    List<List<Piece<C>>> parts = new ArrayList<>();
    List<Piece<C>> part = new ArrayList<>();
    for (Piece<C> piece : pieces) {
      String rest = piece.text();
      int colon = piece.source() == null ? rest.indexOf(':') : -1;
      while (colon >= 0 && parts.size() < most - 1) {
        if (colon > 0) {
          part.add(new Piece<>(rest.substring(0, colon), null));
        }
        parts.add(part);
        part = new ArrayList<>();
        rest = rest.substring(colon + 1);
        colon = rest.indexOf(':');
      }
      if (!rest.isEmpty()) {
        part.add(piece.source() == null ? new Piece<>(rest, null) : piece);
      }
    }
    parts.add(part);
    return parts;
  }

  private static <C> void requireUnambiguous(String text, List<Piece<C>> part) {
    boolean separated = true;
    for (Piece<C> piece : part) {
      if (piece.source() == null) {
        separated |= piece.text().indexOf(':') >= 0;
      } else if (!separated) {
        throw new IllegalArgumentException(
            "found no \":\" between two placeholders in %s, expected one: otherwise two clients"
                    .formatted(SafeText.quote(text))
                + " could have the same id");
      } else {
        separated = false;
      }
    }
  }

  private static <C> void requireFits(List<Piece<C>> part, IdFormat format) {
    if (part.size() > 1) {
      return; // the values are unknown
    }
    Source<C> source = part.isEmpty() ? null : part.get(0).source();
    if (source != null) {
      source.requireFits(format);
    } else {
      String text = part.isEmpty() ? "" : part.get(0).text();
      var unused = format.canonical(text, Strictness.LENIENT);
    }
  }

  /** Returns the text of each part of the id; null if one of the sources has no value. */
  @Nullable List<String> parts(C context) {
    List<String> texts = new ArrayList<>(parts.size());
    for (List<Piece<C>> part : parts) {
      String text = text(part, context);
      if (text == null) {
        return null;
      }
      texts.add(text);
    }
    if (ofEverybody && (isOneValue() || texts.equals(EMPTY))) {
      return List.of(JoinedIds.ofOne(texts.get(0)));
    }
    return texts;
  }

  private boolean isOneValue() {
    return parts.size() == 1 && parts.get(0).size() == 1 && parts.get(0).get(0).source() != null;
  }

  private static <C> @Nullable String text(List<Piece<C>> part, C context) {
    boolean several = hasSeveral(part);
    StringBuilder text = new StringBuilder();
    for (Piece<C> piece : part) {
      Source<C> source = piece.source();
      String value = source == null ? piece.text() : source.value(context);
      if (value == null) {
        return null;
      }
      text.append(source != null && several ? JoinedIds.escaped(value) : value);
    }
    return text.toString();
  }

  /**
   * Returns the id that the template produces for an id in an override or a penalty.
   *
   * @param given the parts of an id: all parts or the first parts
   * @return the given parts if the template can produce this id; otherwise the parts of a similar
   *     id, or null if the template can produce none
   */
  @Nullable List<String> nearest(List<String> given) {
    if (ofEverybody && isOneValue()) {
      String value = JoinedIds.oneOf(given.get(0));
      String nearest = value.isEmpty() ? value : nearest(parts.get(0), forms.get(0), value);
      return nearest == null ? null : List.of(JoinedIds.ofOne(nearest));
    }
    List<String> nearest = new ArrayList<>(given.size());
    for (int i = 0; i < given.size(); i++) {
      String part = nearest(parts.get(i), forms.get(i), given.get(i));
      if (part == null) {
        return null;
      }
      nearest.add(part);
    }
    return nearest;
  }

  private static <C> boolean hasSeveral(List<Piece<C>> part) {
    return part.stream().filter(piece -> piece.source() != null).count() > 1;
  }

  /** Returns a regular expression for one part of an id, with a group for each placeholder. */
  private static <C> Pattern form(List<Piece<C>> part) {
    String value = hasSeveral(part) ? "([^:]*)" : "(.*)";
    StringBuilder form = new StringBuilder();
    for (Piece<C> piece : part) {
      form.append(piece.source() == null ? Pattern.quote(piece.text()) : value);
    }
    return Pattern.compile(form.toString(), Pattern.DOTALL);
  }

  /** Returns the text of an id part, with each value changed to what the template would write. */
  private static <C> @Nullable String nearest(List<Piece<C>> part, Pattern form, String given) {
    boolean several = hasSeveral(part);
    Matcher values = form.matcher(given);
    boolean fits = values.matches();
    if (!fits && part.stream().anyMatch(piece -> piece.source() != null)) {
      return null;
    }
    StringBuilder nearest = new StringBuilder();
    int group = 0;
    for (Piece<C> piece : part) {
      Source<C> source = piece.source();
      if (source == null) {
        nearest.append(piece.text());
        continue;
      }
      String value = values.group(++group);
      String asked = source.nearest(several ? JoinedIds.unescaped(value) : value);
      if (asked == null) {
        return null;
      }
      nearest.append(several ? JoinedIds.escaped(asked) : asked);
    }
    return nearest.toString();
  }

  /** Returns the placeholders, without their braces. */
  List<String> placeholders() {
    return parts.stream()
        .flatMap(List::stream)
        .filter(piece -> piece.source() != null)
        .map(piece -> piece.text().substring(1, piece.text().length() - 1))
        .toList();
  }

  boolean skipsIpv4() {
    return parts.stream()
        .flatMap(List::stream)
        .anyMatch(piece -> piece.source() != null && piece.source().skipsIpv4());
  }

  /** Returns the text of the template. */
  @Override
  public String toString() {
    return text;
  }
}
