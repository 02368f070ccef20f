// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import dev.sluice.text.SafeText;
import dev.sluice.text.Suggestion;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The form of the ids of a limit: what is valid, and how the one canonical text of an id is made.
 * Two spellings of one thing thereby share a bucket.
 *
 * <p>Implementations are immutable, thread-safe, never block (nothing is looked up) and take time
 * linear in the text. The formats that come with Sluice are made here; an application may add its
 * own through {@link Registry}.
 */
public interface IdFormat {

  /** The longest id, in characters, that any format takes. */
  int MAX_LENGTH = 1024;

  /**
   * The name of the format as files and messages write it, for example {@code ipAddress}.
   *
   * @return the name; the names of the parts joined with ":" for a joined format
   */
  String name();

  /**
   * The canonical text of an id.
   *
   * @param text the id as somebody wrote it
   * @param strictness whether a text that is not canonical already is refused
   * @return the canonical text, {@code text} itself where it is canonical. Its canonical text is
   *     itself; only a format that spells the ids of overrides differently from those of
   *     transactions answers with the latter
   * @throws InvalidIdException if the text does not match this format, saying what was expected
   */
  String canonical(String text, Strictness strictness);

  /**
   * Returns whether a text is certainly canonical, found out without making an object: a short cut
   * for the hot path, whose answer {@link #canonical} need not be asked for.
   *
   * @param ascii the id as somebody wrote it, ASCII characters alone
   * @param length how many bytes of the array it takes, from the first one
   * @return true only if {@link #canonical} would answer with the same characters; false where that
   *     is not so, or not easily told
   */
  default boolean isCanonical(byte[] ascii, int length) {
    return false;
  }

  /**
   * The parts of which the format consists.
   *
   * @return this alone, or the formats that are joined, in order
   */
  default List<IdFormat> parts() {
    return List.of(this);
  }

  /**
   * The canonical text of an id that is given part by part, which needs no quoting: this is how
   * code should build a joined id.
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
   * The texts of the parts of an id: the other way of {@link #join}.
   *
   * @param canonicalId an id that {@link #canonical} has returned
   * @return the text of each part, in order
   */
  default List<String> split(String canonicalId) {
    return List.of(canonicalId);
  }

  /**
   * Refuses an id that is empty, or longer than {@link #MAX_LENGTH}: for formats to call first.
   *
   * @param text the id as somebody wrote it
   * @param expected what it should be, for the message
   * @throws InvalidIdException if it is
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
   * Returns why an override for a valid id could never act, for those who check limit files: a
   * warning, not a mistake.
   *
   * @param canonicalId an id that {@link #canonical} has returned
   * @return what is doubtful about it, null where nothing is
   */
  default @Nullable String doubt(String canonicalId) {
    return null;
  }

  /**
   * Returns the id under which requests for a valid id are counted, such as a registered domain for
   * a name below it. It is for people who name one of many; requests bring the wider id themselves.
   *
   * @param canonicalId an id that {@link #canonical} has returned
   * @return a canonical id, the same where nothing is counted together
   */
  default String widened(String canonicalId) {
    return canonicalId;
  }

  /**
   * An IPv4 or IPv6 address, parsed without a look-up; canonical as RFC 5952 writes it. A range
   * such as {@code 2001:db8::/64} or {@code 192.0.2.7/32} is read as its lowest address if no bit
   * behind the mask is set. The format itself groups no addresses.
   *
   * @return the format {@code ipAddress}
   */
  static IdFormat ipAddress() {
    return IpAddressFormat.INSTANCE;
  }

  /**
   * A range of IPv6 addresses in CIDR notation, with one fixed mask.
   *
   * @param prefixLength bits of the mask, 1 to 128
   * @return the format {@code ipv6RangeCIDR}, with the mask in its name where it is not /48
   */
  static IdFormat ipv6Range(int prefixLength) {
    return new Ipv6RangeFormat(prefixLength);
  }

  /**
   * Returns the format of an unsigned 64-bit decimal number, by Boulder's name for it.
   *
   * @return the format {@code regId}
   */
  static IdFormat regId() {
    return NumberFormat.REG_ID;
  }

  /**
   * A signed 64-bit decimal number.
   *
   * @return the format {@code integer}
   */
  static IdFormat integer() {
    return NumberFormat.INTEGER;
  }

  /**
   * A UUID, canonical in lower case.
   *
   * @return the format {@code uuid}
   */
  static IdFormat uuid() {
    return UuidFormat.INSTANCE;
  }

  /**
   * Any text without control characters, taken as it is.
   *
   * @return the format {@code string}
   */
  static IdFormat string() {
    return StringFormat.INSTANCE;
  }

  /**
   * Any bytes, such as the key of a protocol that knows no text: printable ASCII as it is, "%" and
   * every other byte as {@code %XX}. {@link #ofBytes} writes them.
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
   * Several formats joined with ":". Only the last part may hold a ":" of its own; an IPv6 address
   * before the last is written in brackets, {@code [2001:db8::1]:alice}.
   *
   * @param parts at least two formats, none of them joined
   * @return the joined format
   */
  static IdFormat joined(IdFormat... parts) {
    return new JoinedFormat(List.of(parts));
  }

  /** The treatment of an id that is understood but not written in its one canonical form. */
  enum Strictness {
    /** It is made canonical; private and reserved addresses are fine. */
    LENIENT,
    /** It is refused, and so is an address that IANA has set aside for a special purpose. */
    STRICT;

    /**
     * Returns the canonical text; refuses, if strict, a text that was not canonical already.
     *
     * @param text the id as somebody wrote it
     * @param canonical its canonical text
     * @param format the format's name, for the message
     * @return {@code canonical}
     * @throws InvalidIdException if they differ and must not
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

  /**
   * The id formats that a names file may use, by name.
   *
   * <p>Immutable and thread-safe.
   */
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
     * The formats of {@link IdFormat}.
     *
     * @return the registry
     */
    public static Registry builtIn() {
      return BUILT_IN;
    }

    /**
     * This registry and one format more.
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
}
