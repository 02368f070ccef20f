// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.Limiter;
import dev.sluice.postgres.PostgresUrl;
import dev.sluice.store.StoreException;
import dev.sluice.testkit.servers.LocalPostgres;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** Buckets in the PostgreSQL of an application. */
@Tag("slow")
final class PostgresStarterTest {

  private final DataSource source = PostgresUrl.dataSource(LocalPostgres.newDatabase());
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

  @Test
  void store_ofTheDataSource_isCreatedAndUsed_withTheApplicationsName() {
    runner
        .withBean(DataSource.class, () -> source)
        .withPropertyValues("sluice.postgres.create=true", "sluice.postgres.durability=async")
        .run(
            context -> {
              assertThat(context).hasNotFailed();
              Limiter limiter = context.getBean(Limiter.class);
              String id = limited(limiter);
              List<String> keys = new ArrayList<>();
              try (Connection connection = source.getConnection();
                  Statement statement = connection.createStatement();
                  ResultSet rows =
                      statement.executeQuery(
                          "SELECT convert_from(key, 'UTF8') FROM sluice_bucket")) {
                while (rows.next()) {
                  keys.add(rows.getString(1));
                }
              }
              assertThat(keys).contains("shop:ExportsPerUser:" + id);
            });
  }

  /**
   * Spends the only token of an id, is denied a second one, and returns the id. On a busy machine,
   * a call can take longer than the store's time-out, and nobody knows what it spent: then another
   * id is used.
   */
  static String limited(Limiter limiter) {
    AtomicInteger tries = new AtomicInteger();
    return await()
        .atMost(Duration.ofMinutes(1))
        .ignoreExceptionsInstanceOf(StoreException.class)
        .until(
            () -> {
              String id = "user-" + tries.incrementAndGet();
              assertThat(limiter.spend("ExportsPerUser", id).allowed()).isTrue();
              assertThat(limiter.spend("ExportsPerUser", id).allowed()).isFalse();
              return id;
            },
            id -> true);
  }

  @Test
  void localAuto_announcesTheProcess_untilTheContextIsClosed() throws SQLException {
    runner
        .withBean(DataSource.class, () -> source)
        .withPropertyValues(
            "sluice.postgres.create=true",
            "sluice.on-failure.default=local:auto,3",
            "sluice.on-failure.limits.ExportsPerUser=local:auto")
        .run(
            context -> {
              assertThat(context).hasNotFailed();
              await().atMost(Duration.ofMinutes(1)).until(() -> announced() == 1);
            });
    // If the close has waited a second for a look in vain, the look removes the process later.
    await().atMost(Duration.ofMinutes(1)).until(() -> announced() == 0);
  }

  private long announced() throws SQLException {
    try (Connection connection = source.getConnection();
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("SELECT count(*) FROM sluice_server")) {
      return rows.next() ? rows.getLong(1) : -1;
    }
  }

  @Test
  void databaseWithoutTheTable_stopsTheStart_andSaysWhatToDo() {
    runner
        .withBean(DataSource.class, () -> source)
        .run(
            context ->
                assertThat(context)
                    .getFailure()
                    .hasRootCauseInstanceOf(SluiceConfigurationException.class)
                    .rootCause()
                    .hasMessageContaining("no table sluice_bucket"));
  }

  @Test
  void noDataSource_stopsTheStart_andSaysWhatIsMissing() {
    runner.run(
        context ->
            assertThat(context)
                .getFailure()
                .rootCause()
                .hasMessageContaining("spring.datasource needs one DataSource bean"));
  }
}
