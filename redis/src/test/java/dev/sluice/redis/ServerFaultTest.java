// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.redis.ScriptCall.NotSentException;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisConnectionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class ServerFaultTest {

  @ParameterizedTest
  @ValueSource(
      strings = {
        "ERR max number of clients reached",
        "ERR DB index is out of range",
        "DENIED Redis is running in protected mode",
        "NOPERM this user has no permissions to run the 'select' command",
      })
  void refusedGreeting_isAnOutageAndNoKeysFault(String words) {
    var said = new RedisCommandExecutionException(words);
    ServerFault greeting =
        ServerFault.of(new NotSentException(new RedisConnectionException("no", said)));
    assertThat(greeting.isOutage()).isTrue();
    assertThat(greeting.wasNotBegun()).isFalse();
    assertThat(greeting.exception("there")).hasMessageContaining("nothing was charged");
    assertThat(ServerFault.of(said).isOutage()).isFalse(); // as the answer to a call
  }

  @Test
  void words_ofTheClient_areOneLineWithoutALogin() {
    assertThat(
            ServerFault.oneLine(
                "Cannot retrieve cluster partitions from [redis://app:******@h:1?timeout=2s,"
                    + " rediss://****@i:2?timeout=2s]\n\nDetails:\n\t[redis://app:******@h:1?timeout=2s]:"
                    + " Connection refused.\n"))
        .isEqualTo(
            "Cannot retrieve cluster partitions from [redis://h:1, rediss://i:2] Details:"
                + " [redis://h:1]: connection refused");
  }

  @Test
  void words_ofTheNetwork_nameNoSystemCall() {
    String said = "finishConnect(..) failed with error(-111): Connection refused: /10.0.0.1:6379";
    assertThat(ServerFault.oneLine(said)).isEqualTo("connection refused: /10.0.0.1:6379");
  }
}
