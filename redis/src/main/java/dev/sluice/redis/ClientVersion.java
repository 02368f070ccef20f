// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.MaintNotificationsConfig;
import io.lettuce.core.RedisClient;
import io.lettuce.core.resource.EpollProvider;
import io.lettuce.core.resource.IOUringProvider;
import io.lettuce.core.resource.KqueueProvider;
import org.jspecify.annotations.Nullable;

/**
 * The Lettuce that the application brings, 6.5 or newer: what not every one of these versions has.
 * All other code uses only what each of them has.
 */
final class ClientVersion {

  /** A class that entered Lettuce with 6.5: on a module path no package knows its version. */
  private static final String SINCE_6_5 = "io.lettuce.core.json.JsonParser";

  /** A class of Lettuce that needs a class of Netty 4.2. */
  private static final String FOR_NETTY_4_2 = "io.lettuce.core.resource.NioProvider";

  private static final String SINCE_NETTY_4_2 = "io.netty.channel.MultiThreadIoEventLoopGroup";

  private static final String SINCE_7_0 = "io.lettuce.core.MaintNotificationsConfig";

  /** A class that every Lettuce has: the one that tells its version entered it with 6.3. */
  private static final Class<?> OF_LETTUCE = RedisClient.class;

  private ClientVersion() {}

  /**
   * Refuses a Lettuce that is too old, or too new for its Netty.
   *
   * @throws IllegalStateException if it is older than 6.5, or needs Netty 4.2 and finds 4.1
   */
  static void check() {
    check(OF_LETTUCE.getClassLoader(), OF_LETTUCE.getPackage().getImplementationVersion());
  }

  static void check(ClassLoader loader, @Nullable String version) {
    if (!exists(SINCE_6_5, loader)) {
      throw new IllegalStateException(
          "sluice-redis needs Lettuce 6.5 or newer, found %s; set the version of io.lettuce:lettuce-core"
              .formatted(version == null ? "an older one" : version));
    }
    if (exists(FOR_NETTY_4_2, loader) && !exists(SINCE_NETTY_4_2, loader)) {
      throw new IllegalStateException(
          "%s needs Netty 4.2, found an older one; set the version of io.lettuce:lettuce-core to 6.8, or that of io.netty to 4.2"
              .formatted(version == null ? "this Lettuce" : "Lettuce " + version));
    }
  }

  /**
   * Turns maintenance notifications off, where Lettuce has them: it asks each server for them in
   * its greeting, and answers them by connecting elsewhere, which a {@link LazyConnection} does not
   * expect.
   */
  static void withoutMaintenanceNotifications(ClientOptions.Builder options) {
    if (exists(SINCE_7_0, OF_LETTUCE.getClassLoader())) {
      Since7.withoutMaintenanceNotifications(options);
    }
  }

  /** Whether the transport in use can time its keep-alives; Lettuce warns where it cannot. */
  static boolean hasTimedKeepAlive() {
    return EpollProvider.isAvailable()
        || IOUringProvider.isAvailable()
        || (!KqueueProvider.isAvailable() && ModuleLayer.boot().findModule("jdk.net").isPresent());
  }

  private static boolean exists(String name, ClassLoader loader) {
    try {
      Class.forName(name, false, loader);
      return true;
    } catch (ClassNotFoundException e) {
      return false;
    }
  }

  /** Loaded only where Lettuce has what it names. */
  private static final class Since7 {

    static void withoutMaintenanceNotifications(ClientOptions.Builder options) {
      options.maintNotificationsConfig(MaintNotificationsConfig.disabled());
    }
  }
}
