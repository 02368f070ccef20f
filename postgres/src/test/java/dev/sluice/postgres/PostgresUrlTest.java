// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.limit.Catalogue;
import java.time.Duration;
import java.util.List;
import javax.sql.DataSource;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.postgresql.ds.PGSimpleDataSource;

class PostgresUrlTest {

  @ParameterizedTest
  @CsvSource({
    "postgresql://u:p%40ss+w@db.example.com:5433/limits, db.example.com, 5433, limits, u, p@ss+w",
    "postgres://u@db.example.com/limits, db.example.com, 5432, limits, u,",
    "postgresql://u@[::1]:5433/limits, [::1], 5433, limits, u,",
    "postgresql://u@db.example.com, db.example.com, 5432, '', u,",
    "postgresql://db.example.com/limits?user=u&password=p, db.example.com, 5432, limits, u, p",
    "jdbc:postgresql://db.example.com:5433/limits?user=u, db.example.com, 5433, limits, u,"
  })
  void url_namesServerDatabaseAndUser(
      String url, String host, int port, String database, String user, String password) {
    PGSimpleDataSource source = source(url);
    assertThat(source.getServerNames()).containsExactly(host);
    assertThat(source.getPortNumbers()).containsExactly(port);
    assertThat(source.getDatabaseName()).isEqualTo(database);
    assertThat(source.getUser()).isEqualTo(user);
    assertThat(source.getPassword()).isEqualTo(password);
  }

  @Test
  void url_withSeveralHosts_namesAll() {
    PGSimpleDataSource source =
        source("postgresql://u:p@a.example.com:5433,10.0.0.1,b/limits?targetServerType=primary");
    assertThat(source.getServerNames()).containsExactly("a.example.com", "10.0.0.1", "b");
    assertThat(source.getPortNumbers()).containsExactly(5433, 5432, 5432);
    assertThat(source.getUser()).isEqualTo("u");
    assertThat(source.getPassword()).isEqualTo("p");
  }

  /** A user of some clouds has an at sign, which needs no encoding where nothing is ambiguous. */
  @Test
  void url_withAnAtSignInAnOption_isTaken() {
    assertThat(source("postgresql://h/d?user=u@server").getUser()).isEqualTo("u@server");
    assertThat(source("postgresql://u@h:5433/d?options=a@b").getUser()).isEqualTo("u");
  }

  @ParameterizedTest
  @CsvSource({"postgresql://u@h/d, ?", "jdbc:postgresql://h/d?user=u, &"})
  void waits_areBounded_unlessTheUrlSaysOtherwise(String url, String mark) {
    assertThat(source(url).getConnectTimeout()).isEqualTo(5);
    assertThat(source(url).getSocketTimeout()).isEqualTo(30);
    PGSimpleDataSource own = source(url + mark + "socketTimeout=2&connectTimeout=3");
    assertThat(own.getConnectTimeout()).isEqualTo(3);
    assertThat(own.getSocketTimeout()).isEqualTo(2);
  }

  @Test
  void password_besidesTheUrl_isUsed_andRefusedWhereTheUrlHasOneToo() {
    PGSimpleDataSource source =
        (PGSimpleDataSource) PostgresUrl.dataSource("postgresql://u@h/d", "p@ss");
    assertThat(source.getUser()).isEqualTo("u");
    assertThat(source.getPassword()).isEqualTo("p@ss");
    for (String url :
        List.of("postgresql://u:secret@h/d", "jdbc:postgresql://h/d?password=secret")) {
      assertThatThrownBy(() -> PostgresUrl.dataSource(url, "p@ss"))
          .hasMessageContaining("give only one")
          .hasMessageNotContaining("secret")
          .hasMessageNotContaining("p@ss");
    }
  }

  @Test
  void url_ofNoDatabase_isRefusedWithoutItsPassword() {
    for (String url : List.of("mysql://u:secret@h/d", "postgresql:secret", "p:secret/ /", "")) {
      assertThatThrownBy(() -> PostgresUrl.dataSource(url))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("expected postgresql://")
          .hasMessageNotContaining("secret");
    }
  }

  @Test
  void store_ofAUrlWhosePasswordIsNotEncoded_isRefusedWithoutIt() {
    for (String url :
        List.of(
            "postgresql://u:p?hunter2@h/d",
            "postgresql://u:p?hunter&x=1@h/d",
            "postgresql://u:12#hunter2@h/d",
            "postgresql://u:12/hunter2@h/d",
            "postgresql://u:12?prefix=hunter2@h/d&hunter",
            "postgresql://u:12?prefix=hunter2@h/d",
            "postgresql://u:12/x?prefix=hunter2@h/d",
            "postgresql://u:12?sslmode=hunter2@h/d",
            "jdbc:postgresql://h/d?user=u&password=a&hunter2=b",
            "jdbc:postgresql://h/d?user=u&password=a&hunter@b")) {
      assertThatThrownBy(() -> PostgresStore.builder(url))
          .as(url)
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageNotContaining("hunter")
          .hasMessageNotContaining("u:12");
    }
  }

  @Test
  void builder_wrongValue_namesTheOption() {
    PostgresStoreBuilder builder = PostgresStore.builder("postgresql://u:secret@h/d", null);
    for (ThrowingCallable wrong :
        List.<ThrowingCallable>of(
            () -> builder.connections(17),
            () -> builder.queue(0),
            () -> builder.failures(0),
            () -> builder.timeout(Duration.ZERO),
            () -> builder.denials(Duration.ofDays(1)),
            () -> builder.probe(Duration.ZERO))) {
      assertThatThrownBy(wrong)
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageMatching("store postgresql://h[^ ]*/d: option [a-z]+: found .*, expected .*");
    }
    assertThatThrownBy(() -> builder.connections(17))
        .hasMessageEndingWith("/d: option connections: found 17, expected 1 to 16");
  }

  @Test
  @SuppressWarnings("NullAway") // a mistake of the application
  void builder_null_isRefusedByName() {
    PostgresStoreBuilder builder = PostgresStore.builder("postgresql://u:p@h/d", null);
    assertThatThrownBy(() -> builder.prefix(null)).hasMessage("prefix");
    assertThatThrownBy(() -> builder.timeout(null)).hasMessage("timeout");
    assertThatThrownBy(() -> builder.clock(null)).hasMessage("time");
    assertThatThrownBy(() -> builder.observer(null)).hasMessage("newObserver");
    assertThatThrownBy(() -> builder.durability(null)).hasMessage("newDurability");
  }

  @Test
  @SuppressWarnings("NullAway") // a mistake of the application
  void dataSource_null_isRefusedAtOnce() {
    DataSource none = null;
    assertThatThrownBy(() -> PostgresStore.builder(none)).hasMessage("source");
    assertThatThrownBy(() -> new OverridesTable(none, Catalogue.of())).hasMessage("source");
    assertThatThrownBy(() -> new PenaltiesTable(none)).hasMessage("source");
  }

  private static PGSimpleDataSource source(String url) {
    return (PGSimpleDataSource) PostgresUrl.dataSource(url);
  }
}
