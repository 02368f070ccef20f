// SPDX-License-Identifier: Apache-2.0
package orders;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.spring.RateLimitedException;
import dev.sluice.testkit.ManualTime;
import dev.sluice.testkit.spring.SluiceTest;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;

@SluiceTest(Orders.class)
class OrdersTest {

  @Autowired private Orders orders;
  @Autowired private ManualTime time;

  @Test
  void order_sixthItemInAnHour_isRefusedUntilThereIsRoom() {
    assertThat(orders.order("ann", List.of("a", "b", "c", "d", "e"))).isEqualTo("ann ordered 5");
    assertThatThrownBy(() -> orders.order("ann", List.of("f")))
        .isInstanceOf(RateLimitedException.class);

    time.advance(Duration.ofMinutes(12));

    assertThat(orders.order("ann", List.of("f"))).isEqualTo("ann ordered 1");
  }
}
