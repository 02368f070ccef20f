// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;

/*
 * The JDK has no supported way to receive a signal, and the compiler warns of sun.misc.Signal
 * whatever one does. The class has been there, exported by jdk.unsupported, in every JDK; it is
 * looked up, so that a runtime without that module still starts the server.
 */
/** The signal SIGHUP, which tells a server to read its files again. Stateless. */
final class HangUp {

  private HangUp() {}

  /**
   * Runs a task at each SIGHUP, in a thread of its own.
   *
   * @return whether the process was started to ignore that signal, as by nohup: then the task is
   *     never run, since the JVM leaves such a signal alone
   */
  static boolean run(Runnable task) {
    try {
      Class<?> signal = Class.forName("sun.misc.Signal");
      Class<?> handler = Class.forName("sun.misc.SignalHandler");
      Object onSignal =
          Proxy.newProxyInstance(
              HangUp.class.getClassLoader(),
              new Class<?>[] {handler},
              (proxy, method, arguments) -> {
                switch (method.getName()) {
                  case "handle" -> task.run();
                  case "equals" -> {
                    return proxy == arguments[0];
                  }
                  case "hashCode" -> {
                    return System.identityHashCode(proxy);
                  }
                  default -> {
                    return "reload";
                  }
                }
                return null;
              });
      Object before =
          signal
              .getMethod("handle", signal, handler)
              .invoke(null, signal.getConstructor(String.class).newInstance("HUP"), onSignal);
      return handler.getField("SIG_IGN").get(null).equals(before);
    } catch (ReflectiveOperationException e) {
      if (e instanceof InvocationTargetException
          && !(e.getCause() instanceof IllegalArgumentException)) {
        throw new IllegalStateException(e);
      }
      return false; // there is no such signal, as on Windows
    }
  }
}
