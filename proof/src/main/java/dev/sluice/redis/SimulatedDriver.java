// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.redis.SimulatedDatabase.Query;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.sql.Array;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.postgresql.util.PSQLException;
import org.postgresql.util.PSQLState;
import org.postgresql.util.ServerErrorMessage;

/**
 * A simulated PostgreSQL driver for one process. Implements only the JDBC methods that Sluice
 * calls. Only a {@link SimulatedThread} is allowed to call a method that waits for the database.
 */
final class SimulatedDriver {

  private static final long CONNECT_NANOS = 3_000_000_000L;
  private static final int MOST_PARAMETERS = 5;

  private final World world;
  private final SimulatedNetwork network;
  private final Supplier<@Nullable SimulatedServer> host;

  /**
   * Creates a driver.
   *
   * @param host returns the server for the next connection
   */
  SimulatedDriver(World world, SimulatedNetwork network, Supplier<@Nullable SimulatedServer> host) {
    this.world = world;
    this.network = network;
    this.host = host;
  }

  /** Implements the methods of a JDBC interface. */
  private interface Methods {
    @Nullable Object call(String name, Object[] arguments) throws SQLException;
  }

  private static <T> T of(Class<T> type, Methods methods) {
    return type.cast(
        Proxy.newProxyInstance(
            SimulatedDriver.class.getClassLoader(),
            new Class<?>[] {type},
            (proxy, method, arguments) ->
                methods.call(method.getName(), arguments == null ? new Object[0] : arguments)));
  }

  private static UnsupportedOperationException unknown(String name) {
    return new UnsupportedOperationException(name);
  }

  private static Object product(String name, Object[] arguments) {
    if (!name.equals("getDatabaseProductName")) {
      throw unknown(name);
    }
    return "PostgreSQL";
  }

  /** Returns the exception for an error of PostgreSQL. */
  static PSQLException error(String severity, String state, String words) {
    return new PSQLException(
        new ServerErrorMessage(
            "S" + severity + "\0V" + severity + "\0C" + state + "\0M" + words + "\0"));
  }

  private static PSQLException broken(String words, PSQLState state) {
    return new PSQLException(words, state, new IOException(words));
  }

  DataSource source() {
    return of(
        DataSource.class,
        (name, arguments) ->
            switch (name) {
              case "getConnection" -> connect();
              case "toString" -> "simulated";
              default -> throw unknown(name);
            });
  }

  private Connection connect() throws SQLException {
    CompletableFuture<SimulatedConnection> made = network.connect("PostgreSQL", host, open -> open);
    try {
      await(made, CONNECT_NANOS);
      return of(Connection.class, new Session(made.join()));
    } catch (CompletionException e) {
      throw broken("The connection attempt failed.", PSQLState.CONNECTION_UNABLE_TO_CONNECT);
    }
  }

  private void await(CompletableFuture<?> answer, long nanos) throws SQLException {
    SimulatedThread own = (SimulatedThread) Thread.currentThread();
    var unused = answer.whenComplete((done, failure) -> own.wake());
    if (!own.awaitAnswer(answer::isDone, world.now() + nanos)) {
      throw broken("Read timed out", PSQLState.CONNECTION_FAILURE);
    }
  }

  /** A JDBC connection. */
  private final class Session implements Methods {

    private static final long NANOS_PER_MILLI = 1_000_000;
    private static final long NEVER_NANOS = 60_000_000_000L;

    private final SimulatedConnection connection;
    private int timeoutMillis;

    Session(SimulatedConnection connection) {
      this.connection = connection;
    }

    @Override
    public @Nullable Object call(String name, Object[] arguments) throws SQLException {
      return switch (name) {
        case "getAutoCommit" -> true;
        case "getNetworkTimeout" -> timeoutMillis;
        case "setNetworkTimeout" -> {
          timeoutMillis = (int) arguments[1];
          yield null;
        }
        case "createArrayOf" -> array((Object[]) arguments[1]);
        case "createStatement" -> of(java.sql.Statement.class, new Statement(this, ""));
        case "prepareStatement" ->
            of(PreparedStatement.class, new Statement(this, (String) arguments[0]));
        case "getMetaData" -> of(DatabaseMetaData.class, SimulatedDriver::product);
        case "isValid" -> isValid((int) arguments[0] * 1_000);
        case "isClosed" -> !connection.isOpen();
        case "close" -> {
          connection.close();
          yield null;
        }
        default -> throw unknown(name);
      };
    }

    private boolean isValid(int millis) {
      int before = timeoutMillis;
      timeoutMillis = before == 0 ? millis : Math.min(before, millis);
      try {
        return !ask(new Query("", new Object[0], 0)).isEmpty();
      } catch (SQLException e) {
        return false;
      } finally {
        timeoutMillis = before;
      }
    }

    List<Object> ask(Query query) throws SQLException {
      if (!connection.isOpen()) {
        throw broken("This connection has been closed.", PSQLState.CONNECTION_DOES_NOT_EXIST);
      }
      CompletableFuture<List<Object>> answer = connection.ask(query);
      try {
        await(answer, timeoutMillis == 0 ? NEVER_NANOS : timeoutMillis * NANOS_PER_MILLI);
        return answer.join();
      } catch (CompletionException e) {
        if (e.getCause() instanceof PSQLException its) {
          throw its;
        }
        throw broken(String.valueOf(e.getCause()), PSQLState.CONNECTION_FAILURE);
      } finally {
        if (!answer.isDone()) {
          query.abandon();
          connection.close();
        }
      }
    }

    void cancel(Query query) {
      query.abandon();
      connection.server().database().cancel(query);
    }
  }

  private static Array array(Object[] elements) {
    return of(
        Array.class,
        (name, arguments) -> {
          if (name.equals("getArray")) {
            return elements;
          }
          throw unknown(name);
        });
  }

  /** A JDBC statement or prepared statement. */
  private static final class Statement implements Methods {

    private final Session session;
    private final String sql;
    private final Object[] parameters = new Object[MOST_PARAMETERS];
    private long preparedAt; // moment of the preparation; if 0, the next execution prepares
    private @Nullable Query last;

    Statement(Session session, String sql) {
      this.session = session;
      this.sql = sql;
    }

    @Override
    public @Nullable Object call(String name, Object[] arguments) throws SQLException {
      return switch (name) {
        case "setBoolean", "setInt", "setLong", "setBytes" -> {
          parameters[(int) arguments[0] - 1] = arguments[1];
          yield null;
        }
        case "setArray" -> {
          parameters[(int) arguments[0] - 1] = ((Array) arguments[1]).getArray();
          yield null;
        }
        case "executeQuery" -> execute(arguments.length == 0 ? sql : (String) arguments[0]);
        case "cancel" -> {
          session.cancel(Objects.requireNonNull(last));
          yield null;
        }
        case "setPoolable", "close" -> null;
        default -> throw unknown(name);
      };
    }

    private ResultSet execute(String text) throws SQLException {
      Query query = new Query(text, Arrays.copyOf(parameters, MOST_PARAMETERS), preparedAt);
      last = query;
      List<Object> row = session.ask(query);
      preparedAt = sql.isEmpty() ? 0 : query.preparedAt();
      return of(ResultSet.class, new Row(row));
    }
  }

  /** A JDBC result set with exactly one row. */
  private static final class Row implements Methods {
    private final List<Object> columns;
    private boolean read;

    Row(List<Object> columns) {
      this.columns = columns;
    }

    @Override
    public @Nullable Object call(String name, Object[] arguments) {
      if (name.equals("close")) {
        return null;
      }
      if (name.equals("next")) {
        boolean first = !read;
        read = true;
        return first;
      }
      if (!name.startsWith("get")) {
        throw unknown(name);
      }
      Object value = columns.get((int) arguments[0] - 1);
      return value instanceof Object[] elements && name.equals("getArray")
          ? array(elements)
          : value;
    }
  }
}
