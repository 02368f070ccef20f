// SPDX-License-Identifier: Apache-2.0
package dev.sluice.acme;

import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.IpAddress;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Collection;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The id formats of a certificate authority. */
final class AcmeFormats {

  private AcmeFormats() {}

  /** A DNS name without a wildcard, of two or more labels and a known public suffix. */
  record Domain(Supplier<PublicSuffixes> suffixes) implements IdFormat {

    @Override
    public String name() {
      return "domain";
    }

    @Override
    public String canonical(String text, Strictness strictness) {
      IdFormat.requireLength(text, "a domain");
      if (IpAddress.parse(text) != null) {
        throw new InvalidIdException(
            "invalid domain, %s is an IP address".formatted(SafeText.quote(text)));
      }
      String name = DnsNames.canonical(text, name(), strictness);
      DnsNames.requireKnownSuffix(name, name(), suffixes.get(), strictness);
      return name;
    }
  }

  /** The format of the value of an ACME identifier: a domain, or an IP address. */
  record IdentValue(Domain domain) implements IdFormat {

    /**
     * Matches texts like IPv6 addresses: hexadecimal groups of any length, then optionally a zone.
     */
    private static final Pattern LIKE_IPV6 = Pattern.compile("[0-9a-fA-F.]*:[0-9a-fA-F:.]*(%.*)?");

    @Override
    public String name() {
      return "identValue";
    }

    @Override
    public String canonical(String text, Strictness strictness) {
      IdFormat.requireLength(text, "a domain or an IP address");
      return isAddress(text)
          ? IdFormat.ipAddress().canonical(text, strictness)
          : domain.canonical(text, strictness);
    }

    /** Returns whether a text must be valid as an IP address, and not as a domain. */
    static boolean isAddress(String text) {
      return LIKE_IPV6.matcher(text).matches() || IpAddress.parse(text) != null;
    }
  }

  /**
   * The format of the ids of certificate limits: a domain, or the /32 or /64 range of an IP address
   * in CIDR notation. In lenient mode, the canonical form of a name below a registered domain is
   * the registered domain, so that all names of a domain share a bucket. A wildcard name directly
   * under a public suffix, such as {@code *.github.io}, is accepted as a domain.
   */
  record DomainOrCidr(Domain domain) implements IdFormat {

    private static final String WILDCARD = "*.";
    private static final String IPV4_MASK = "/32";

    @Override
    public String name() {
      return "domainOrCIDR";
    }

    @Override
    public String canonical(String text, Strictness strictness) {
      IdFormat.requireLength(text, "a domain, or the /32 or /64 range of an IP address");
      if (text.indexOf('/') >= 0) {
        return range(text, strictness);
      }
      IpAddress address = IpAddress.parse(text);
      if (address != null) {
        throw new InvalidIdException(
            "invalid domainOrCIDR, %s is an IP address; write its range %s"
                .formatted(SafeText.quote(text), SafeText.quote(Identifier.rangeOf(address))));
      }
      return text.startsWith(WILDCARD)
          ? wildcard(text.substring(WILDCARD.length()), strictness)
          : registered(domain.canonical(text, strictness), strictness);
    }

    /** Returns the domain under which certificates for a name are counted. */
    private String registered(String name, Strictness strictness) {
      String registered = widened(name);
      if (strictness == Strictness.STRICT && !registered.equals(name)) {
        throw new InvalidIdException(
            "invalid domainOrCIDR, %s is not the domain under which certificates are counted: %s"
                .formatted(SafeText.quote(name), SafeText.quote(registered)));
      }
      return registered;
    }

    /** Returns a wildcard directly under a public suffix; throws for any other wildcard. */
    private String wildcard(String below, Strictness strictness) {
      String name = WILDCARD + domain.canonical(below, strictness);
      if (!widened(name).equals(name)) {
        throw new InvalidIdException(
            "invalid domainOrCIDR, %s has a wildcard; write the domain under which certificates are counted: %s"
                .formatted(SafeText.quote(name), SafeText.quote(widened(name))));
      }
      return name;
    }

    @Override
    public String widened(String canonicalId) {
      return canonicalId.indexOf('/') >= 0
          ? canonicalId
          : domain.suffixes().get().registeredOf(canonicalId);
    }

    private static String range(String text, Strictness strictness) {
      if (text.indexOf(':') >= 0) {
        return IdFormat.ipv6Range(64).canonical(text, strictness);
      }
      String address = text.substring(0, text.indexOf('/'));
      if (!text.equals(address + IPV4_MASK)) {
        throw new InvalidIdException(
            "invalid domainOrCIDR, %s is not an IPv4 address with a /32 mask in CIDR notation"
                .formatted(SafeText.quote(text)));
      }
      return IdFormat.ipAddress().canonical(address, strictness) + IPV4_MASK;
    }
  }

  /**
   * The format of ids in overrides: a domain, or the lowest IP address of a range. The lowest
   * address stands for the whole range. The canonical text of an id is the text that {@link
   * DomainOrCidr} would return; lenient mode accepts the canonical text, so that saved overrides
   * can be read back.
   */
  record OverriddenDomain(Domain domain) implements IdFormat {

    @Override
    public String name() {
      return "domainOrIPAddress";
    }

    @Override
    public String canonical(String text, Strictness strictness) {
      IdFormat.requireLength(text, "a domain or an IP address");
      int slash = text.indexOf('/');
      if (slash >= 0 && IdentValue.isAddress(text.substring(0, slash))) {
        IpAddress lowest = IpAddress.parse(text.substring(0, slash));
        if (strictness == Strictness.LENIENT
            && lowest != null
            && Identifier.rangeOf(lowest).equals(text)) {
          return text;
        }
        throw new InvalidIdException(
            "invalid domainOrIPAddress, %s is a range, expected a domain or one IP address"
                .formatted(SafeText.quote(text)));
      }
      if (!IdentValue.isAddress(text)) {
        return domain.canonical(text, strictness);
      }
      String canonical = IdFormat.ipAddress().canonical(text, strictness);
      IpAddress address = IpAddress.parse(canonical);
      if (address == null) {
        throw new IllegalStateException("the canonical address cannot be parsed: " + canonical);
      }
      return lowestOf(Identifier.rangeOf(address), canonical);
    }

    @Override
    public String widened(String canonicalId) {
      return canonicalId.indexOf('/') >= 0
          ? canonicalId
          : domain.suffixes().get().registeredOf(canonicalId);
    }

    @Override
    public @Nullable String doubt(String canonicalId) {
      String registered = widened(canonicalId);
      return registered.equals(canonicalId)
          ? null
          : "no request can match %s: certificates are counted under %s"
              .formatted(SafeText.quote(canonicalId), SafeText.quote(registered));
    }

    /** Returns an address's range; throws if the address is not the lowest address of the range. */
    private static String lowestOf(String range, String address) {
      String lowest = range.substring(0, range.indexOf('/'));
      if (!lowest.equals(address)) {
        throw new InvalidIdException(
            "invalid domainOrIPAddress, %s is not the lowest address of its range %s, expected %s"
                .formatted(SafeText.quote(address), range, SafeText.quote(lowest)));
      }
      return range;
    }
  }

  /**
   * The format of a set of identifiers, separated by commas, in any order. The canonical form of an
   * id is the hash of the set of identifiers. An id can also be the hash of a set of identifiers: a
   * hash contains no dot, so the hash differs from every DNS name.
   */
  record FqdnSet(Supplier<PublicSuffixes> suffixes) implements IdFormat {

    /** The maximum number of identifiers in one order. */
    static final int MOST = 100;

    /**
     * The maximum number of characters in an id: twice the length of {@link #MOST} long
     * identifiers, so that an id with repeated identifiers is accepted.
     */
    private static final int LONGEST = 2 * MOST * 256;

    private static final Pattern HASH = Pattern.compile("[0-9a-f]{64}");

    @Override
    public String name() {
      return "fqdnSet";
    }

    @Override
    public String canonical(String text, Strictness strictness) {
      if (HASH.matcher(text).matches()) {
        return text;
      }
      if (text.isEmpty()) {
        throw new InvalidIdException("the id is empty, expected identifiers joined with \",\"");
      }
      // A list of identifiers can be longer than other ids, since only its hash is stored.
      if (text.length() > LONGEST) {
        throw tooMany(text.length() + " characters");
      }
      Set<Identifier> identifiers = new HashSet<>();
      for (String one : text.split(",", -1)) {
        identifiers.add(identifier(one, strictness));
      }
      if (identifiers.size() > MOST) {
        throw tooMany(identifiers.size() + " identifiers");
      }
      return hash(identifiers);
    }

    private Identifier identifier(String text, Strictness strictness) {
      Identifier identifier = Identifier.parse(text, name(), strictness);
      if (identifier.type() == Identifier.Type.DNS) {
        String domain = identifier.authorized().value();
        DnsNames.requireKnownSuffix(domain, name(), suffixes.get(), strictness);
      } else {
        // canonical() throws for reserved addresses.
        var unused = IdFormat.ipAddress().canonical(text, strictness);
      }
      return identifier;
    }

    private static InvalidIdException tooMany(String found) {
      return new InvalidIdException(
          "invalid fqdnSet, found %s, expected at most %s identifiers".formatted(found, MOST));
    }

    /** Returns the SHA-256, in hex, of the sorted identifiers, joined with ",". */
    static String hash(Collection<Identifier> identifiers) {
      String joined =
          new TreeSet<>(identifiers)
              .stream().map(Identifier::value).collect(Collectors.joining(","));
      try {
        byte[] digest =
            MessageDigest.getInstance("SHA-256").digest(joined.getBytes(StandardCharsets.UTF_8));
        return HexFormat.of().formatHex(digest);
      } catch (NoSuchAlgorithmException e) {
        throw new IllegalStateException("every Java platform has SHA-256", e);
      }
    }
  }
}
