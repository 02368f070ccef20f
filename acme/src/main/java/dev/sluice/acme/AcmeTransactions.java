// SPDX-License-Identifier: Apache-2.0
package dev.sluice.acme;

import dev.sluice.Transaction;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.InvalidRequestException.Field;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.IpAddress;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * Builds what an ACME front end asks a {@link dev.sluice.Limiter}: for each of its requests, the
 * transactions to spend, in one batch.
 *
 * <p>As in Boulder, a limit without a default is disabled, and gives a transaction that only
 * allows. The log has a warning of each, now and when limits replace those that hold. An identifier
 * with a wildcard counts as itself in the set of an order, as the name below it for authorizations,
 * and with its covering domain for certificates.
 *
 * <p>Immutable and thread-safe; nothing blocks. The limits are read once for each request.
 */
public final class AcmeTransactions {

  /** The most identifiers of one order, each counted once, as its transactions are a batch. */
  public static final int MOST_IDENTIFIERS = FqdnSetFormat.MOST;

  private static final List<Requirement> ASKED_FOR =
      Stream.of(AcmeLimit.values())
          .map(one -> new Requirement(one.limitName(), "an ACME front end", MissingDefault.WARN))
          .toList();

  private final AcmeLimits acme;
  private final CurrentLimits limits;

  AcmeTransactions(AcmeLimits acme, CurrentLimits limits) {
    this.acme = acme;
    this.limits = limits;
    limits.require(ASKED_FOR);
  }

  /**
   * A new account: one from the address, and for IPv6 one from its /48. To spend before the account
   * is made.
   *
   * @param client the client's address
   * @return the batch
   */
  public List<Transaction> newAccount(IpAddress client) {
    Limits now = limits.get();
    List<Transaction> batch = new ArrayList<>();
    batch.add(of(now, AcmeLimit.NEW_REGISTRATIONS_PER_IP_ADDRESS, AcmeIds.ipAddress(client)));
    if (!client.isIpv4()) {
      batch.add(of(now, AcmeLimit.NEW_REGISTRATIONS_PER_IPV6_RANGE, AcmeIds.ipv6Range(client)));
    }
    return List.copyOf(batch);
  }

  /**
   * A new order: spends one from the account, and checks the limits that would prevent issuance.
   * Spend it before the order is made. A renewal is not held to the limits on orders and domains.
   *
   * @param regId the account's registration id, unsigned, not 0
   * @param requested what the certificate is for, 1 to {@link #MOST_IDENTIFIERS}; repetitions don't
   *     count
   * @param isRenewal whether the order renews a certificate that there is
   * @return the batch
   * @throws InvalidIdException if the account or the identifiers are missing, or one is under no
   *     public suffix
   * @throws InvalidRequestException if there are too many identifiers
   */
  public List<Transaction> newOrder(
      long regId, Collection<Identifier> requested, boolean isRenewal) {
    Set<Identifier> identifiers = distinct(requested);
    Limits now = limits.get();
    String set = AcmeIds.fqdnSet(identifiers);
    List<Transaction> batch = new ArrayList<>();
    if (!isRenewal) {
      batch.add(of(now, AcmeLimit.NEW_ORDERS_PER_ACCOUNT, AcmeIds.regId(regId)));
    }
    for (Identifier identifier : authorized(identifiers)) {
      batch.add(
          forIdentifier(
                  now, AcmeLimit.FAILED_AUTHORIZATIONS_PER_DOMAIN_PER_ACCOUNT, regId, identifier)
              .checkOnly());
    }
    if (!isRenewal) {
      for (String covering : acme.covering(identifiers)) {
        Transaction ofAccount = perAccount(now, regId, covering);
        batch.add((ofAccount.overridden() ? ofAccount : perDomain(now, covering)).checkOnly());
      }
    }
    batch.add(of(now, AcmeLimit.CERTIFICATES_PER_FQDN_SET, set).checkOnly());
    return List.copyOf(batch);
  }

  /**
   * A certificate that was issued: one spent, as far as it fits, for each covering domain and for
   * the set. An account with an override of its own pays there too. A renewal spends from the set
   * alone. To spend after the issuance.
   *
   * @param regId the account's registration id, unsigned, not 0
   * @param issued what the certificate is for, 1 to {@link #MOST_IDENTIFIERS}; repetitions don't
   *     count
   * @param isRenewal whether it renews a certificate that there is
   * @return the batch, which is never denied
   * @throws InvalidIdException if the account or the identifiers are missing, or one is under no
   *     public suffix
   * @throws InvalidRequestException if there are too many identifiers
   */
  public List<Transaction> certificateIssued(
      long regId, Collection<Identifier> issued, boolean isRenewal) {
    Set<Identifier> identifiers = distinct(issued);
    Limits now = limits.get();
    String set = AcmeIds.fqdnSet(identifiers);
    List<Transaction> batch = new ArrayList<>();
    if (!isRenewal) {
      for (String covering : acme.covering(identifiers)) {
        Transaction ofAccount = perAccount(now, regId, covering);
        if (ofAccount.overridden()) {
          batch.add(ofAccount.spendOnly());
        }
        batch.add(perDomain(now, covering).spendOnly());
      }
    }
    batch.add(of(now, AcmeLimit.CERTIFICATES_PER_FQDN_SET, set).spendOnly());
    return List.copyOf(batch);
  }

  /**
   * An authorization that failed: one spent, if it fits, from the failures that an account may have
   * for an identifier. To spend after the failure.
   *
   * @param regId the account's registration id, unsigned, not 0
   * @param identifier what could not be proven
   * @return the transaction, which is never denied
   * @throws InvalidIdException if the account is missing, or the identifier is under no public
   *     suffix
   */
  public Transaction failedAuthorization(long regId, Identifier identifier) {
    return forIdentifier(
            limits.get(),
            AcmeLimit.FAILED_AUTHORIZATIONS_PER_DOMAIN_PER_ACCOUNT,
            regId,
            identifier.authorized())
        .spendOnly();
  }

  /**
   * An authorization that failed, as it counts for pausing. To spend after the failure; a denial
   * means: pause the account for this identifier.
   *
   * @param regId the account's registration id, unsigned, not 0
   * @param identifier what could not be proven
   * @return the transaction
   * @throws InvalidIdException if the account is missing, or the identifier is under no public
   *     suffix
   */
  public Transaction failedAuthorizationForPausing(long regId, Identifier identifier) {
    return forIdentifier(
        limits.get(),
        AcmeLimit.FAILED_AUTHORIZATIONS_FOR_PAUSING_PER_DOMAIN_PER_ACCOUNT,
        regId,
        identifier.authorized());
  }

  /**
   * The end of a pause, also a success after failures: the failures are forgotten. To {@linkplain
   * dev.sluice.Limiter#reset(List) reset}.
   *
   * @param regId the account's registration id, unsigned, not 0
   * @param identifier what the account may try again
   * @return the transaction, good for a reset only
   * @throws InvalidIdException if the account is missing, or the identifier is under no public
   *     suffix
   */
  public Transaction unpause(long regId, Identifier identifier) {
    return failedAuthorizationForPausing(regId, identifier).resetOnly();
  }

  /**
   * A request for an override, by its form on the web. To spend before it is taken.
   *
   * @param client the client's address
   * @return the transaction
   */
  public Transaction overrideRequest(IpAddress client) {
    return of(
        limits.get(), AcmeLimit.LIMIT_OVERRIDE_REQUESTS_PER_IP_ADDRESS, AcmeIds.ipAddress(client));
  }

  /** Returns the names to prove for an order, each once; a wildcard counts as the name below it. */
  private static SortedSet<Identifier> authorized(Collection<Identifier> identifiers) {
    SortedSet<Identifier> authorized = new TreeSet<>();
    identifiers.forEach(identifier -> authorized.add(identifier.authorized()));
    return authorized;
  }

  private static Transaction forIdentifier(
      Limits now, AcmeLimit limit, long regId, Identifier identifier) {
    return of(now, limit, AcmeIds.regIdAnd(regId, identifier.value(), "identifier"));
  }

  private static Transaction perDomain(Limits now, String covering) {
    return of(now, AcmeLimit.CERTIFICATES_PER_DOMAIN, covering);
  }

  private static Transaction perAccount(Limits now, long regId, String covering) {
    return of(
        now,
        AcmeLimit.CERTIFICATES_PER_DOMAIN_PER_ACCOUNT,
        AcmeIds.regIdAnd(regId, covering, "domain"));
  }

  private static Transaction of(Limits now, AcmeLimit limit, String id) {
    return Transaction.of(now, limit.limitName(), id);
  }

  /** The identifiers, each once: a set is what a certificate is for. */
  private static Set<Identifier> distinct(Collection<Identifier> identifiers) {
    Set<Identifier> distinct = new LinkedHashSet<>();
    for (Identifier identifier : identifiers) {
      if (distinct.add(identifier) && distinct.size() > MOST_IDENTIFIERS) {
        throw new InvalidRequestException(
            Field.TRANSACTIONS,
            "found %s identifiers, expected at most %s, each counted once"
                .formatted(new HashSet<>(identifiers).size(), MOST_IDENTIFIERS));
      }
    }
    return distinct;
  }
}
