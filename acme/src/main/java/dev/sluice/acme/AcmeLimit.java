// SPDX-License-Identifier: Apache-2.0
package dev.sluice.acme;

/**
 * The limits of an ACME certificate authority. Each limit has a number that is a part of its bucket
 * keys, so this number never changes.
 *
 * <p>Immutable and thread-safe.
 */
public enum AcmeLimit {
  /** Counts new accounts per IP address. */
  NEW_REGISTRATIONS_PER_IP_ADDRESS(1, "NewRegistrationsPerIPAddress"),
  /** Counts new accounts per /48 range of IPv6 addresses. */
  NEW_REGISTRATIONS_PER_IPV6_RANGE(2, "NewRegistrationsPerIPv6Range"),
  /** Counts new orders per account. */
  NEW_ORDERS_PER_ACCOUNT(3, "NewOrdersPerAccount"),
  /** Counts failed authorizations per account and identifier. */
  FAILED_AUTHORIZATIONS_PER_DOMAIN_PER_ACCOUNT(4, "FailedAuthorizationsPerDomainPerAccount"),
  /** Counts certificates per registered domain or range of addresses. */
  CERTIFICATES_PER_DOMAIN(5, "CertificatesPerDomain"),
  /**
   * Counts certificates per account and registered domain or range of addresses. The limit has only
   * overrides; an override replaces {@link #CERTIFICATES_PER_DOMAIN} for its account.
   */
  CERTIFICATES_PER_DOMAIN_PER_ACCOUNT(6, "CertificatesPerDomainPerAccount"),
  /** Counts certificates per exact set of identifiers. */
  CERTIFICATES_PER_FQDN_SET(7, "CertificatesPerFQDNSet"),
  /**
   * Counts failed authorizations per account and identifier. A denial means that the account is to
   * be paused for the identifier.
   */
  FAILED_AUTHORIZATIONS_FOR_PAUSING_PER_DOMAIN_PER_ACCOUNT(
      8, "FailedAuthorizationsForPausingPerDomainPerAccount"),
  /** Counts requests for overrides per IP address. */
  LIMIT_OVERRIDE_REQUESTS_PER_IP_ADDRESS(9, "LimitOverrideRequestsPerIPAddress");

  private final int number;
  private final String limitName;

  AcmeLimit(int number, String limitName) {
    this.number = number;
    this.limitName = limitName;
  }

  /**
   * Returns the number of the limit in bucket keys.
   *
   * @return the number, 1 to 9
   */
  public int number() {
    return number;
  }

  /**
   * Returns the name of the limit in limit files, in the API and in metrics.
   *
   * @return the name, such as {@code NewOrdersPerAccount}
   */
  public String limitName() {
    return limitName;
  }
}
