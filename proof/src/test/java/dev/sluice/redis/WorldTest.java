// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.InvalidRequestException.Field;
import dev.sluice.redis.World.Actor;
import org.junit.jupiter.api.Test;

/** What becomes of a task that throws. */
final class WorldTest {

  private final World world = new World(false);

  private void run(RuntimeException thrown) {
    world.at(
        1,
        new Actor("a caller"),
        () -> {
          throw thrown;
        });
    world.runUntil(() -> false, 2);
  }

  @Test
  void taskThatThrows_isViolation() {
    run(new IllegalStateException("oops"));
    assertThat(world.violation())
        .startsWith("a caller ended a task with java.lang.IllegalStateException: oops at ");
  }

  @Test
  void taskOfAnInvalidRequest_isNone() {
    run(new InvalidRequestException(Field.COST, "cost 11 exceeds the burst (10)"));
    assertThat(world.violation()).isNull();
    assertThat(world.steps()).isPositive();
  }
}
