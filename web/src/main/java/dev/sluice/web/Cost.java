// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.Transaction;
import dev.sluice.limit.InvalidRequestException;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/** The cost of a request: the same each time, or what a function says. Immutable. */
record Cost(long fixed, @Nullable ToLongFunction<WebRequest> ofRequest) {

  Transaction charge(Transaction transaction, WebRequest request) {
    long tokens = ofRequest == null ? fixed : ofRequest.applyAsLong(request);
    try {
      return transaction.withCost(tokens);
    } catch (InvalidRequestException e) {
      throw new UnusableRequestException(
          "the request costs %s, which the limit %s never lets pass"
              .formatted(tokens, transaction.name()));
    }
  }
}
