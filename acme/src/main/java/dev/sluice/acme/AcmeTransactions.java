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
 * Makes the transactions of an ACME front end: for each request of a client, the batch of
 * transactions to spend with a {@link dev.sluice.Limiter}.
 *
 * <p>As in Boulder, a limit without a default is disabled: its transaction is always allowed. A
 * warning is logged for each limit without a default, when this object is made and after each
 * change of the limits. A wildcard identifier keeps the {@code *.} in the set of an order and loses
 * the {@code *.} for authorizations. Certificates for a wildcard identifier are counted under its
 * registered domain.
 *
 * <p>Immutable and thread-safe; never blocks. Each call uses the limits that are in force at the
 * time of the call.
 */
public final class AcmeTransactions {

  /**
   * The maximum number of distinct identifiers in one order; this number bounds the size of the
   * order's batch.
   */
  public static final int MOST_IDENTIFIERS = AcmeFormats.FqdnSet.MOST;

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
   * Returns the transactions for a new account: one token for the client's address and, for an IPv6
   * address, one token for its /48 range. Spend the batch before the account is created.
   *
   * @param client the client's address
   * @return the transactions to spend as one batch
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
   * Returns the transactions for a new order. The batch spends one token from the account's bucket.
   * The batch also checks all limits that could later prevent the certificate of this order. Spend
   * the batch before the order is created. A renewal is exempt from the limits on orders and on
   * domains.
   *
   * @param regId the account's registration id, unsigned, not 0
   * @param requested the identifiers, 1 to {@link #MOST_IDENTIFIERS}; repetitions are ignored
   * @param isRenewal whether the order renews an existing certificate
   * @return the transactions to spend as one batch
   * @throws InvalidIdException if the account or the identifiers are missing, or an identifier is
   *     under no public suffix
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
   * Returns the transactions for an issued certificate: one token for each covering domain and one
   * for the set of identifiers, as far as the buckets have tokens. If the account has an override
   * for a domain, the batch also spends from the account's own bucket. A renewal spends only from
   * the bucket of the set of identifiers. Spend the batch after the issuance.
   *
   * @param regId the account's registration id, unsigned, not 0
   * @param issued the identifiers, 1 to {@link #MOST_IDENTIFIERS}; repetitions are ignored
   * @param isRenewal whether the certificate renews an existing one
   * @return the transactions to spend as one batch, which is never denied
   * @throws InvalidIdException if the identifiers are missing; also, unless the certificate is a
   *     renewal, if the account is missing, or an identifier is under no public suffix
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
   * Returns the transaction for a failed authorization: one token of the account's bucket for the
   * identifier, if the bucket has a token. Spend the transaction when the authorization fails.
   *
   * @param regId the account's registration id, unsigned, not 0
   * @param identifier the identifier for which the authorization failed
   * @return the transaction, which is never denied
   * @throws InvalidIdException if the account is missing, or the public suffix is unknown
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
   * Returns the transaction that counts a failed authorization, so that an account with many
   * failures can be paused. Spend the transaction when the authorization fails. If the spend is
   * denied, pause the account for this identifier.
   *
   * @param regId the account's registration id, unsigned, not 0
   * @param identifier the identifier for which the authorization failed
   * @return the transaction to spend
   * @throws InvalidIdException if the account is missing, or the public suffix is unknown
   */
  public Transaction failedAuthorizationForPausing(long regId, Identifier identifier) {
    return forIdentifier(
        limits.get(),
        AcmeLimit.FAILED_AUTHORIZATIONS_FOR_PAUSING_PER_DOMAIN_PER_ACCOUNT,
        regId,
        identifier.authorized());
  }

  /**
   * Returns the transaction that clears the counted failures, after the end of a pause or after a
   * successful authorization. Pass the transaction to {@linkplain dev.sluice.Limiter#reset(List)
   * reset}.
   *
   * @param regId the account's registration id, unsigned, not 0
   * @param identifier the identifier for which the failures are cleared
   * @return the transaction, which is valid only for a reset
   * @throws InvalidIdException if the account is missing, or the public suffix is unknown
   */
  public Transaction unpause(long regId, Identifier identifier) {
    return failedAuthorizationForPausing(regId, identifier).resetOnly();
  }

  /**
   * Returns the transaction for a request for an override in a web form. Spend the transaction
   * before the request is accepted.
   *
   * @param client the client's address
   * @return the transaction to spend
   */
  public Transaction overrideRequest(IpAddress client) {
    return of(
        limits.get(), AcmeLimit.LIMIT_OVERRIDE_REQUESTS_PER_IP_ADDRESS, AcmeIds.ipAddress(client));
  }

  /** Returns the distinct identifiers to authorize, without wildcards. */
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

  /** Returns the distinct identifiers; throws if there are too many. */
  private static Set<Identifier> distinct(Collection<Identifier> identifiers) {
    Set<Identifier> distinct = new LinkedHashSet<>();
    for (Identifier identifier : identifiers) {
      if (distinct.add(identifier) && distinct.size() > MOST_IDENTIFIERS) {
        throw new InvalidRequestException(
            Field.TRANSACTIONS,
            "found %s distinct identifiers, expected at most %s"
                .formatted(new HashSet<>(identifiers).size(), MOST_IDENTIFIERS));
      }
    }
    return distinct;
  }
}
