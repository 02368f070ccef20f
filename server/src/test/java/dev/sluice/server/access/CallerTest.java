// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.access;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.LimiterObserver.Act;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.LimitName;
import dev.sluice.server.access.AccessPart.Watch;
import dev.sluice.server.access.Caller.CallerKind;
import dev.sluice.server.access.Permission.Role;
import dev.sluice.server.access.Tokens.Grant;
import dev.sluice.server.access.Tokens.Scopes;
import dev.sluice.server.base.RefusedException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** What a caller may do, and on which limits. */
final class CallerTest {

  private static final Quota TEN = Quota.per(10, Duration.ofSeconds(1));

  private final Caller shop =
      Caller.of(
          new Grant("shop", Set.of(Role.DECIDE), Scopes.of(List.of("Orders*")), null),
          CallerKind.TOKEN,
          "192.0.2.7",
          Watch.NONE);

  private static Transaction on(int number, String limit) {
    return Transaction.of(LimitName.builder(number, limit).build(), TEN, "a");
  }

  /** Forward-auth has no other check of the limits of its rules. */
  @Test
  void actOnSeveralLimits_needsTheScopeForEachOfThem() {
    Transaction first = on(1, "OrdersPerUser");
    Transaction second = on(2, "OrdersPerShop");
    Transaction other = on(3, "Logins");
    assertThatCode(() -> shop.require(Act.SPEND, List.of(first, second)))
        .doesNotThrowAnyException();
    for (List<Transaction> beyond :
        List.of(
            List.of(other, first, second),
            List.of(first, other, second),
            List.of(first, second, other))) {
      assertThatThrownBy(() -> shop.require(Act.SPEND, beyond))
          .isInstanceOf(RefusedException.class)
          .hasMessageContaining("shop may not use the limit Logins");
    }
  }
}
