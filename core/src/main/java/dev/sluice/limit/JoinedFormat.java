// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.IdFormat.Strictness;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Several formats joined with ":".
 *
 * <p>A joined id must be readable in one way only, or an id of one bucket could forge another's. So
 * only the last part may hold a ":" as it is; an IPv6 address before it is written in brackets, and
 * every other format has no ":" there.
 */
final class JoinedFormat implements IdFormat {

  private final List<IdFormat> parts;

  JoinedFormat(List<IdFormat> parts) {
    if (parts.size() < 2) {
      throw new IllegalArgumentException("parts: found " + parts.size() + ", expected at least 2");
    }
    for (IdFormat part : parts) {
      if (part.parts().size() > 1) {
        throw new IllegalArgumentException(
            "parts: found %s, expected formats that are not joined themselves"
                .formatted(part.name()));
      }
    }
    this.parts = List.copyOf(parts);
  }

  @Override
  public String name() {
    return parts.stream().map(IdFormat::name).collect(Collectors.joining(":"));
  }

  @Override
  public List<IdFormat> parts() {
    return parts;
  }

  @Override
  public String canonical(String text, Strictness strictness) {
    IdFormat.requireLength(text, "an id of the form " + name());
    return strictness.canonical(text, join(split(text), strictness), name());
  }

  @Override
  public String join(List<String> texts, Strictness strictness) {
    List<String> canonical = new ArrayList<>(parts.size());
    for (int i = 0; i < Math.min(texts.size(), parts.size()); i++) {
      String part = parts.get(i).canonical(texts.get(i), strictness);
      canonical.add(i == parts.size() - 1 ? part : unambiguous(part, parts.get(i)));
    }
    if (texts.size() != parts.size()) {
      throw new InvalidIdException(
          "invalid id, found %s of the %s parts of the form %s"
              .formatted(texts.size(), parts.size(), name()));
    }
    return String.join(":", canonical);
  }

  @Override
  public String widened(String canonicalId) {
    List<String> wide = split(canonicalId);
    for (int i = 0; i < wide.size(); i++) {
      wide.set(i, parts.get(i).widened(wide.get(i)));
    }
    return join(wide, Strictness.LENIENT);
  }

  private static String unambiguous(String part, IdFormat format) {
    if (part.indexOf(':') < 0) {
      return part;
    }
    if (isAddress(format)) {
      return "[" + part + "]";
    }
    throw new InvalidIdException(
        "invalid id, the %s %s has a \":\", which only the last part may have"
            .formatted(format.name(), SafeText.quote(part)));
  }

  @Override
  public List<String> split(String text) {
    List<String> texts = new ArrayList<>(parts.size());
    int start = 0;
    while (texts.size() < parts.size() - 1) {
      boolean bracketed = isAddress(parts.get(texts.size())) && text.startsWith("[", start);
      int bracket = bracketed ? text.indexOf("]:", start) : -1;
      int end = text.indexOf(':', Math.max(bracket, start));
      if (end < 0) {
        break;
      }
      texts.add(bracket < 0 ? text.substring(start, end) : text.substring(start + 1, bracket));
      start = end + 1;
    }
    texts.add(text.substring(start));
    return texts;
  }

  /** The first {@code count} parts of a canonical id, as they stand in it. */
  String prefix(String canonical, int count) {
    int end = -1;
    for (int i = 0; i < count; i++) {
      int bracket =
          canonical.startsWith("[", end + 1) && isAddress(parts.get(i))
              ? canonical.indexOf("]:", end + 1)
              : end;
      end = canonical.indexOf(':', bracket + 1);
    }
    return canonical.substring(0, end);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof JoinedFormat that && parts.equals(that.parts);
  }

  @Override
  public int hashCode() {
    return parts.hashCode();
  }

  private static boolean isAddress(IdFormat format) {
    return format instanceof IpAddressFormat || format instanceof Ipv6RangeFormat;
  }
}
