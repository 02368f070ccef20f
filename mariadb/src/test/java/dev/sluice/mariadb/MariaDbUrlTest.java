// SPDX-License-Identifier: Apache-2.0
package dev.sluice.mariadb;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.store.BucketStore;
import dev.sluice.store.StoreException;
import dev.sluice.testkit.servers.LocalMariaDb;
import java.sql.Connection;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("slow")
final class MariaDbUrlTest {

  private static final long HOUR_NANOS = 3_600_000_000_000L;
  private static final String HOST = "127.0.0.1:" + LocalMariaDb.port();

  @Test
  void url_opensAStore_withItsLoginAndOptions() throws Exception {
    TestDatabase database = new TestDatabase();
    database.execute(
        "CREATE USER IF NOT EXISTS `a:b` IDENTIFIED BY 'p@ss/?'", "GRANT ALL ON *.* TO `a:b`");
    String url = "mariadb://a%3Ab:p%40ss%2F%3F@" + HOST + "/" + database.name();
    MariaDbStore.builder(url, null).create(null);
    String options = "?prefix=shop:&connections=1&timeout=20s&tcpKeepAlive=true";
    try (BucketStore store = MariaDbStore.builder(url + options, null).open()) {
      var unused =
          store.charge(
              List.of(
                  new BucketStore.Charge(
                      "ann", Op.SPEND, HOUR_NANOS, 2 * HOUR_NANOS, Effect.NO_END)));
      assertThat(store.toString())
          .contains("mariadb://" + HOST + "/" + database.name())
          .doesNotContain("a:b")
          .doesNotContain("p@ss");
    }
    assertThat(database.number("SELECT COUNT(*) FROM sluice_bucket WHERE bucket = 'shop:ann'"))
        .isOne();
  }

  @Test
  void password_besidesTheUrl_isUsed_andAWrongOneIsNotShown() throws Exception {
    TestDatabase database = new TestDatabase();
    database.execute(
        "CREATE USER IF NOT EXISTS app IDENTIFIED BY 'hunter2'", "GRANT ALL ON *.* TO app");
    for (String url :
        List.of(
            "mariadb://app@" + HOST + "/" + database.name(),
            "jdbc:mariadb://" + HOST + "/" + database.name() + "?user=app")) {
      try (Connection connection = MariaDbUrl.of(url, "hunter2").getConnection()) {
        assertThat(connection.isValid(1)).isTrue();
      }
      try (BucketStore store = MariaDbStore.builder(url, "hunter3").open()) {
        assertThatThrownBy(store::ping)
            .isInstanceOf(StoreException.class)
            .hasMessageContaining("Access denied")
            .hasMessageNotContaining("hunter");
      }
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "mariadb://u:secret@h/d",
        "jdbc:mariadb://h/d?user=u&password=secret",
        "mariadb://u@h/d?password=secret"
      })
  void twoPasswords_areRefused(String url) {
    assertThatThrownBy(() -> MariaDbStore.builder(url, "p@ss"))
        .hasMessageContaining("give only one")
        .hasMessageNotContaining("secret")
        .hasMessageNotContaining("p@ss");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "mysql://u:hunter2@h/d",
        "mariadb:hunter2",
        "mariadb://u:p?hunter2@h/d",
        "mariadb://u:p?hunter&x=1@h/d",
        "mariadb://u:12#hunter2@h/d",
        "mariadb://u:12/hunter2@h/d",
        "mariadb://u:12?prefix=hunter2@h/d",
        "jdbc:mariadb://u:hunter2@h/d",
        "jdbc:mariadb://h:hunter2/d",
        "jdbc:mariadb://h/d?user=u&password=a&hunter@b",
        ""
      })
  void url_ofNoDatabase_orWhosePasswordIsNotEncoded_isRefusedWithoutIt(String url) {
    assertThatThrownBy(() -> MariaDbStore.builder(url, null))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageNotContaining("hunter")
        .hasMessageNotContaining("u:12");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "prefx=a | found the option \"prefx\" in the URL of the database",
        "prefx=a | did you mean \"prefix\"",
        "durability=sync | a property of the MariaDB driver",
        "connections=many | mariadb://h/d: option connections: found \"many\", expected a whole number",
        "connections=0 | option connections: found 0, expected 1 to 16",
        "connections=17 | option connections: found 17, expected 1 to 16",
        "prefix=a&prefix=b | found the option \"prefix\" twice, expected each option once",
        "timeout=0s | option timeout: found 0s, expected 1ms to 1h"
      })
  void badOption_isNamed(String option, String message) {
    assertThatThrownBy(() -> MariaDbStore.builder("mariadb://u:p@h/d?" + option, null))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(message);
  }

  @Test
  @SuppressWarnings("NullAway") // a null is a mistake of the application
  void builder_wrongValueOrNull_isRefusedByName() {
    MariaDbStoreBuilder builder = MariaDbStore.builder("mariadb://u:secret@h/d", null);
    assertThatThrownBy(() -> builder.timeout(Duration.ZERO))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("store mariadb://h/d: option timeout: found 0s, expected 1ms to 1h");
    assertThatThrownBy(() -> builder.prefix(null)).hasMessage("prefix");
    assertThatThrownBy(() -> builder.clock(null)).hasMessage("time");
    assertThatThrownBy(() -> builder.observer(null)).hasMessage("newObserver");
  }
}
