// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.remote.RemoteCall.NotSentException;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisConnectionException;
import java.io.IOException;
import java.util.List;
import javax.net.ssl.SSLException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
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

  /** What each of the server's words means for the call, and for the server. */
  @ParameterizedTest
  @CsvSource({
    // code, the server is away, nothing was begun, it passes
    "LOADING, true, false, false",
    "BUSY, true, false, false",
    "MASTERDOWN, true, false, false",
    "CLUSTERDOWN, true, false, false",
    "NOAUTH, true, false, false",
    "WRONGPASS, true, false, false",
    "TRYAGAIN, false, true, true",
    "NOPERM, false, true, false",
    "OOM, false, false, false",
    "READONLY, false, false, false",
    "ERR, false, false, false"
  })
  void words_ofTheServer_haveAMeaning(
      String code, boolean outage, boolean notBegun, boolean passes) {
    ServerFault fault = ServerFault.of(new RedisCommandExecutionException(code + " and more"));
    assertThat(fault.isOutage()).isEqualTo(outage);
    assertThat(fault.wasNotBegun()).isEqualTo(notBegun);
    assertThat(fault.passes()).isEqualTo(passes);
    assertThat(fault.isSilence()).isFalse();
    assertThat(fault.exception("h:1"))
        .hasMessageStartingWith("h:1: " + code + " and more")
        .hasMessageContaining("nothing was charged");
  }

  /** It may have been charged, or not: the message must not say that it was not. */
  @Test
  void serverThatSaysNothing_isAway_andNobodyKnowsWhatItCharged() {
    for (ServerFault fault :
        List.of(ServerFault.of(null), ServerFault.of(new IOException("broken pipe")))) {
      assertThat(fault.isSilence()).isTrue();
      assertThat(fault.isOutage()).isTrue();
      assertThat(fault.wasNotBegun()).isFalse();
      assertThat(fault.exception("h:1")).hasMessageStartingWith("h:1: ");
      assertThat(fault.exception("h:1").getMessage()).doesNotContain("nothing was charged");
    }
  }

  @Test
  void words_areThoseOfTheInnermostCause_orItsName() {
    assertThat(
            ServerFault.of(new IOException("outer", new IllegalStateException("inner. "))).words())
        .isEqualTo("inner");
    assertThat(ServerFault.of(new IllegalStateException((String) null)).words())
        .isEqualTo("IllegalStateException");
    assertThat(
            ServerFault.of(new IOException("x", new SSLException("no path to an anchor"))).words())
        .startsWith("the TLS handshake failed (no path to an anchor), expected a certificate");
    assertThat(
            ServerFault.of(new SSLException("Received fatal alert: certificate_required")).words())
        .isEqualTo(
            "the server refused the TLS handshake (Received fatal alert: certificate_required), expected"
                + " a client certificate that the server trusts (options cert and key)");
    assertThat(ServerFault.of(new SSLException("Received fatal alert: protocol_version")).words())
        .isEqualTo("the server refused the TLS handshake (Received fatal alert: protocol_version)");
    assertThat(ServerFault.of(new IOException("RedisHandshakeHandler not registered")).words())
        .isEqualTo("the server closed the connection directly after the greeting");
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
  void textOfAServer_isShownWithoutControlCharacters() {
    assertThat(ServerFault.oneLine("ERR \u001b[2J no\n entry"))
        .isEqualTo("ERR \\u001b[2J no entry");
    assertThat(new ClusterConnection.Node("id", "a\u001b[2J", 6379).address())
        .isEqualTo("a\\u001b[2J:6379");
  }

  @Test
  void words_ofTheNetwork_nameNoSystemCall() {
    String said = "finishConnect(..) failed with error(-111): Connection refused: /10.0.0.1:6379";
    assertThat(ServerFault.oneLine(said)).isEqualTo("connection refused: /10.0.0.1:6379");
  }
}
