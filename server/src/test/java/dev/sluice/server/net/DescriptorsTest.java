// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class DescriptorsTest {

  @Test
  void tooFew_belowTheLeast_saysWhatToDo() {
    assertThat(Descriptors.tooFew(64))
        .contains(
            "the process may open only 64 files and connections, expected at least 256; raise that with ulimit -n 16384, or LimitNOFILE in a systemd unit");
    assertThat(Descriptors.tooFew(255)).isPresent();
    assertThat(Descriptors.tooFew(256)).isEmpty();
    assertThat(Descriptors.tooFew(Long.MAX_VALUE)).isEmpty();
  }

  @Test
  void connections_withFewDescriptors_leaveRoomForFiles() {
    assertThat(Descriptors.connections(10_000, 256)).isEqualTo(64);
    assertThat(Descriptors.connections(10_000, 1024)).isEqualTo(832);
    assertThat(Descriptors.connections(10_000, 16_384)).isEqualTo(10_000);
    assertThat(Descriptors.connections(10_000, Long.MAX_VALUE)).isEqualTo(10_000);
  }

  @Test
  void tooFew_hereAndNow_isNot() {
    assertThat(Descriptors.tooFew()).isEmpty();
  }
}
