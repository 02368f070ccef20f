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
 * The subject of a certificate request: a DNS name, perhaps with a wildcard ({@code
 * *.example.com}), or an IP address. In order: names before addresses, each by its text.
 *
 * <p>Immutable and thread-safe. Parsing looks nothing up, and asks no list of suffixes; that is up
 * to the ids of limits.
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
   * Reads an identifier as an order has it.
   *
   * @param text a DNS name of letters, digits, hyphens and dots (other scripts as punycode), with
   *     {@code *.} before it or not; or an IP address
   * @return the identifier, its value in canonical form
   * @throws InvalidIdException if the text is neither
   */
  public static Identifier parse(String text) {
    return parse(text, "identifier", Strictness.LENIENT);
  }

  /**
   * Reads the identifiers of an order.
   *
   * @param texts each as for {@link #parse}
   * @return the identifiers, in order
   * @throws InvalidIdException if one is none
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
   * A DNS name or an IP address.
   *
   * @return the type
   */
  public Type type() {
    return type;
  }

  /**
   * The name in lower case, or the address as RFC 5952 writes it.
   *
   * @return the canonical text
   */
  public String value() {
    return value;
  }

  /**
   * Returns whether this is a name with a wildcard.
   *
   * @return true if it starts with {@code *.}
   */
  public boolean isWildcard() {
    return value.startsWith(WILDCARD);
  }

  /**
   * Returns the name that must be proven to get a certificate for this: the authorization for a
   * wildcard is for the name without it (RFC 8555, section 7.1.4).
   *
   * @return this without its wildcard
   */
  public Identifier authorized() {
    return isWildcard() ? new Identifier(Type.DNS, value.substring(WILDCARD.length()), null) : this;
  }

  /** The registered name, or the range of addresses that somebody is usually assigned. */
  String covering(PublicSuffixes suffixes) {
    return address == null ? suffixes.registeredOf(value) : rangeOf(address);
  }

  /** The range in CIDR form: an IPv4 address alone, an IPv6 address with its /64. */
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

  /** The kind of thing that an identifier names. The order matters: it is that of a set's hash. */
  public enum Type {
    /** A DNS name. */
    DNS,
    /** An IP address. */
    IP
  }
}
