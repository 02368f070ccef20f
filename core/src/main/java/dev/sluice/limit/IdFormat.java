// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import dev.sluice.internal.text.SafeText;
import dev.sluice.internal.text.Suggestion;
import dev.sluice.limit.IdFormats.BytesFormat;
import dev.sluice.limit.IdFormats.IpAddressFormat;
import dev.sluice.limit.IdFormats.Ipv6RangeFormat;
import dev.sluice.limit.IdFormats.JoinedFormat;
import dev.sluice.limit.IdFormats.NumberFormat;
import dev.sluice.limit.IdFormats.StringFormat;
import dev.sluice.limit.IdFormats.UuidFormat;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The format of a limit's ids: checks an id, and converts it to its canonical text, so that all
 * spellings of an id share a bucket.
 *
 * <p>Implementations are immutable, thread-safe and never block; their time is linear in the length
 * of the id. The static methods return the built-in formats; an application can add its own formats
 * to a {@link Registry}.
 */
public interface IdFormat {

  /** The longest id, in characters, that any format accepts. */
  int MAX_LENGTH = 1024;

  /**
   * Returns the name of the format in files and messages, for example {@code ipAddress}.
   *
   * @return the name; for a joined format, the names of its parts with ":" between them
   */
  String name();

  /**
   * Returns the canonical text of an id.
   *
   * @param text the id as a user wrote it
   * @param strictness whether a text that is not canonical is refused
   * @return the canonical text; {@code text} itself if it is canonical already. A format for
   *     overrides can spell ids differently from transactions; this method then returns the
   *     spelling of transactions, which need not match the format
   * @throws InvalidIdException if the text does not match this format
   */
  String canonical(String text, Strictness strictness);

  /**
   * Returns whether a text is certainly canonical, without allocating. Limiters call this fast
   * check first, and call {@link #canonical} only if this method returns false.
   *
   * @param ascii the id as a user wrote it, in ASCII only
   * @param length the number of bytes of the id, counted from the start of the array
   * @return true only if {@link #canonical} would return the same text; false if the text differs,
   *     or if the check would be slow
   */
  default boolean isCanonical(byte[] ascii, int length) {
    return false;
  }

  /**
   * Returns the formats of which a joined format consists.
   *
   * @return the parts of a joined format, in order; for any other format a list of only this format
   */
  default List<IdFormat> parts() {
    return List.of(this);
  }

  /**
   * Returns the canonical text of an id that is given by its parts. Use this method to build joined
   * ids in code: the method adds brackets where a part needs them.
   *
   * @param texts the text of each part, in order
   * @param strictness whether a text that is not canonical is refused
   * @return the canonical text of the whole id
   * @throws InvalidIdException if the number of parts is wrong, or a part does not match its format
   */
  default String join(List<String> texts, Strictness strictness) {
    if (texts.size() != 1) {
      throw new InvalidIdException(
          "invalid id, found %s parts, expected one part (%s)".formatted(texts.size(), name()));
    }
    return canonical(texts.get(0), strictness);
  }

  /**
   * Splits an id into the texts of its parts; the inverse of {@link #join}.
   *
   * @param canonicalId an id that {@link #canonical} has returned
   * @return the text of each part, in order
   */
  default List<String> split(String canonicalId) {
    return List.of(canonicalId);
  }

  /**
   * Throws an exception if an id is empty or longer than {@link #MAX_LENGTH}. Implementations of
   * {@link #canonical} call this method first.
   *
   * @param text the id as a user wrote it
   * @param expected the expected form, for the message
   * @throws InvalidIdException if the id is empty or too long
   */
  static void requireLength(String text, String expected) {
    if (Objects.requireNonNull(text, "id").isEmpty()) {
      throw new InvalidIdException("the id is empty, expected " + expected);
    }
    if (text.length() > MAX_LENGTH) {
      throw new InvalidIdException(
          "the id has %s characters, expected %s of at most %s characters"
              .formatted(text.length(), expected, MAX_LENGTH));
    }
  }

  /**
   * Returns why an override for a valid id would never apply; Sluice shows the reason in a warning.
   *
   * @param canonicalId an id that {@link #canonical} has returned
   * @return the reason why the override never applies, null if it can apply
   */
  default @Nullable String doubt(String canonicalId) {
    return null;
  }

  /**
   * Returns the id whose bucket counts the requests for a valid id. For example, the bucket of
   * {@code example.org} can count the requests for {@code www.example.org}. Callers apply this
   * method to an id that a person entered, as in a command; the id in a request is already the id
   * of the bucket.
   *
   * @param canonicalId an id that {@link #canonical} has returned
   * @return a canonical id; the given id, unless this id shares a bucket with other ids
   */
  default String widened(String canonicalId) {
    return canonicalId;
  }

  /**
   * Returns the format of an IPv4 or IPv6 address. The canonical form follows RFC 5952; the format
   * does no DNS look-up. A range such as {@code 2001:db8::/64} or {@code 192.0.2.7/32} is read as
   * the lowest address of the range if all bits after the prefix are zero. Each address is a
   * separate id.
   *
   * @return the format {@code ipAddress}
   */
  static IdFormat ipAddress() {
    return IpAddressFormat.INSTANCE;
  }

  /**
   * Returns the format of a range of IPv6 addresses in CIDR notation, with one fixed prefix length.
   *
   * @param prefixLength the number of bits in the prefix, 1 to 128
   * @return the format {@code ipv6RangeCIDR}, or {@code ipv6RangeCIDR/56} for the prefix length 56
   */
  static IdFormat ipv6Range(int prefixLength) {
    return new Ipv6RangeFormat(prefixLength);
  }

  /**
   * Returns the format of an unsigned 64-bit decimal number. The name {@code regId} comes from
   * Boulder.
   *
   * @return the format {@code regId}
   */
  static IdFormat regId() {
    return NumberFormat.REG_ID;
  }

  /**
   * Returns the format of a signed 64-bit decimal number.
   *
   * @return the format {@code integer}
   */
  static IdFormat integer() {
    return NumberFormat.INTEGER;
  }

  /**
   * Returns the format of a UUID; the canonical form is in lower case.
   *
   * @return the format {@code uuid}
   */
  static IdFormat uuid() {
    return UuidFormat.INSTANCE;
  }

  /**
   * Returns the format of any text without control characters; every such text is canonical.
   *
   * @return the format {@code string}
   */
  static IdFormat string() {
    return StringFormat.INSTANCE;
  }

  /**
   * Returns the format of arbitrary bytes that are written as text, such as the keys of a binary
   * protocol. Printable ASCII characters except "%" are unchanged; every other byte is written as
   * {@code %XX}. {@link #ofBytes} converts bytes to an id of this format.
   *
   * @return the format {@code bytes}
   */
  static IdFormat bytes() {
    return BytesFormat.INSTANCE;
  }

  /**
   * Returns the id of the format {@link #bytes} for the given bytes. Different bytes have different
   * ids.
   *
   * @param bytes at least one byte; the id has one character for each printable byte, three
   *     characters for any other byte, and at most {@link #MAX_LENGTH} characters
   * @return the id in canonical form
   * @throws InvalidIdException if there are no bytes, or too many
   */
  static String ofBytes(byte[] bytes) {
    return BytesFormat.INSTANCE.canonical(BytesFormat.text(bytes), Strictness.STRICT);
  }

  /**
   * Returns the format of ids with several parts and ":" between them. Only the last part can
   * contain a ":". An IPv6 address in an earlier part is written in brackets, as in {@code
   * [2001:db8::1]:alice}.
   *
   * @param parts at least two formats, none of which is a joined format
   * @return the joined format
   */
  static IdFormat joined(IdFormat... parts) {
    return new JoinedFormat(List.of(parts));
  }

  /** The treatment of a valid id that is not in canonical form. */
  enum Strictness {
    /** The id is converted to its canonical form; private and reserved addresses are accepted. */
    LENIENT,
    /** Ids that are not canonical, and addresses that IANA has reserved, are refused. */
    STRICT;

    /**
     * Returns the canonical text; if strict, throws an exception for a text that is not canonical.
     *
     * @param text the id as a user wrote it
     * @param canonical the canonical text of the id
     * @param format the format's name, for the message
     * @return {@code canonical}
     * @throws InvalidIdException if this is {@link #STRICT}, and {@code text} is not canonical
     */
    public String canonical(String text, String canonical, String format) {
      if (canonical.equals(text)) {
        return text;
      }
      if (this == STRICT) {
        throw new InvalidIdException(
            "invalid %s, %s is not in canonical form (%s)"
                .formatted(format, SafeText.quote(text), SafeText.quote(canonical)));
      }
      return canonical;
    }
  }

  /** The id formats that limit files can use, by name. Immutable. */
  final class Registry {

    private static final String RANGE = "ipv6RangeCIDR";

    private static final Registry BUILT_IN =
        new Registry(Map.of())
            .with(IdFormat.ipAddress())
            .with(IdFormat.ipv6Range(Ipv6RangeFormat.DEFAULT_PREFIX_LENGTH))
            .with(IdFormat.regId())
            .with(IdFormat.string())
            .with(IdFormat.bytes())
            .with(IdFormat.integer())
            .with(IdFormat.uuid());

    private final Map<String, IdFormat> byName;

    private Registry(Map<String, IdFormat> byName) {
      this.byName = byName;
    }

    /**
     * Returns the registry of the built-in formats.
     *
     * @return the registry
     */
    public static Registry builtIn() {
      return BUILT_IN;
    }

    /**
     * Returns a copy of this registry with one more format.
     *
     * @param format the format; replaces a format with the same name
     * @return a new registry
     */
    public Registry with(IdFormat format) {
      Map<String, IdFormat> more = new TreeMap<>(byName);
      more.put(format.name(), format);
      return new Registry(more);
    }

    /**
     * Returns whether a format is one of this registry, or a format of IPv6 ranges.
     *
     * @param format the format
     * @return false for a format of another registry, and for a joined format
     */
    public boolean contains(IdFormat format) {
      return format instanceof Ipv6RangeFormat || format.equals(byName.get(format.name()));
    }

    /**
     * Reads a format as it is written in limit files: a name, a name with a prefix length other
     * than 48 such as {@code ipv6RangeCIDR/56}, or several formats joined with ":".
     *
     * @param text the text of the format
     * @return the format
     * @throws IllegalArgumentException if the text is not a format of this registry
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
}
