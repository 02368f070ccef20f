// SPDX-License-Identifier: Apache-2.0
package dev.sluice.acme;

import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import java.util.Collection;
import java.util.List;
import java.util.TreeSet;
import java.util.function.Supplier;

/**
 * The ready catalogue of a certificate authority, on one list of public suffixes. It has the nine
 * names of {@link AcmeLimit}, with the forms of their ids and what a denied client is told. All
 * that uses the same list of suffixes comes with it.
 *
 * <p>Immutable and thread-safe; nothing blocks, but that the first question about a domain reads
 * the bundled list.
 */
public final class AcmeLimits {

  private static final AcmeLimits BUNDLED = new AcmeLimits(PublicSuffixes::bundled);

  private final Supplier<PublicSuffixes> suffixes;
  private final IdFormat.Registry idFormats;
  private final Catalogue catalogue;

  private AcmeLimits(Supplier<PublicSuffixes> suffixes) {
    DomainFormat domain = new DomainFormat(suffixes);
    IdFormat identValue = new IdentValueFormat(domain);
    IdFormat domainOrCidr = new DomainOrCidrFormat(domain);
    IdFormat fqdnSet = new FqdnSetFormat(suffixes);
    this.suffixes = suffixes;
    this.idFormats =
        IdFormat.Registry.builtIn().with(domain).with(identValue).with(domainOrCidr).with(fqdnSet);
    this.catalogue = catalogue(domain, identValue, domainOrCidr, fqdnSet);
  }

  /**
   * The limits on the list of suffixes that comes with Sluice.
   *
   * @return always the same
   */
  public static AcmeLimits bundled() {
    return BUNDLED;
  }

  /**
   * The limits on a list of suffixes that can be replaced at run time.
   *
   * @param suffixes asked again for every id, so that a newer list holds from its next answer on;
   *     thread-safe, for example the {@code get} of an {@code AtomicReference}
   * @return the limits
   */
  public static AcmeLimits with(Supplier<PublicSuffixes> suffixes) {
    return new AcmeLimits(suffixes);
  }

  /**
   * The nine names.
   *
   * @return the catalogue, to load limits with
   */
  public Catalogue catalogue() {
    return catalogue;
  }

  /**
   * The built-in id formats, and {@code domain}, {@code identValue}, {@code domainOrCIDR} and
   * {@code fqdnSet}, for names files.
   *
   * @return the registry
   */
  public IdFormat.Registry idFormats() {
    return idFormats;
  }

  /**
   * Returns the names and ranges that cover some identifiers: the registered name (eTLD+1) of each
   * DNS name, the /32 or /64 of each address.
   *
   * @param identifiers in any order; a wildcard is a label, as in Boulder, so that {@code
   *     *.github.io} covers itself
   * @return each once, sorted
   */
  public List<String> covering(Collection<Identifier> identifiers) {
    PublicSuffixes now = suffixes.get();
    TreeSet<String> covering = new TreeSet<>();
    identifiers.forEach(identifier -> covering.add(identifier.covering(now)));
    return List.copyOf(covering);
  }

  /**
   * Bucket keys from typed parts.
   *
   * @return the keys of these names
   */
  public BucketKeys keys() {
    return new BucketKeys(catalogue);
  }

  /**
   * The transactions of an ACME front end.
   *
   * @param limits the limits that hold at any moment, of a catalogue with these names
   * @return their builder
   */
  public AcmeTransactions transactions(CurrentLimits limits) {
    return new AcmeTransactions(this, limits);
  }

  private static Catalogue catalogue(
      DomainFormat domain, IdFormat identValue, IdFormat domainOrCidr, IdFormat fqdnSet) {
    IdFormat regId = IdFormat.regId();
    return Catalogue.of(
        name(AcmeLimit.NEW_REGISTRATIONS_PER_IP_ADDRESS)
            .id(IdFormat.ipAddress())
            .message(
                "too many new registrations ({burst}) from this IP address in the last {goPeriod}")
            .helpLink(docs("new-registrations-per-ip-address"))
            .build(),
        name(AcmeLimit.NEW_REGISTRATIONS_PER_IPV6_RANGE)
            .id(IdFormat.ipv6Range(48))
            .message(
                "too many new registrations ({burst}) from this /48 subnet of IPv6 addresses"
                    + " in the last {goPeriod}")
            .helpLink(docs("new-registrations-per-ipv6-range"))
            .build(),
        name(AcmeLimit.NEW_ORDERS_PER_ACCOUNT)
            .id(regId)
            .message("too many new orders ({burst}) from this account in the last {goPeriod}")
            .helpLink(docs("new-orders-per-account"))
            .build(),
        name(AcmeLimit.FAILED_AUTHORIZATIONS_PER_DOMAIN_PER_ACCOUNT)
            .id(IdFormat.joined(regId, identValue))
            .overrideId(regId)
            .message(
                "too many failed authorizations ({burst}) for \"{id.2}\" in the last {goPeriod}")
            .helpLink(docs("authorization-failures-per-identifier-per-account"))
            .build(),
        name(AcmeLimit.CERTIFICATES_PER_DOMAIN)
            .id(domainOrCidr)
            .overrideId(new OverriddenDomainFormat(domain))
            .message(
                "too many certificates ({burst}) already issued for \"{id}\" in the last {goPeriod}")
            .helpLink(docs("new-certificates-per-registered-domain"))
            .build(),
        name(AcmeLimit.CERTIFICATES_PER_DOMAIN_PER_ACCOUNT)
            .id(IdFormat.joined(regId, domainOrCidr))
            .overrideId(regId)
            .overridesOnly()
            .message(
                "too many certificates ({burst}) already issued for \"{id.2}\" in the last"
                    + " {goPeriod}")
            .helpLink(docs("new-certificates-per-registered-domain"))
            .build(),
        name(AcmeLimit.CERTIFICATES_PER_FQDN_SET)
            .id(fqdnSet)
            .message(
                "too many certificates ({burst}) already issued for this exact set of identifiers"
                    + " in the last {goPeriod}")
            .helpLink(docs("new-certificates-per-exact-set-of-identifiers"))
            .build(),
        name(AcmeLimit.FAILED_AUTHORIZATIONS_FOR_PAUSING_PER_DOMAIN_PER_ACCOUNT)
            .id(IdFormat.joined(regId, identValue))
            .overrideId(regId)
            .message(
                "too many failed authorizations in a row ({burst}) for \"{id.2}\": this account is"
                    + " paused for it")
            .helpLink(docs("consecutive-authorization-failures-per-identifier-per-account"))
            .build(),
        name(AcmeLimit.LIMIT_OVERRIDE_REQUESTS_PER_IP_ADDRESS)
            .id(IdFormat.ipAddress())
            .message(
                "too many override request form submissions ({burst}) from this IP address"
                    + " in the last {goPeriod}")
            .helpLink(docs("new-registrations-per-ip-address"))
            .build());
  }

  private static LimitName.Builder name(AcmeLimit limit) {
    return LimitName.builder(limit.number(), limit.limitName()).disabledWithoutDefault();
  }

  private static String docs(String anchor) {
    return "https://letsencrypt.org/docs/rate-limits/#" + anchor;
  }
}
