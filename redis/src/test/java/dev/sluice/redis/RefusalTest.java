// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.store.StoreException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What servers of several versions answer where a write within the script is refused. */
final class RefusalTest {

  private static StoreException refused(String answer) {
    return ChargeScript.refused(answer, Charges.keys(Charges.spend("1:a")), "there");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "READONLY You can't write against a read only replica.",
        "-READONLY You can't write against a read only replica.",
        "@user_script: 157: -READONLY You can't write against a read only replica.",
        "READONLY You can't write against a read only replica. script:"
            + " d8f2fad9f8e86a53d2a6ebd960b33c4972cacc37, on @user_script:157."
      })
  void readOnly_isToldInTheServersWords_andMeansAnotherMaster(String answer) {
    assertThat(refused(answer))
        .hasMessage(
            "there rejected the charge of [1:a]: READONLY You can't write against a read only replica;"
                + " nothing was charged")
        .isInstanceOfSatisfying(
            ChargeScript.Refusal.class, refusal -> assertThat(refusal.byReplica()).isTrue());
  }

  /** An id, or what another program has written, must not change how a line of a log is shown. */
  @Test
  void textOfOthers_isEscaped() {
    assertThat(ChargeScript.refused("OOM", Charges.keys(Charges.spend("1:a\u202eb")), "there"))
        .hasMessageStartingWith("there rejected the charge of [1:a\\u202eb]: OOM");
    assertThat(refused("GARBAGE ")).hasMessageContaining("holds \"\", expected a TAT");
    assertThat(refused("GARBAGE a\u001b[2Jb")).hasMessageContaining("holds \"a\\u001b[2Jb\",");
  }

  @Test
  void outOfMemory_isNoReplica() {
    assertThat(
            refused("@user_script: 157: -OOM command not allowed when used memory > 'maxmemory'."))
        .hasMessageContaining("[1:a]: OOM command")
        .isInstanceOfSatisfying(
            ChargeScript.Refusal.class, refusal -> assertThat(refusal.byReplica()).isFalse());
  }
}
