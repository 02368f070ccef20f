// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import java.lang.reflect.Proxy;
import org.jspecify.annotations.Nullable;

/** Real objects, of which some answers are changed. Stateless. */
final class Proxies {

  private Proxies() {}

  /** Changes what a method returned. */
  interface Answered {
    @Nullable Object to(String method, @Nullable Object result) throws Exception;
  }

  /** An object that asks another one, and hands each answer on. */
  static <T> T of(Class<T> type, T real, Answered answered) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (self, method, arguments) ->
                answered.to(method.getName(), method.invoke(real, arguments))));
  }
}
