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
 * The catalogue of a certificate authority's limits: the nine names of {@link AcmeLimit}, their id
 * formats, and their messages for denied clients. The catalogue and the other objects that an
 * instance returns share one list of public suffixes.
 *
 * <p>Immutable and thread-safe. Never blocks, except that the first use of a domain reads the
 * bundled list from the class path.
 */
public final class AcmeLimits {

  private static final AcmeLimits BUNDLED = new AcmeLimits(PublicSuffixes::bundled);

  private final Supplier<PublicSuffixes> suffixes;
  private final IdFormat.Registry idFormats;
  private final Catalogue catalogue;

  private AcmeLimits(Supplier<PublicSuffixes> suffixes) {
    AcmeFormats.Domain domain = new AcmeFormats.Domain(suffixes);
    IdFormat identValue = new AcmeFormats.IdentValue(domain);
    IdFormat domainOrCidr = new AcmeFormats.DomainOrCidr(domain);
    IdFormat fqdnSet = new AcmeFormats.FqdnSet(suffixes);
    this.suffixes = suffixes;
    this.idFormats =
        IdFormat.Registry.builtIn().with(domain).with(identValue).with(domainOrCidr).with(fqdnSet);
    this.catalogue = catalogue(domain, identValue, domainOrCidr, fqdnSet);
  }

  /**
   * Returns the limits with the list of suffixes that is bundled with Sluice.
   *
   * @return the limits, the same object at each call
   */
  public static AcmeLimits bundled() {
    return BUNDLED;
  }

  /**
   * Returns limits with a list of suffixes that can be replaced at run time.
   *
   * @param suffixes returns the current list, for example the {@code get} of an {@code
   *     AtomicReference}; must be thread-safe. The supplier is called for every id, so that a newer
   *     list is used at once
   * @return limits that use the supplied list
   */
  public static AcmeLimits with(Supplier<PublicSuffixes> suffixes) {
    return new AcmeLimits(suffixes);
  }

  /**
   * Returns the catalogue of the nine limit names.
   *
   * @return the catalogue with which limit files are loaded
   */
  public Catalogue catalogue() {
    return catalogue;
  }

  /**
   * Returns the id formats for names files: the built-in ones, and {@code domain}, {@code
   * identValue}, {@code domainOrCIDR} and {@code fqdnSet}.
   *
   * @return the registry of the id formats
   */
  public IdFormat.Registry idFormats() {
    return idFormats;
  }

  /**
   * Returns the domains and ranges under which certificates for the given identifiers are counted:
   * the registered name (eTLD+1) of each DNS name, and the /32 or /64 range of each address.
   *
   * @param identifiers the identifiers, in any order. As in Boulder, {@code *} counts as a label,
   *     so {@code *.github.io} is its own registered name
   * @return the distinct domains and ranges, sorted
   */
  public List<String> covering(Collection<Identifier> identifiers) {
    PublicSuffixes now = suffixes.get();
    TreeSet<String> covering = new TreeSet<>();
    identifiers.forEach(identifier -> covering.add(identifier.covering(now)));
    return List.copyOf(covering);
  }

  /**
   * Returns a builder of bucket keys from typed parts.
   *
   * @return the builder for the keys of these limits
   */
  public BucketKeys keys() {
    return new BucketKeys(catalogue);
  }

  /**
   * Returns a builder of the transactions of an ACME front end.
   *
   * @param limits the limits in force, whose catalogue contains the nine names of {@link AcmeLimit}
   * @return the builder of transactions
   */
  public AcmeTransactions transactions(CurrentLimits limits) {
    return new AcmeTransactions(this, limits);
  }

  private static Catalogue catalogue(
      AcmeFormats.Domain domain, IdFormat identValue, IdFormat domainOrCidr, IdFormat fqdnSet) {
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
            .overrideId(new AcmeFormats.OverriddenDomain(domain))
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
