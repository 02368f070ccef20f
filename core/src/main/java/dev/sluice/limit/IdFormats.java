package dev.sluice.limit;

import dev.sluice.text.SafeText;
import dev.sluice.text.Suggestion;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The id formats that a names file may use, by name.
 *
 * <p>Immutable and thread-safe.
 */
public final class IdFormats {

  private static final String RANGE = "ipv6RangeCIDR";

  private static final IdFormats BUILT_IN =
      new IdFormats(Map.of())
          .with(IdFormat.ipAddress())
          .with(IdFormat.ipv6Range(Ipv6RangeFormat.DEFAULT_PREFIX_LENGTH))
          .with(IdFormat.regId())
          .with(IdFormat.string())
          .with(IdFormat.bytes())
          .with(IdFormat.integer())
          .with(IdFormat.uuid());

  private final Map<String, IdFormat> byName;

  private IdFormats(Map<String, IdFormat> byName) {
    this.byName = byName;
  }

  /**
   * The formats of {@link IdFormat}.
   *
   * @return the registry
   */
  public static IdFormats builtIn() {
    return BUILT_IN;
  }

  /**
   * This registry and one format more.
   *
   * @param format the format; replaces one of the same name
   * @return a new registry
   */
  public IdFormats with(IdFormat format) {
    Map<String, IdFormat> more = new TreeMap<>(byName);
    more.put(format.name(), format);
    return new IdFormats(more);
  }

  /**
   * Reads a format as a names file writes it: a name, {@code ipv6RangeCIDR/56} for a mask other
   * than /48, or several joined with ":".
   *
   * @param text the format's name
   * @return the format
   * @throws IllegalArgumentException if there is no such format, naming those that there are
   */
  public IdFormat parse(String text) {
    List<IdFormat> parts = new ArrayList<>();
    for (String name : text.split(":", -1)) {
      parts.add(parsePart(name.strip()));
    }
    return parts.size() == 1 ? parts.get(0) : IdFormat.joined(parts.toArray(IdFormat[]::new));
  }

  private IdFormat parsePart(String name) {
    IdFormat format = byName.get(name);
    if (format != null) {
      return format;
    }
    if (name.matches(RANGE + "/[1-9][0-9]{0,2}")) {
      return IdFormat.ipv6Range(Integer.parseInt(name.substring(RANGE.length() + 1)));
    }
    throw new IllegalArgumentException(
        "found the id format %s, expected one of %s, or several joined with \":\"%s"
            .formatted(
                SafeText.quote(name),
                String.join(", ", byName.keySet()),
                Suggestion.didYouMean(name, byName.keySet())));
  }
}
