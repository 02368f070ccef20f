// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNoException;

import dev.sluice.server.service.StoreAccess.Stores;
import dev.sluice.store.BucketStore;
import dev.sluice.store.StoreException;
import dev.sluice.store.TimeSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class StoresTest {

  @Test
  void memory_isOpened() {
    try (BucketStore store = Stores.open(StoreAccess.of("memory"), TimeSource.system())) {
      assertThatNoException().isThrownBy(store::ping);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "memroy", "memory:x", "http://localhost", ":"})
  void unknownStore_isRefused_namingThoseThereAre(String address) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> open(address))
        .withMessageContaining("found the store \"" + address + "\"")
        .withMessageContaining("expected memory");
  }

  @Test
  void brokenRedisAddress_isRefused_withoutTellingItsPassword() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> open("rediss://user:p ss@host:6379/0"))
        .withMessageContaining("store: the address is not a URI")
        .withMessageContaining("expected rediss://host:port")
        .withMessageNotContaining("p ss")
        .withNoCause();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> open("redis://user:secret@host:6379/zero"))
        .withMessageContaining("database \"zero\"")
        .withMessageNotContaining("secret");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "redis://app:S3cret@h:1/0?timeout=1s",
        "redis://S3cret@h:1/0?prefix=a@b",
        "redis:app:S3cret@h:1",
        "redis//app:S3cret@h:1",
        "app:S3cret@h:1",
        "redis://app:S3\ncret@h:1",
        "redis://app:S3cret/#?://x@h:1",
        "redis-sentinel://h:1/0?sentinelPassword=S3cret#mymaster",
        "redis-sentinel://h:1/0?sentinelPassword=a@S3cret@b#mymaster",
        "jdbc:postgresql://db/x?user=app&password=a@S3cret",
        "jdbc:postgresql:x?user=app&password=S3cret",
        "postgresql://app:p?S3cret@h/x",
        "app:p?S3://cret@h/x"
      })
  void shown_hasNoPassword(String address) {
    assertThat(Stores.shown(address))
        .doesNotContain("S3")
        .doesNotContain("cret")
        .doesNotContain("app");
  }

  @Test
  void shown_ofAnAddressWithoutSecrets_isTheAddress() {
    assertThat(Stores.shown("redis-sentinel://a:1,b:2/3#mine"))
        .isEqualTo("redis-sentinel://a:1,b:2/3#mine");
    assertThat(Stores.shown("redis://app:pw@a:1/0?timeout=1s")).isEqualTo("redis://…@a:1/0");
    assertThat(Stores.shown("memory")).isEqualTo("memory");
  }

  @Test
  void redis_isOpenedWithoutWaitingForIt() {
    BucketStore store =
        Stores.open(
            StoreAccess.of("redis://127.0.0.1:1/0?timeout=200ms"), new BucketStore.Observer() {});
    assertThatExceptionOfType(StoreException.class).isThrownBy(store::ping);
    store.close();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "redis://app:S3cret@h",
        "redis://:S3cret@h",
        "redis-sentinel://h?sentinelPassword=S3cret#m"
      })
  void password_inTheAddressAndBesidesIt_isRefused(String address) {
    StoreAccess access = StoreAccess.of(address);
    StoreAccess both =
        access.isSentinel()
            ? access.withSentinelPassword("another")
            : access.withPassword("another");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Stores.openForOneAct(both).close())
        .withMessageContaining("give only one")
        .withMessageNotContaining("S3cret");
    assertThat(both.toString()).doesNotContain("S3cret", "another");
  }

  private static void open(String address) {
    Stores.open(StoreAccess.of(address), TimeSource.system()).close();
  }
}
