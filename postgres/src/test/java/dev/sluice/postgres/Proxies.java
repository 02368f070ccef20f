// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/** Real objects, of which some answers are changed. Stateless. */
final class Proxies {

  private Proxies() {}

  /** Changes what a method returned. */
  interface Answered {
    @Nullable Object to(String method, @Nullable Object result) throws Exception;
  }

  /** A pool that lends one connection, again and again. */
  static DataSource lending(DataSource source, Connection only) {
    Connection kept =
        (Connection)
            Proxy.newProxyInstance(
                Connection.class.getClassLoader(),
                new Class<?>[] {Connection.class},
                (self, method, arguments) ->
                    method.getName().equals("close") ? null : ask(only, method, arguments));
    return of(
        DataSource.class,
        source,
        (method, result) -> {
          if (result instanceof Connection other) {
            other.close();
            return kept;
          }
          return result;
        });
  }

  /** An object that asks another one, and hands each answer on. */
  static <T> T of(Class<T> type, T real, Answered answered) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (self, method, arguments) ->
                answered.to(method.getName(), ask(real, method, arguments))));
  }

  private static @Nullable Object ask(Object real, Method method, Object[] arguments)
      throws Throwable {
    try {
      return method.invoke(real, arguments);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }
}
