// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.async.Stages;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A limit from which a rule spends. Immutable.
 *
 * @param limit the limit's name
 * @param declared the limit that the application declares; null if it declares no limit
 * @param id the sources of the parts of the id
 * @param quota the application's function for the quotas; null to use the quotas of the limits
 */
record Spend(
    String limit, @Nullable LimitName declared, List<VaryBy> id, @Nullable QuotaSource quota) {

  /** Returns the limit's name and the sources of the id, for messages. */
  @Override
  public String toString() {
    return "%s by %s%s"
        .formatted(
            limit,
            id.stream().map(VaryBy::toString).collect(Collectors.joining(" and ")),
            quota == null ? "" : " (with quotas of the application)");
  }

  /**
   * Returns the limit in the catalogue; if the catalogue lacks the limit, the limit that the
   * application declares.
   */
  private LimitName name(Catalogue catalogue) {
    LimitName known = catalogue.find(limit);
    return known == null && declared != null ? declared : catalogue.get(limit);
  }

  boolean hasDefault(Limits limits) {
    LimitName known = limits.catalogue().find(limit);
    return known != null && limits.hasDefault(known);
  }

  /** Checks all parts of this spend that do not depend on a request. */
  LimitName check(Catalogue catalogue) {
    if (declared != null) {
      catalogue.requireNoClash(declared);
    }
    LimitName name = name(catalogue);
    List<IdFormat> formats = name.id().parts();
    if (formats.size() != id.size()) {
      throw new IllegalArgumentException(
          "found %s part(s) for an id of %s (%s), expected %s: %s"
              .formatted(id.size(), name, id, formats.size(), name.id().name()));
    }
    for (int i = 0; i < id.size(); i++) {
      id.get(i).requireFits(formats.get(i));
    }
    return name;
  }

  /** Returns the id of a request in canonical form; empty if the request skips the limit. */
  Optional<String> id(Limits limits, RequestFacts facts, Map<String, String> variables) {
    IdFormat format = name(limits.catalogue()).id();
    List<IdFormat> formats = format.parts();
    List<String> parts = new ArrayList<>(id.size());
    for (int i = 0; i < id.size(); i++) {
      VaryBy part = i < formats.size() ? id.get(i).in(formats.get(i)) : id.get(i);
      String value = part.value(facts, variables);
      if (value == null) {
        return Optional.empty();
      }
      parts.add(value);
    }
    try {
      return Optional.of(format.join(parts, Strictness.LENIENT));
    } catch (InvalidIdException e) {
      // The exception's message contains the value, which the application may want to keep
      // secret.
      throw new UnusableRequestException(
          "the request has an invalid value for %s"
              .formatted(id.stream().map(VaryBy::toString).collect(Collectors.joining(" or "))));
    }
  }

  /**
   * Returns the transaction for an id.
   *
   * @param supplied the quotas that the application has supplied; null to use the quotas of the
   *     limits
   */
  Transaction transaction(
      Limits limits,
      String canonicalId,
      @Nullable CompletableFuture<@Nullable List<Quota>> supplied) {
    LimitName name = name(limits.catalogue());
    List<Quota> own = supplied == null ? null : supplied(name, supplied);
    if (own != null) {
      return Transaction.of(name, own, canonicalId);
    }
    Transaction ofLimits =
        limits.catalogue().find(limit) == null ? null : Transaction.of(limits, limit, canonicalId);
    if (ofLimits == null || (supplied != null && ofLimits.coverage().isMissing())) {
      throw new QuotaFailedException(
          name,
          "found null, expected a quota, since no default is configured for this limit",
          null);
    }
    return ofLimits;
  }

  private static @Nullable List<Quota> supplied(
      LimitName name, CompletableFuture<@Nullable List<Quota>> supplied) {
    try {
      return supplied.join();
    } catch (CompletionException | CancellationException e) {
      Throwable cause = Stages.cause(e);
      throw new QuotaFailedException(name, cause.toString(), cause);
    }
  }
}
