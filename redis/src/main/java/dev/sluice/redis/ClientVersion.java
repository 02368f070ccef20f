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
 * Checks that the application uses Lettuce 6.5 or newer, and contains all calls of features that
 * only some supported versions have.
 */
final class ClientVersion {

  /**
   * A class that Lettuce has since 6.5. On a module path, where a package has no version, the
   * presence of this class shows the version of Lettuce.
   */
  private static final String SINCE_6_5 = "io.lettuce.core.json.JsonParser";

  /** A class of Lettuce that needs a class of Netty 4.2. */
  private static final String FOR_NETTY_4_2 = "io.lettuce.core.resource.NioProvider";

  private static final String SINCE_NETTY_4_2 = "io.netty.channel.MultiThreadIoEventLoopGroup";

  private static final String SINCE_7_0 = "io.lettuce.core.MaintNotificationsConfig";

  /**
   * A class that every version of Lettuce has. Lettuce's own class that reports the version exists
   * only since Lettuce 6.3.
   */
  private static final Class<?> OF_LETTUCE = RedisClient.class;

  private ClientVersion() {}

  /**
   * Throws if the application's Lettuce is too old, or needs a newer Netty than the application
   * has.
   *
   * @throws IllegalStateException if Lettuce is older than 6.5, or if it needs Netty 4.2 and the
   *     application has Netty 4.1
   */
  static void check() {
    check(OF_LETTUCE.getClassLoader(), OF_LETTUCE.getPackage().getImplementationVersion());
  }

  static void check(ClassLoader loader, @Nullable String version) {
    if (!exists(SINCE_6_5, loader)) {
      throw new IllegalStateException(
          "sluice-redis needs Lettuce 6.5 or newer, found %s; set the version of io.lettuce:lettuce-core"
              .formatted(version == null ? "an older version" : version));
    }
    if (exists(FOR_NETTY_4_2, loader) && !exists(SINCE_NETTY_4_2, loader)) {
      throw new IllegalStateException(
          "%s needs Netty 4.2, found an older version; set the version of io.lettuce:lettuce-core to 6.8, or the version of io.netty to 4.2"
              .formatted(version == null ? "this Lettuce" : "Lettuce " + version));
    }
  }

  /**
   * Disables maintenance notifications, if Lettuce has them. Lettuce requests notifications from
   * each server, and on a notification connects to another server, which a {@link LazyConnection}
   * does not expect.
   */
  static void withoutMaintenanceNotifications(ClientOptions.Builder options) {
    if (exists(SINCE_7_0, OF_LETTUCE.getClassLoader())) {
      Since7.withoutMaintenanceNotifications(options);
    }
  }

  /**
   * Returns whether the transport in use supports keep-alive intervals. If a transport does not
   * support these intervals and they are set, Lettuce logs a warning.
   */
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

  /** This class is loaded only if Lettuce has the method that this class calls. */
  private static final class Since7 {

    static void withoutMaintenanceNotifications(ClientOptions.Builder options) {
      options.maintNotificationsConfig(MaintNotificationsConfig.disabled());
    }
  }
}
