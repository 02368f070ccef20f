// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.Transaction;
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
import java.util.stream.Collectors;

/** One limit of a rule, and where each part of its id comes from. Immutable. */
record Spend(String limit, List<VaryBy> id) {

  /** Finds all that can be wrong before there is a request. */
  LimitName check(Catalogue catalogue) {
    LimitName name = catalogue.get(limit);
    List<IdFormat> formats = name.id().parts();
    if (formats.size() != id.size()) {
      throw new IllegalArgumentException(
          "found %s part(s) for an id of %s (%s), expected %s: %s"
              .formatted(id.size(), name, id, formats.size(), name.id().name()));
    }
    for (int i = 0; i < id.size(); i++) {
      for (String known : id.get(i).known()) {
        var unused = formats.get(i).canonical(known, Strictness.LENIENT);
      }
    }
    return name;
  }

  /** Returns the transaction of a request; empty where it skips the limit. */
  Optional<Transaction> transaction(
      Limits limits, RequestFacts facts, Map<String, String> variables) {
    List<String> parts = new ArrayList<>(id.size());
    for (VaryBy part : id) {
      String value = part.value(facts, variables);
      if (value == null) {
        return Optional.empty();
      }
      parts.add(value);
    }
    try {
      String text = limits.catalogue().get(limit).id().join(parts, Strictness.LENIENT);
      return Optional.of(Transaction.of(limits, limit, text));
    } catch (InvalidIdException e) {
      // Its message quotes the value, which a function of the application's may want to keep.
      throw new UnusableRequestException(
          "the request has an unusable value as %s, which its limit needs"
              .formatted(id.stream().map(VaryBy::toString).collect(Collectors.joining(" or "))));
    }
  }
}
