// SPDX-License-Identifier: Apache-2.0
package dev.sluice.mariadb;

import dev.sluice.gcra.Gcra;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.testkit.SqlLawContract;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;

/** The procedures of a real MariaDB beside the law in Java. */
@Tag("slow")
class BucketProceduresTest extends SqlLawContract {

  private Connection connection;

  @BeforeEach
  void aDatabase() throws SQLException {
    connection = new TestDatabase().source().getConnection();
  }

  @AfterEach
  void close() throws SQLException {
    connection.close();
  }

  @Override
  protected List<Long> decide(long now, List<List<Charge>> batches) throws SQLException {
    List<byte[]> keys = new ArrayList<>();
    batches.forEach(batch -> batch.forEach(charge -> keys.add(utf8(charge.key()))));
    MariaDbCall call = new MariaDbCall(sent -> {}, keys, batches, 1_000, now);
    try (PreparedStatement statement = connection.prepareStatement(call.sql())) {
      return Arrays.stream(call.run(connection, statement))
          .mapToObj(BucketProceduresTest::flipped)
          .toList();
    }
  }

  @Override
  protected long stored(String key) throws SQLException {
    try (PreparedStatement query =
        connection.prepareStatement("SELECT tat FROM sluice_bucket WHERE bucket = ?")) {
      query.setBytes(1, utf8(key));
      try (ResultSet rows = query.executeQuery()) {
        return rows.next() ? flipped(rows.getLong(1)) : Gcra.NO_TAT;
      }
    }
  }

  private static byte[] utf8(String key) {
    return key.getBytes(StandardCharsets.UTF_8);
  }

  private static long flipped(long time) {
    return time ^ Long.MIN_VALUE;
  }
}
