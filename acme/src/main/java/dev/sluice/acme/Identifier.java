// SPDX-License-Identifier: Apache-2.0
package dev.sluice.acme;

import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.IpAddress;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * An identifier in a certificate request: a DNS name, optionally with a wildcard ({@code
 * *.example.com}), or an IP address. DNS names sort before IP addresses. Two names, or two
 * addresses, sort by their text.
 *
 * <p>Immutable and thread-safe. Parsing an identifier does not check its public suffix; the formats
 * of limit ids do.
 */
public final class Identifier implements Comparable<Identifier> {

  private static final String WILDCARD = "*.";
  private static final Comparator<Identifier> ORDER =
      Comparator.comparing(Identifier::type).thenComparing(Identifier::value);

  private final Type type;
  private final String value;
  private final @Nullable IpAddress address;

  private Identifier(Type type, String value, @Nullable IpAddress address) {
    this.type = type;
    this.value = value;
    this.address = address;
  }

  /**
   * Parses an identifier of an order.
   *
   * @param text a DNS name of letters, digits, hyphens and dots (other scripts as punycode),
   *     optionally after {@code *.}; or an IP address
   * @return the identifier, whose value is in canonical form
   * @throws InvalidIdException if the text is neither a DNS name nor an IP address
   */
  public static Identifier parse(String text) {
    return parse(text, "identifier", Strictness.LENIENT);
  }

  /**
   * Parses the identifiers of an order.
   *
   * @param texts the identifiers, each in the form that {@link #parse} accepts
   * @return the parsed identifiers, in the order of the texts
   * @throws InvalidIdException if a text is neither a DNS name nor an IP address
   */
  public static List<Identifier> parseAll(List<String> texts) {
    return texts.stream().map(Identifier::parse).toList();
  }

  static Identifier parse(String text, String what, Strictness strictness) {
    IdFormat.requireLength(text, "a domain or an IP address");
    IpAddress address = IpAddress.parse(text);
    if (address != null) {
      return new Identifier(Type.IP, strictness.canonical(text, address.toString(), what), address);
    }
    if (text.indexOf(':') >= 0 || text.indexOf('/') >= 0) {
      throw new InvalidIdException(
          "invalid %s, %s is neither a domain nor an IP address"
              .formatted(what, SafeText.quote(text)));
    }
    boolean wildcard = text.startsWith(WILDCARD);
    String name =
        DnsNames.canonical(wildcard ? text.substring(WILDCARD.length()) : text, what, strictness);
    return new Identifier(Type.DNS, wildcard ? WILDCARD + name : name, null);
  }

  /**
   * Returns the type: a DNS name or an IP address.
   *
   * @return the type of the identifier
   */
  public Type type() {
    return type;
  }

  /**
   * Returns the name in lower case, or the address in the form of RFC 5952.
   *
   * @return the canonical text
   */
  public String value() {
    return value;
  }

  /**
   * Returns whether this identifier is a name with a wildcard.
   *
   * @return true if the name starts with {@code *.}
   */
  public boolean isWildcard() {
    return value.startsWith(WILDCARD);
  }

  /**
   * Returns the identifier for which a client must be authorized. For a wildcard name, the result
   * is the name without {@code *.} (RFC 8555, section 7.1.4).
   *
   * @return this identifier without its wildcard
   */
  public Identifier authorized() {
    return isWildcard() ? new Identifier(Type.DNS, value.substring(WILDCARD.length()), null) : this;
  }

  /** Returns the registered name, or the /32 or /64 range, under which certificates are counted. */
  String covering(PublicSuffixes suffixes) {
    return address == null ? suffixes.registeredOf(value) : rangeOf(address);
  }

  /** Returns the range in CIDR notation: an IPv4 address's /32, or an IPv6 address's /64. */
  static String rangeOf(IpAddress address) {
    return address.isIpv4() ? address + "/32" : address.prefix(64) + "/64";
  }

  @Override
  public int compareTo(Identifier other) {
    return ORDER.compare(this, other);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof Identifier that && type == that.type && value.equals(that.value);
  }

  @Override
  public int hashCode() {
    return Objects.hash(type, value);
  }

  @Override
  public String toString() {
    return value;
  }

  /**
   * The type of an identifier. The order of the constants must not change, since the hash of a set
   * of identifiers depends on this order.
   */
  public enum Type {
    /** A DNS name. */
    DNS,
    /** An IP address. */
    IP
  }
}
