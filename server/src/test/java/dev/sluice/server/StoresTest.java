package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNoException;

import dev.sluice.store.BucketStore;
import dev.sluice.store.StoreException;
import dev.sluice.store.TimeSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class StoresTest {

  @Test
  void memory_isOpened() {
    try (BucketStore store = Stores.open("memory", TimeSource.system())) {
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
        .withMessageContaining("rediss://…@host:6379/0")
        .withMessageContaining("expected a URI");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> open("redis://user:secret@host:6379/zero"))
        .withMessageContaining("database \"zero\"")
        .withMessageNotContaining("secret");
  }

  @Test
  void redis_isOpenedWithoutWaitingForIt() {
    BucketStore store = Stores.open("redis://127.0.0.1:1/0?timeout=200ms");
    assertThatExceptionOfType(StoreException.class).isThrownBy(store::ping);
    store.close();
  }

  private static void open(String address) {
    Stores.open(address, TimeSource.system()).close();
  }
}
