// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limiter;
import dev.sluice.mariadb.MariaDbStore;
import dev.sluice.postgres.Durability;
import dev.sluice.postgres.PostgresStore;
import dev.sluice.store.BucketStore;
import dev.sluice.store.StoreException;
import dev.sluice.testkit.servers.LocalMariaDb;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import javax.sql.DataSource;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.mariadb.jdbc.MariaDbDataSource;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** Buckets in the MariaDB of an application, with both modules of databases on the class path. */
@Tag("slow")
final class MariaDbStarterTest {

  private static final String JDBC = "jdbc:mariadb://127.0.0.1:%s/%s?user=root";

  private final ApplicationContextRunner runner =
      new ApplicationContextRunner()
          .withConfiguration(AutoConfigurations.of(SluiceAutoConfiguration.class))
          .withPropertyValues(
              "spring.application.name=shop",
              "sluice.store=spring.datasource",
              "sluice.limits.ExportsPerUser.id=string",
              "sluice.limits.ExportsPerUser.burst=1",
              "sluice.limits.ExportsPerUser.count=1",
              "sluice.limits.ExportsPerUser.period=24h");

  private DataSource source;

  @BeforeEach
  void aDatabase() throws SQLException {
    try (Connection connection =
            DriverManager.getConnection(JDBC.formatted(LocalMariaDb.port(), ""));
        Statement statement = connection.createStatement()) {
      statement.execute("DROP DATABASE IF EXISTS starter");
      statement.execute("CREATE DATABASE starter");
    }
    source = new MariaDbDataSource(JDBC.formatted(LocalMariaDb.port(), "starter"));
  }

  @Test
  void store_ofTheDataSource_isFoundByItsProduct_createdAndUsed() {
    runner
        .withBean(DataSource.class, () -> source)
        .withPropertyValues("sluice.mariadb.create=true", "sluice.mariadb.connections=1")
        .run(
            context -> {
              assertThat(context).hasNotFailed();
              Limiter limiter = context.getBean(Limiter.class);
              String id = PostgresStarterTest.limited(limiter);
              List<String> keys = new ArrayList<>();
              try (Connection connection = source.getConnection();
                  Statement statement = connection.createStatement();
                  ResultSet rows = statement.executeQuery("SELECT bucket FROM sluice_bucket")) {
                while (rows.next()) {
                  keys.add(rows.getString(1));
                }
              }
              assertThat(keys).contains("shop:ExportsPerUser:" + id);
            });
  }

  @Test
  void store_ofAnAddress_isOpened() throws SQLException {
    MariaDbStore.create(source, null);
    runner
        .withPropertyValues(
            "sluice.store=mariadb://root@127.0.0.1:" + LocalMariaDb.port() + "/starter")
        .run(
            context ->
                assertThat(context.getBean(BucketStore.class)).isInstanceOf(MariaDbStore.class));
  }

  @Test
  void databaseWithoutTheTable_stopsTheStart_andSaysWhatToDo() {
    runner
        .withBean(DataSource.class, () -> source)
        .run(
            context ->
                assertThat(context)
                    .getFailure()
                    .rootCause()
                    .isInstanceOf(SluiceConfigurationException.class)
                    .hasMessageContaining("procedures of this version: sluice_charge_v1, "));
  }

  /** As where only the module of PostgreSQL is on the class path. */
  @Test
  void storeInPostgres_ofADataSourceOfMariaDb_isRefused() {
    String message = "expected PostgreSQL";
    assertThatThrownBy(() -> PostgresStore.builder(source).open())
        .isInstanceOf(StoreException.class)
        .hasMessageContaining(message);
    assertThatThrownBy(() -> PostgresStore.create(source, Durability.SYNC, null))
        .isInstanceOf(SQLException.class)
        .hasMessageContaining(message);
  }

  @Test
  void dataSourceThatIsAway_stopsTheStart_asItsKindIsUnknown() throws SQLException {
    DataSource away = new MariaDbDataSource("jdbc:mariadb://127.0.0.1:1/starter?user=root");
    runner
        .withBean(DataSource.class, () -> away)
        .run(
            context ->
                assertThat(context)
                    .getFailure()
                    .rootCause()
                    .hasMessageContaining("whether the DataSource is PostgreSQL or MariaDB"));
  }
}
