// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.Limiter;
import dev.sluice.postgres.PostgresUrl;
import dev.sluice.testkit.servers.LocalPostgres;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
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
              assertThat(limiter.spend("ExportsPerUser", "ann").allowed()).isTrue();
              assertThat(limiter.spend("ExportsPerUser", "ann").allowed()).isFalse();
              try (Connection connection = source.getConnection();
                  Statement statement = connection.createStatement();
                  ResultSet rows =
                      statement.executeQuery(
                          "SELECT convert_from(key, 'UTF8') FROM sluice_bucket")) {
                assertThat(rows.next()).isTrue();
                assertThat(rows.getString(1)).isEqualTo("shop:ExportsPerUser:ann");
              }
            });
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
    assertThat(announced()).isZero();
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
