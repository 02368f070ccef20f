// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.UnchargedException;
import dev.sluice.server.base.FailureLog;
import dev.sluice.store.StoreException;
import org.junit.jupiter.api.Test;

final class FailureLogTest {

  @Test
  void changeThatIsNotKept_isOneLine_withoutAStackTrace() {
    try (LogLines log = new LogLines()) {
      String incident =
          FailureLog.notKept("set.yml cannot be written (disk full); nothing was changed");
      assertThat(log.lines())
          .singleElement()
          .asString()
          .endsWith(
              "incident "
                  + incident
                  + ": a change could not be saved: set.yml cannot be written (disk full); nothing was changed");
    }
  }

  @Test
  void charged_asksTheStore_notItsMessage() {
    assertThat(FailureLog.charged(new UnchargedException("full"))).isEqualTo("nothing was charged");
    assertThat(FailureLog.charged(new StoreException("lost; nothing was charged")))
        .isEqualTo("whether anything was charged is unknown");
  }
}
