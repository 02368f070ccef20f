// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.IdFormats.IpAddressFormat;
import dev.sluice.limit.IdFormats.Ipv6RangeFormat;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The built-in id formats, which the static methods of {@link IdFormat} return. */
final class IdFormats {

  private IdFormats() {}

  /**
   * The format of any text without control characters; the format changes no text. Half of a
   * surrogate pair is rejected, since UTF-8 cannot encode it.
   */
  static final class StringFormat implements IdFormat {

    static final StringFormat INSTANCE = new StringFormat();

    private static final VarHandle WORD =
        MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final long EACH = 0x0101010101010101L;
    private static final long HIGH_BITS = EACH << 7;

    private StringFormat() {}

    @Override
    public String name() {
      return "string";
    }

    @Override
    public String canonical(String text, Strictness strictness) {
      IdFormat.requireLength(text, "a text");
      for (int i = 0; i < text.length(); i++) {
        char c = text.charAt(i);
        if (Character.isISOControl(c)) { // true also for U+0080 to U+009F
          throw new InvalidIdException(
              String.format(
                  Locale.ROOT,
                  "invalid string, %s has the control character U+%04X at position %d",
                  SafeText.quote(text),
                  (int) c,
                  i + 1));
        }
        if (Character.isSurrogate(c)) {
          // UTF-8 encoding turns all lone surrogates into "?", so different ids would share a
          // bucket.
          if (i + 1 == text.length() || !Character.isSurrogatePair(c, text.charAt(i + 1))) {
            throw new InvalidIdException(
                "invalid string, found half of a surrogate pair at position %s, expected Unicode text"
                    .formatted(i + 1));
          }
          i++;
        }
      }
      return text;
    }

    /** Checks eight bytes at a time; the last eight bytes can include bytes already checked. */
    @Override
    public boolean isCanonical(byte[] ascii, int length) {
      if (length < 8) {
        return length > 0 && isPrintable(ascii, length);
      }
      long printable = printable((long) WORD.get(ascii, length - 8));
      for (int at = 0; at < length - 8; at += 8) {
        printable &= printable((long) WORD.get(ascii, at));
      }
      return printable == HIGH_BITS && length <= MAX_LENGTH;
    }

    private static boolean isPrintable(byte[] ascii, int length) {
      for (int i = 0; i < length; i++) {
        if (ascii[i] < ' ' || ascii[i] == 0x7f) {
          return false;
        }
      }
      return true;
    }

    /**
     * Returns a word in which the high bit of each printable byte of the argument is set. Each byte
     * of the argument is below 0x80, so no sum overflows into the next byte: adding 0x60 sets the
     * high bit of bytes from 0x20 on, and adding 1 sets the high bit only of 0x7f.
     */
    private static long printable(long word) {
      return (word + 0x60 * EACH) & ~(word + EACH) & HIGH_BITS;
    }
  }

  /** Whole numbers in decimal digits; the canonical form has no plus sign and no leading zeros. */
  static final class NumberFormat implements IdFormat {

    static final NumberFormat REG_ID =
        new NumberFormat(
            "regId",
            "an ACME registration Id, an unsigned 64-bit decimal number",
            text -> Long.toUnsignedString(Long.parseUnsignedLong(text)));

    static final NumberFormat INTEGER =
        new NumberFormat(
            "integer",
            "a signed 64-bit decimal number",
            text -> Long.toString(Long.parseLong(text)));

    private static final int DIGITS_OF_LONG = 19;

    private final String name;
    private final String expected;
    private final UnaryOperator<String> canonicalDigits;

    private NumberFormat(String name, String expected, UnaryOperator<String> canonicalDigits) {
      this.name = name;
      this.expected = expected;
      this.canonicalDigits = canonicalDigits;
    }

    @Override
    public String name() {
      return name;
    }

    @Override
    public String canonical(String text, Strictness strictness) {
      IdFormat.requireLength(text, expected + " (" + name + ")");
      if (!isAsciiNumber(text)) {
        throw notANumber(text);
      }
      String canonical;
      try {
        canonical = canonicalDigits.apply(text);
      } catch (NumberFormatException e) {
        throw notANumber(text);
      }
      return strictness.canonical(text, canonical, name);
    }

    /** Rejects a plus sign and the digits of other scripts, which the JDK's parsers accept. */
    private boolean isAsciiNumber(String text) {
      int first = this == INTEGER && text.charAt(0) == '-' ? 1 : 0;
      return text.length() > first && text.chars().skip(first).allMatch(c -> c >= '0' && c <= '9');
    }

    private InvalidIdException notANumber(String text) {
      return new InvalidIdException(
          "invalid %s, %s is not %s".formatted(name, SafeText.quote(text), expected));
    }

    @Override
    public boolean isCanonical(byte[] ascii, int length) {
      for (int i = 0; i < length; i++) {
        if (ascii[i] < '0' || ascii[i] > '9') {
          return false;
        }
      }
      boolean leadingZero = length > 1 && ascii[0] == '0';
      return length > 0 && length < DIGITS_OF_LONG && !leadingZero;
    }
  }

  /** A UUID in the form of RFC 9562: 8-4-4-4-12 hexadecimal digits. */
  static final class UuidFormat implements IdFormat {

    static final UuidFormat INSTANCE = new UuidFormat();

    private static final Pattern UUID =
        Pattern.compile("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}");

    private UuidFormat() {}

    @Override
    public String name() {
      return "uuid";
    }

    @Override
    public String canonical(String text, Strictness strictness) {
      IdFormat.requireLength(text, "a UUID");
      if (!UUID.matcher(text).matches()) {
        throw new InvalidIdException(
            "invalid uuid, %s is not 8-4-4-4-12 hexadecimal digits"
                .formatted(SafeText.quote(text)));
      }
      return strictness.canonical(text, text.toLowerCase(Locale.ROOT), "uuid");
    }

    @Override
    public boolean isCanonical(byte[] ascii, int length) {
      for (int i = 0; i < length; i++) {
        byte c = ascii[i];
        boolean dash = i == 8 || i == 13 || i == 18 || i == 23;
        boolean hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
        if (dash ? c != '-' : !hex) {
          return false;
        }
      }
      return length == 36;
    }
  }

  /**
   * Any bytes as text: printable ASCII except "%" is unchanged, every other byte is {@code %XX}.
   */
  static final class BytesFormat implements IdFormat {

    static final BytesFormat INSTANCE = new BytesFormat();

    private static final String HEX = "0123456789ABCDEF";

    private BytesFormat() {}

    @Override
    public String name() {
      return "bytes";
    }

    @Override
    public String canonical(String text, Strictness strictness) {
      IdFormat.requireLength(text, "bytes as text");
      String canonical = text(bytes(text));
      IdFormat.requireLength(canonical, "bytes as text");
      return strictness.canonical(text, canonical, name());
    }

    @Override
    public boolean isCanonical(byte[] ascii, int length) {
      for (int i = 0; i < length; i++) {
        if (!isPlain(ascii[i])) {
          return false; // may be a canonical escape: only canonical() checks escapes
        }
      }
      return length > 0 && length <= MAX_LENGTH;
    }

    static String text(byte[] bytes) {
      StringBuilder text = new StringBuilder(bytes.length + 16);
      for (byte b : bytes) {
        if (isPlain(b)) {
          text.append((char) b);
        } else {
          text.append('%').append(HEX.charAt((b & 0xff) >>> 4)).append(HEX.charAt(b & 0xf));
        }
      }
      return text.toString();
    }

    private static boolean isPlain(byte b) {
      return b >= ' ' && b < 0x7f && b != '%';
    }

    private static byte[] bytes(String text) {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream(text.length());
      for (int i = 0; i < text.length(); ) {
        int c = text.codePointAt(i);
        if (c == '%') {
          bytes.write(escaped(text, i));
          i += 3;
        } else if (Character.getType(c) == Character.SURROGATE) {
          throw new InvalidIdException(
              "invalid bytes, found half of a surrogate pair at position %s, expected Unicode text"
                  .formatted(i + 1));
        } else {
          bytes.writeBytes(Character.toString(c).getBytes(StandardCharsets.UTF_8));
          i += Character.charCount(c);
        }
      }
      return bytes.toByteArray();
    }

    private static int escaped(String text, int at) {
      int high = at + 2 < text.length() ? digit(text.charAt(at + 1)) : -1;
      int low = high < 0 ? -1 : digit(text.charAt(at + 2));
      if (low < 0) {
        throw new InvalidIdException(
            "invalid bytes, %s has a %% without two hex digits at position %s; write %%25 for the character %%"
                .formatted(SafeText.quote(text), at + 1));
      }
      return high << 4 | low;
    }

    /** Returns a hexadecimal ASCII digit's value, else -1; Character.digit accepts more scripts. */
    private static int digit(char c) {
      return c < 0x80 ? Character.digit(c, 16) : -1;
    }
  }

  /**
   * An IPv4 or IPv6 address. A range in CIDR notation with zero bits after its prefix is read as
   * the lowest address of the range.
   */
  static final class IpAddressFormat implements IdFormat {

    static final IpAddressFormat INSTANCE = new IpAddressFormat();

    /** The number of bits before the IPv4 address in an IPv4-mapped IPv6 address. */
    private static final int MAPPED_BITS = 96;

    private IpAddressFormat() {}

    @Override
    public String name() {
      return "ipAddress";
    }

    @Override
    public String canonical(String text, Strictness strictness) {
      IdFormat.requireLength(text, "an IP address");
      int slash = text.indexOf('/');
      IpAddress address = slash < 0 ? IpAddress.parse(text) : lowest(text, slash);
      if (address == null) {
        throw new InvalidIdException(
            "invalid ipAddress, %s is not an IP address".formatted(SafeText.quote(text)));
      }
      String canonical = strictness.canonical(text, address.toString(), "ipAddress");
      if (strictness == Strictness.STRICT) {
        SpecialPurpose.refuse(address, address.isIpv4() ? 32 : 128);
      }
      return canonical;
    }

    /** Returns the lowest address of a range; null if the text is not a range. */
    private static @Nullable IpAddress lowest(String text, int slash) {
      IpAddress address = IpAddress.parse(text.substring(0, slash));
      String mask = text.substring(slash + 1);
      if (address == null || !mask.matches("0|[1-9][0-9]{0,2}")) {
        return null;
      }
      int bits = Integer.parseInt(mask);
      boolean isMapped = address.isIpv4() && text.indexOf(':') >= 0;
      if (bits > (isMapped || !address.isIpv4() ? 128 : 32)) {
        return null;
      }
      int kept = isMapped ? bits - MAPPED_BITS : bits;
      if (kept < 0 || !address.prefix(kept).equals(address)) {
        throw new InvalidIdException(
            "invalid ipAddress, %s has bits after /%s that are not zero; write \"%s\"%s"
                .formatted(
                    SafeText.quote(text),
                    bits,
                    kept < 0 ? address : address.prefix(kept),
                    kept < 0 ? "" : " for its range"));
      }
      return address;
    }

    /** Recognizes only IPv4 addresses: four numbers up to 255 without leading zeros. */
    @Override
    public boolean isCanonical(byte[] ascii, int length) {
      int dots = 0;
      int octet = -1; // -1 before the first digit of an octet
      for (int i = 0; i < length; i++) {
        byte c = ascii[i];
        if (c == '.' && octet >= 0) {
          dots++;
          octet = -1;
        } else if (c >= '0' && c <= '9' && octet != 0) {
          octet = Math.max(octet, 0) * 10 + (c - '0');
          if (octet > 255) {
            return false;
          }
        } else {
          return false;
        }
      }
      return dots == 3 && octet >= 0;
    }
  }

  /** A range of IPv6 addresses in CIDR notation, with the prefix length of this format. */
  static final class Ipv6RangeFormat implements IdFormat {

    /**
     * The prefix length that Internet providers typically assign to a customer; Boulder uses only
     * this length.
     */
    static final int DEFAULT_PREFIX_LENGTH = 48;

    private final int prefixLength;

    Ipv6RangeFormat(int prefixLength) {
      if (prefixLength < 1 || prefixLength > 128) {
        throw new IllegalArgumentException(
            "prefixLength: found " + prefixLength + ", expected 1 to 128");
      }
      this.prefixLength = prefixLength;
    }

    @Override
    public String name() {
      return prefixLength == DEFAULT_PREFIX_LENGTH
          ? "ipv6RangeCIDR"
          : "ipv6RangeCIDR/" + prefixLength;
    }

    @Override
    public String canonical(String text, Strictness strictness) {
      IdFormat.requireLength(text, "an IPv6 range in CIDR notation");
      int slash = text.indexOf('/');
      IpAddress address = slash < 0 ? null : IpAddress.parse(text.substring(0, slash));
      String mask = slash < 0 ? "" : text.substring(slash + 1);
      if (address == null || !mask.matches("0|[1-9][0-9]{0,2}")) {
        throw new InvalidIdException(
            "invalid ipv6RangeCIDR, %s is not an IPv6 range in CIDR notation"
                .formatted(SafeText.quote(text)));
      }
      if (address.isIpv4() || Integer.parseInt(mask) != prefixLength) {
        throw new InvalidIdException(
            "invalid ipv6RangeCIDR, %s is not an IPv6 range with a /%s mask"
                .formatted(SafeText.quote(text), prefixLength));
      }
      IpAddress lowest = address.prefix(prefixLength);
      String canonical = strictness.canonical(text, lowest + "/" + prefixLength, "ipv6RangeCIDR");
      if (strictness == Strictness.STRICT) {
        SpecialPurpose.refuse(lowest, prefixLength);
      }
      return canonical;
    }

    @Override
    public boolean equals(@Nullable Object other) {
      return other instanceof Ipv6RangeFormat that && prefixLength == that.prefixLength;
    }

    @Override
    public int hashCode() {
      return prefixLength;
    }
  }

  /**
   * Several formats joined with ":".
   *
   * <p>If a joined id could be split in two ways, a client could forge the id of another client's
   * bucket. Only the last part of a joined id may therefore contain a ":". An IPv6 address in an
   * earlier part is written in brackets; other earlier parts cannot contain a ":".
   */
  static final class JoinedFormat implements IdFormat {

    private final List<IdFormat> parts;

    JoinedFormat(List<IdFormat> parts) {
      if (parts.size() < 2) {
        throw new IllegalArgumentException(
            "parts: found " + parts.size() + ", expected at least 2");
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
      if (texts.size() != parts.size()) {
        throw new InvalidIdException(
            "invalid id, found %s of the %s parts of the form %s"
                .formatted(texts.size(), parts.size(), name()));
      }
      List<String> canonical = new ArrayList<>(parts.size());
      for (int i = 0; i < parts.size(); i++) {
        canonical.add(canonical(i, texts.get(i), strictness));
      }
      String whole = String.join(":", canonical);
      IdFormat.requireLength(whole, "an id of the form " + name());
      return whole;
    }

    private String canonical(int index, String text, Strictness strictness) {
      IdFormat format = parts.get(index);
      try {
        String part = format.canonical(text, strictness);
        return index == parts.size() - 1 ? part : unambiguous(part, format);
      } catch (InvalidIdException e) {
        boolean needsBrackets = isAddress(format) && index < parts.size() - 1;
        throw new InvalidIdException(
            "%s; it is part %s of the form %s%s"
                .formatted(
                    e.getMessage(),
                    index + 1,
                    name(),
                    needsBrackets ? ", where an IPv6 address needs brackets" : ""));
      }
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
          "invalid id, the %s %s has a \":\"; only the last part may have one"
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

    /** Returns the first {@code count} parts of a canonical id, with the ":" between them. */
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

    /**
     * Returns the first {@code count} parts of a canonical id, as an id of only these parts: an
     * IPv6 address in the last of these parts loses its brackets.
     */
    String firstParts(String canonical, int count) {
      String prefix = prefix(canonical, count);
      if (!prefix.endsWith("]") || !isAddress(parts.get(count - 1))) {
        return prefix;
      }
      int bracket = prefix.lastIndexOf('[');
      return prefix.substring(0, bracket) + prefix.substring(bracket + 1, prefix.length() - 1);
    }

    @Override
    public boolean equals(@Nullable Object other) {
      return other instanceof JoinedFormat that && parts.equals(that.parts);
    }

    @Override
    public int hashCode() {
      return parts.hashCode();
    }
  }

  /** Returns whether ids of a format are IP addresses, or ranges of IP addresses. */
  static boolean isAddress(IdFormat format) {
    return format instanceof IpAddressFormat || format instanceof Ipv6RangeFormat;
  }

  /**
   * The address ranges that IANA has reserved for special purposes; no client on the Internet has
   * an address in these ranges. The reserved ranges contain no multicast addresses, as in Boulder.
   * The resource file beside this class contains the ranges, their date and their source. No range
   * is needed for IPv4-mapped IPv6 addresses, which are converted to IPv4 before the lookup.
   */
  static final class SpecialPurpose {

    private static final List<Range> RANGES = load("special-purpose-addresses.csv");

    private SpecialPurpose() {}

    /** Throws an exception if an address range overlaps a reserved range. */
    static void refuse(IpAddress lowest, int prefixLength) {
      for (Range range : RANGES) {
        if (range.overlaps(lowest, prefixLength)) {
          throw new InvalidIdException(
              "invalid address, %s is in the reserved address block %s/%s (%s, %s)"
                  .formatted(lowest, range.lowest, range.length, range.name, range.reference));
        }
      }
    }

    private static List<Range> load(String resource) {
      try (InputStream in =
          Objects.requireNonNull(SpecialPurpose.class.getResourceAsStream(resource), resource)) {
        return new String(in.readAllBytes(), StandardCharsets.UTF_8)
            .lines()
            .filter(line -> !line.startsWith("#"))
            .map(Range::parse)
            .toList();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    private record Range(IpAddress lowest, int length, String name, String reference) {

      static Range parse(String line) {
        String[] columns = line.split("[,/]", 4);
        IpAddress lowest = Objects.requireNonNull(IpAddress.parse(columns[0]), line);
        return new Range(lowest, Integer.parseInt(columns[1]), columns[2], columns[3]);
      }

      boolean overlaps(IpAddress other, int otherLength) {
        int common = Math.min(length, otherLength);
        return lowest.isIpv4() == other.isIpv4()
            && lowest.prefix(common).equals(other.prefix(common));
      }
    }
  }
}
