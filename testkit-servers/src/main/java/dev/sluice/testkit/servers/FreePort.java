// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.servers;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

/** Finds a port of the loopback interface for a server that must know its port before it starts. */
public final class FreePort {

  /** The bus port of a Redis Cluster's server is the server's port plus this number. */
  private static final int BUS_OFFSET = 10_000;

  // Operating systems take the ports of outgoing connections from 32768 upwards. Below it, a port
  // stays free while a test stops the server and starts it again.
  private static final int LOWEST = 10_000;
  private static final int END = 32_768 - BUS_OFFSET;
  private static final int ATTEMPTS = 100;

  private FreePort() {}

  /**
   * Finds a port on which nobody listens. The port that is 10,000 higher is free too, for the bus
   * of a Redis Cluster. Nothing reserves the ports: two callers get the same port with a
   * probability of 1 in 12,768.
   *
   * @return a port from 10,000 to 22,767
   * @throws IllegalStateException if 100 random ports are all in use
   */
  public static int next() {
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
      int port = ThreadLocalRandom.current().nextInt(LOWEST, END);
      if (isFree(port) && isFree(port + BUS_OFFSET)) {
        return port;
      }
    }
    throw new IllegalStateException("no free port after " + ATTEMPTS + " attempts");
  }

  private static boolean isFree(int port) {
    try {
      new ServerSocket(port, 1, InetAddress.getLoopbackAddress()).close();
      return true;
    } catch (IOException e) {
      return false;
    }
  }
}
