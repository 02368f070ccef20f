// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.internal.text.GoDuration;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * An option of a store, with the name that it has in the URI and as a method of the builder, its
 * allowed values and its default. Immutable, thread-safe.
 *
 * @param <T> the Java type of the option's values
 */
final class RedisOption<T> {

  private final Kind<T> kind;
  private final String name;
  private final String usual;
  private final @Nullable T fallback;
  private final String meaning;

  private RedisOption(
      Kind<T> kind, String name, String usual, @Nullable T fallback, String meaning) {
    this.kind = kind;
    this.name = name;
    this.usual = usual;
    this.fallback = fallback;
    this.meaning = meaning;
  }

  String name() {
    return name;
  }

  /** Returns the default value; null if the option has no default. */
  @Nullable T fallback() {
    return fallback;
  }

  /** Parses the option's text in the URI. */
  T read(String text) {
    return kind.reader.apply(text);
  }

  /** Rejects a value that is not allowed, with a message that says what was found and expected. */
  void check(StoreUri uri, T value) {
    kind.rule.check(uri, value);
  }

  /** Returns the option's row in a table of the documentation. */
  String row() {
    return "| `%s` | %s | %s | %s |".formatted(name, kind.values, usual, meaning);
  }

  /** A check that rejects values. */
  interface Rule<T> {
    void check(StoreUri uri, T value);
  }

  /** A factory of options that have the same allowed values. */
  static final class Kind<T> {
    private final String values;
    private final Function<String, T> reader;
    private final Rule<T> rule;

    private Kind(String values, Function<String, T> reader, Rule<T> rule) {
      this.values = values;
      this.reader = reader;
      this.rule = rule;
    }

    /** Sets the description of the allowed values, for the documentation. */
    Kind<T> values(String shown) {
      return new Kind<>(shown, reader, rule);
    }

    Kind<T> reader(Function<String, T> other) {
      return new Kind<>(values, other, rule);
    }

    Kind<T> rule(Rule<T> other) {
      return new Kind<>(values, reader, other);
    }

    /** Makes an option with a default, which is written as in the URI. */
    RedisOption<T> option(String name, String usual, String meaning) {
      return new RedisOption<>(this, name, usual, reader.apply(usual), meaning);
    }

    /** Makes an option without a default, or with a default that depends on other options. */
    RedisOption<T> optional(String name, String usual, String meaning) {
      return new RedisOption<>(this, name, usual, null, meaning);
    }
  }

  static <T> Kind<T> kind(String values, Function<String, T> reader) {
    return new Kind<>(values, reader, (uri, value) -> {});
  }

  static Kind<String> text() {
    return kind("text", text -> text);
  }

  static Kind<Duration> duration(Duration least, Duration most) {
    return kind(
            GoDuration.shortened(least) + " to " + GoDuration.shortened(most), GoDuration::parse)
        .rule(
            (uri, found) -> {
              if (found.compareTo(least) < 0 || found.compareTo(most) > 0) {
                throw new IllegalArgumentException(
                    "found %s, expected from %s to %s"
                        .formatted(
                            GoDuration.shortened(found),
                            GoDuration.shortened(least),
                            GoDuration.shortened(most)));
              }
            });
  }

  static Kind<Integer> atLeastOne() {
    return kind("1 or more", RedisOption::number)
        .rule(
            (uri, found) -> {
              if (found < 1) {
                throw new IllegalArgumentException("found " + found + ", expected at least 1");
              }
            });
  }

  private static int number(String found) {
    try {
      return Integer.parseInt(found);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("found \"" + found + "\", expected a whole number", e);
    }
  }

  static Kind<Path> file() {
    return kind("file", Path::of)
        .rule(
            (uri, file) -> {
              if (!Files.isReadable(file)) {
                throw new IllegalArgumentException("the file " + file + " cannot be read");
              }
            });
  }

  static <E extends Enum<E>> Kind<E> choice(Class<E> type) {
    E[] values = type.getEnumConstants();
    String known = Arrays.toString(values).toLowerCase(Locale.ROOT);
    return kind(known.substring(1, known.length() - 1), text -> choice(text, values, known));
  }

  private static <E extends Enum<E>> E choice(String found, E[] values, String known) {
    for (E value : values) {
      if (value.name().toLowerCase(Locale.ROOT).equals(found)) {
        return value;
      }
    }
    throw new IllegalArgumentException("found \"%s\", expected one of %s".formatted(found, known));
  }
}
