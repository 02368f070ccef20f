// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.net.ConnectionBudget.OpenFileLimit;
import org.junit.jupiter.api.Test;

final class OpenFileLimitTest {

  @Test
  void tooFew_belowTheLeast_saysWhatToDo() {
    assertThat(OpenFileLimit.tooFew(64))
        .contains(
            "the process may open only 64 files and connections, expected at least 256; raise the limit with ulimit -n 16384, or LimitNOFILE in a systemd unit");
    assertThat(OpenFileLimit.tooFew(255)).isPresent();
    assertThat(OpenFileLimit.tooFew(256)).isEmpty();
    assertThat(OpenFileLimit.tooFew(Long.MAX_VALUE)).isEmpty();
  }

  @Test
  void connections_withFewDescriptors_leaveRoomForFiles() {
    assertThat(OpenFileLimit.connections(10_000, 256)).isEqualTo(64);
    assertThat(OpenFileLimit.connections(10_000, 1024)).isEqualTo(832);
    assertThat(OpenFileLimit.connections(10_000, 16_384)).isEqualTo(10_000);
    assertThat(OpenFileLimit.connections(10_000, Long.MAX_VALUE)).isEqualTo(10_000);
  }

  @Test
  void tooFew_hereAndNow_isNot() {
    assertThat(OpenFileLimit.tooFew()).isEmpty();
  }
}
