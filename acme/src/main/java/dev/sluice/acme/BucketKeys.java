// SPDX-License-Identifier: Apache-2.0
package dev.sluice.acme;

import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.IpAddress;
import java.util.Collection;
import java.util.EnumSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Makes bucket keys from typed parts, for programs that must find a bucket themselves, for example
 * in Redis. Each key equals the bucket key of a transaction or an override that has the key's
 * parts.
 *
 * <p>Immutable and thread-safe. A key part that is null, empty or 0 counts as missing. For a
 * missing or malformed part, a method throws an {@link InvalidIdException} that names the part.
 */
public final class BucketKeys {

  private static final Set<AcmeLimit> BY_ADDRESS =
      EnumSet.of(
          AcmeLimit.NEW_REGISTRATIONS_PER_IP_ADDRESS,
          AcmeLimit.LIMIT_OVERRIDE_REQUESTS_PER_IP_ADDRESS);
  private static final Set<AcmeLimit> BY_ACCOUNT_AND_DOMAIN =
      EnumSet.of(
          AcmeLimit.FAILED_AUTHORIZATIONS_PER_DOMAIN_PER_ACCOUNT,
          AcmeLimit.CERTIFICATES_PER_DOMAIN_PER_ACCOUNT,
          AcmeLimit.FAILED_AUTHORIZATIONS_FOR_PAUSING_PER_DOMAIN_PER_ACCOUNT);

  private final Catalogue catalogue;

  BucketKeys(Catalogue catalogue) {
    this.catalogue = catalogue;
  }

  /**
   * Returns a key {@code number:ipAddress}.
   *
   * @param limit the limit with the number 1 or 9
   * @param address the client's address
   * @return the key, in canonical form
   * @throws InvalidIdException if the address is missing
   * @throws IllegalArgumentException if the limit's ids do not have the format of this key
   */
  public String newIpAddressBucketKey(AcmeLimit limit, @Nullable IpAddress address) {
    requireOneOf(BY_ADDRESS, limit);
    return key(limit, AcmeIds.ipAddress(address));
  }

  /**
   * Returns a key {@code 2:ipv6RangeCIDR}.
   *
   * @param address an IPv6 address in the /48 range
   * @return the key of the address's /48 range
   * @throws InvalidIdException if the address is missing, or an IPv4 address
   */
  public String newIpv6RangeBucketKey(@Nullable IpAddress address) {
    return key(AcmeLimit.NEW_REGISTRATIONS_PER_IPV6_RANGE, AcmeIds.ipv6Range(address));
  }

  /**
   * Returns a key {@code number:regId}.
   *
   * @param limit the limit with the number 3; or the limit with the number 4, 6 or 8, for an
   *     override of a whole account
   * @param regId the account's registration id, unsigned
   * @return the key, in canonical form
   * @throws InvalidIdException if the id is 0
   * @throws IllegalArgumentException if the limit's ids do not have the format of this key
   */
  public String newRegIdBucketKey(AcmeLimit limit, long regId) {
    if (limit != AcmeLimit.NEW_ORDERS_PER_ACCOUNT) {
      requireOneOf(BY_ACCOUNT_AND_DOMAIN, limit);
    }
    return key(limit, AcmeIds.regId(regId));
  }

  /**
   * Returns a key {@code number:regId:domain}.
   *
   * @param limit the limit with the number 4, 6 or 8
   * @param regId the account's registration id, unsigned
   * @param domainOrAddress a domain or an IP address; for limit 6, the key contains its registered
   *     domain or range
   * @return the key, in canonical form
   * @throws InvalidIdException if a part is missing or malformed
   * @throws IllegalArgumentException if the limit's ids do not have the format of this key
   */
  public String newRegIdDomainBucketKey(
      AcmeLimit limit, long regId, @Nullable String domainOrAddress) {
    requireOneOf(BY_ACCOUNT_AND_DOMAIN, limit);
    String value = AcmeIds.presentText(domainOrAddress, "domain");
    boolean byRange = limit == AcmeLimit.CERTIFICATES_PER_DOMAIN_PER_ACCOUNT;
    return key(limit, AcmeIds.regIdAnd(regId, byRange ? range(value) : value, "domain"));
  }

  /**
   * Returns a key {@code 5:domain} or {@code 5:CIDR}.
   *
   * @param domainOrAddress a domain or an IP address; the key contains its registered domain or
   *     range
   * @return the key, in canonical form
   * @throws InvalidIdException if the domain or address is missing or malformed
   */
  public String newDomainBucketKey(@Nullable String domainOrAddress) {
    return key(
        AcmeLimit.CERTIFICATES_PER_DOMAIN, range(AcmeIds.presentText(domainOrAddress, "domain")));
  }

  /**
   * Returns a key {@code 7:hash}.
   *
   * @param identifiers the identifiers of the set, in any order
   * @return the key, which contains the hash of the set of identifiers
   * @throws InvalidIdException if there is no identifier
   */
  public String newFqdnSetBucketKey(@Nullable Collection<Identifier> identifiers) {
    return key(AcmeLimit.CERTIFICATES_PER_FQDN_SET, AcmeIds.fqdnSet(identifiers));
  }

  private static String range(String domainOrAddress) {
    IpAddress address = IpAddress.parse(domainOrAddress);
    return address == null ? domainOrAddress : Identifier.rangeOf(address);
  }

  /** Checks an id, and returns its key; also accepts an account alone, for overrides. */
  private String key(AcmeLimit limit, String id) {
    var name = catalogue.get(limit.limitName());
    boolean accountOnly = BY_ACCOUNT_AND_DOMAIN.contains(limit) && id.indexOf(':') < 0;
    IdFormat format = accountOnly ? name.overrideId() : name.id();
    return name.bucketKey(format.widened(format.canonical(id, Strictness.LENIENT)));
  }

  private static void requireOneOf(Set<AcmeLimit> limits, AcmeLimit found) {
    if (!limits.contains(found)) {
      throw new IllegalArgumentException(
          "limit: found %s, expected one of %s".formatted(found, limits));
    }
  }
}
