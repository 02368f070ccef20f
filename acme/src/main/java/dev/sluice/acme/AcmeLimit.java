// SPDX-License-Identifier: Apache-2.0
package dev.sluice.acme;

/**
 * The limits of an ACME certificate authority. The numbers are parts of bucket keys in stores, so
 * they never change.
 *
 * <p>Immutable and thread-safe.
 */
public enum AcmeLimit {
  /** New accounts from one IP address. */
  NEW_REGISTRATIONS_PER_IP_ADDRESS(1, "NewRegistrationsPerIPAddress"),
  /** New accounts from one /48 range of IPv6 addresses. */
  NEW_REGISTRATIONS_PER_IPV6_RANGE(2, "NewRegistrationsPerIPv6Range"),
  /** New orders of one account. */
  NEW_ORDERS_PER_ACCOUNT(3, "NewOrdersPerAccount"),
  /** Failed authorizations of one account for one identifier. */
  FAILED_AUTHORIZATIONS_PER_DOMAIN_PER_ACCOUNT(4, "FailedAuthorizationsPerDomainPerAccount"),
  /** Certificates for one registered domain, or one range of addresses. */
  CERTIFICATES_PER_DOMAIN(5, "CertificatesPerDomain"),
  /**
   * Certificates of one account for one registered domain, or one range of addresses. Has overrides
   * only; an override replaces {@link #CERTIFICATES_PER_DOMAIN} for its account.
   */
  CERTIFICATES_PER_DOMAIN_PER_ACCOUNT(6, "CertificatesPerDomainPerAccount"),
  /** Certificates for exactly one set of identifiers. */
  CERTIFICATES_PER_FQDN_SET(7, "CertificatesPerFQDNSet"),
  /** Failed authorizations after which an account is paused for an identifier. */
  FAILED_AUTHORIZATIONS_FOR_PAUSING_PER_DOMAIN_PER_ACCOUNT(
      8, "FailedAuthorizationsForPausingPerDomainPerAccount"),
  /** Requests for an override from one IP address. */
  LIMIT_OVERRIDE_REQUESTS_PER_IP_ADDRESS(9, "LimitOverrideRequestsPerIPAddress");

  private final int number;
  private final String limitName;

  AcmeLimit(int number, String limitName) {
    this.number = number;
    this.limitName = limitName;
  }

  /**
   * Returns the number in bucket keys.
   *
   * @return the number, 1 to 9
   */
  public int number() {
    return number;
  }

  /**
   * Returns the name in limit files, in the API and in metrics.
   *
   * @return the name, such as {@code NewOrdersPerAccount}
   */
  public String limitName() {
    return limitName;
  }
}
