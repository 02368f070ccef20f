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
 * The format of a limit's ids: checks an id, and converts it to its one canonical text, so that two
 * spellings of an id share a bucket.
 *
 * <p>Implementations are immutable, thread-safe, never block (nothing is looked up) and take time
 * linear in the text. This interface has methods for the built-in formats; an application may add
 * its own through {@link Registry}.
 */
public interface IdFormat {

  /** The longest id, in characters, that any format accepts. */
  int MAX_LENGTH = 1024;

  /**
   * Returns the name of the format in files and messages, for example {@code ipAddress}.
   *
   * @return the name; the names of the parts joined with ":" for a joined format
   */
  String name();

  /**
   * Returns the canonical text of an id.
   *
   * @param text the id as somebody wrote it
   * @param strictness whether a text that is not canonical already is refused
   * @return the canonical text; {@code text} itself if it is canonical. It is its own canonical
   *     text, except in a format for overrides that spells ids differently from transactions: that
   *     returns the transaction's spelling
   * @throws InvalidIdException if the text does not match this format, saying what was expected
   */
  String canonical(String text, Strictness strictness);

  /**
   * Returns whether a text is certainly canonical, without allocating: a short cut for the hot
   * path, which then need not call {@link #canonical}.
   *
   * @param ascii the id as somebody wrote it, in ASCII only
   * @param length how many bytes of the array it takes, from the first one
   * @return true only if {@link #canonical} would return the same characters; false if it would
   *     not, or if that is not easy to check
   */
  default boolean isCanonical(byte[] ascii, int length) {
    return false;
  }

  /**
   * Returns the parts of the format.
   *
   * @return this format alone, or the joined formats, in order
   */
  default List<IdFormat> parts() {
    return List.of(this);
  }

  /**
   * Returns the canonical text of an id given part by part. Code should build joined ids this way,
   * since it needs no quoting.
   *
   * @param texts the text of each part, in order
   * @param strictness whether a text that is not canonical already is refused
   * @return the canonical text of the whole
   * @throws InvalidIdException if a part is missing, too many, or not of its format
   */
  default String join(List<String> texts, Strictness strictness) {
    if (texts.size() != 1) {
      throw new InvalidIdException(
          "invalid id, found %s parts, expected one %s".formatted(texts.size(), name()));
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
   * Throws for an id that is empty, or longer than {@link #MAX_LENGTH}. Formats call this first.
   *
   * @param text the id as somebody wrote it
   * @param expected what it should be, for the message
   * @throws InvalidIdException if the id is empty or too long
   */
  static void requireLength(String text, String expected) {
    if (Objects.requireNonNull(text, "id").isEmpty()) {
      throw new InvalidIdException("the id is empty, expected " + expected);
    }
    if (text.length() > MAX_LENGTH) {
      throw new InvalidIdException(
          "the id has %s characters, expected %s of at most %s"
              .formatted(text.length(), expected, MAX_LENGTH));
    }
  }

  /**
   * Returns why an override for a valid id would never apply; a check of limit files reports it as
   * a warning.
   *
   * @param canonicalId an id that {@link #canonical} has returned
   * @return what is doubtful about the id, null if nothing is
   */
  default @Nullable String doubt(String canonicalId) {
    return null;
  }

  /**
   * Returns the id under which requests for a valid id are counted, such as the registered domain
   * of a name below it. It serves ids that people enter; requests use the wider id already.
   *
   * @param canonicalId an id that {@link #canonical} has returned
   * @return a canonical id; the same one unless it shares a bucket with others
   */
  default String widened(String canonicalId) {
    return canonicalId;
  }

  /**
   * Returns the format of an IPv4 or IPv6 address, canonical as in RFC 5952; no DNS look-up. A
   * range such as {@code 2001:db8::/64} or {@code 192.0.2.7/32} is read as its lowest address if no
   * bit behind the mask is set. The format itself does not group addresses.
   *
   * @return the format {@code ipAddress}
   */
  static IdFormat ipAddress() {
    return IpAddressFormat.INSTANCE;
  }

  /**
   * Returns the format of a range of IPv6 addresses in CIDR notation, with one fixed mask.
   *
   * @param prefixLength bits of the mask, 1 to 128
   * @return the format {@code ipv6RangeCIDR}, with the mask in its name if it is not /48
   */
  static IdFormat ipv6Range(int prefixLength) {
    return new Ipv6RangeFormat(prefixLength);
  }

  /**
   * Returns the format of an unsigned 64-bit decimal number, under Boulder's name.
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
   * Returns the format of a UUID, canonical in lower case.
   *
   * @return the format {@code uuid}
   */
  static IdFormat uuid() {
    return UuidFormat.INSTANCE;
  }

  /**
   * Returns the format of any text without control characters, which is always canonical.
   *
   * @return the format {@code string}
   */
  static IdFormat string() {
    return StringFormat.INSTANCE;
  }

  /**
   * Returns the format of any bytes, such as the key of a binary protocol: printable ASCII as it
   * is, "%" and every other byte as {@code %XX}. {@link #ofBytes} converts bytes to it.
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
   * @param bytes not empty; at most {@link #MAX_LENGTH} printable ones, or a third of that if none
   *     is printable
   * @return the id in canonical form
   * @throws InvalidIdException if there are no bytes, or too many
   */
  static String ofBytes(byte[] bytes) {
    return BytesFormat.INSTANCE.canonical(BytesFormat.text(bytes), Strictness.STRICT);
  }

  /**
   * Returns several formats joined with ":". Only the last part may contain a ":" itself; an IPv6
   * address in an earlier part is written in brackets, {@code [2001:db8::1]:alice}.
   *
   * @param parts at least two formats, none of them joined
   * @return the joined format
   */
  static IdFormat joined(IdFormat... parts) {
    return new JoinedFormat(List.of(parts));
  }

  /** The treatment of a valid id that is not written in its canonical form. */
  enum Strictness {
    /** The id is made canonical; private and reserved addresses are accepted. */
    LENIENT,
    /** The id is refused, and so is an address that IANA has reserved for a special purpose. */
    STRICT;

    /**
     * Returns the canonical text; if strict, throws for a text that was not canonical already.
     *
     * @param text the id as somebody wrote it
     * @param canonical its canonical text
     * @param format the format's name, for the message
     * @return {@code canonical}
     * @throws InvalidIdException if strict and the texts differ
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

  /** The id formats that files may use, by name. Immutable. */
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
     * Returns the built-in formats, those of {@link IdFormat}.
     *
     * @return the registry
     */
    public static Registry builtIn() {
      return BUILT_IN;
    }

    /**
     * Returns this registry with one more format.
     *
     * @param format the format; replaces one of the same name
     * @return a new registry
     */
    public Registry with(IdFormat format) {
      Map<String, IdFormat> more = new TreeMap<>(byName);
      more.put(format.name(), format);
      return new Registry(more);
    }

    /**
     * Reads a format as files write it: a name, {@code ipv6RangeCIDR/56} for a mask other than /48,
     * or several joined with ":".
     *
     * @param text the format's name
     * @return the format
     * @throws IllegalArgumentException if there is no such format, naming the known ones
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
