// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import com.sun.management.UnixOperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.Optional;

/**
 * The bound of the system on the files and connections that a process has open. Beyond it a JVM
 * cannot load classes, and a port cannot accept. So a server with too few does not start, and one
 * with few bounds its connections instead of meeting the system's bound. Stateless.
 */
public final class Descriptors {

  /** The least bound with which a server starts. */
  static final int LEAST = 256;

  /** Kept for jars, files, ports, event loops, the store, and connections about to be closed. */
  static final int BESIDE_CONNECTIONS = 192;

  /** What to do about a bound that is too low. */
  static final String REMEDY = "raise that with ulimit -n 16384, or LimitNOFILE in a systemd unit";

  private Descriptors() {}

  /**
   * Returns why this process cannot serve, with what to do about it.
   *
   * @return a message; empty if the bound is high enough or not known
   */
  public static Optional<String> tooFew() {
    return tooFew(bound());
  }

  static Optional<String> tooFew(long bound) {
    return bound >= LEAST
        ? Optional.empty()
        : Optional.of(
            "the process may open only %s files and connections, expected at least %s; %s"
                .formatted(bound, LEAST, REMEDY));
  }

  /**
   * Returns how many connections fit.
   *
   * @param wanted the most there should be
   * @return that, or less
   */
  static int connections(int wanted) {
    return connections(wanted, bound());
  }

  static int connections(int wanted, long bound) {
    return (int) Math.min(wanted, Math.max(bound, LEAST) - BESIDE_CONNECTIONS);
  }

  private static long bound() {
    return ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean system
            && system.getMaxFileDescriptorCount() > 0
        ? system.getMaxFileDescriptorCount()
        : Long.MAX_VALUE;
  }
}
