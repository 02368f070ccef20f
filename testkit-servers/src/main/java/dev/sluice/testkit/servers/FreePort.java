// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.servers;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

/** Finds a port of the loopback interface for a server that must know its port before it starts. */
public final class FreePort {

  /** The bus port of a Redis Cluster's server is the server's port plus this number. */
  private static final int BUS_OFFSET = 10_000;

  // Operating systems take the ports of outgoing connections from 32768 upwards. Ports and bus
  // ports lie below, so a port stays free while a test stops its server and starts it again.
  private static final int LOWEST = 10_000;
  private static final int BLOCKS = 100;
  private static final int BLOCK = 100;

  /**
   * One for each block of this process. Each listens on its block's first port, which claims it.
   */
  private static final List<ServerSocket> CLAIMS = new ArrayList<>();

  private static int last = -1;

  private FreePort() {}

  /**
   * Finds a port on which nobody listens. The port that is 10,000 higher is free too, for the bus
   * of a Redis Cluster. No other call returns the same port, in this process or in another that
   * runs at the same time.
   *
   * @return a port from 10,001 to 19,999
   * @throws IllegalStateException if none is left: all processes together get 9,900
   */
  public static synchronized int next() {
    while (true) {
      if (last < 0 || last % BLOCK == BLOCK - 1) {
        last = claimBlock();
      }
      last++;
      if (isFree(last) && isFree(last + BUS_OFFSET)) {
        return last;
      }
    }
  }

  private static int claimBlock() {
    int start = ThreadLocalRandom.current().nextInt(BLOCKS);
    for (int i = 0; i < BLOCKS; i++) {
      int first = LOWEST + (start + i) % BLOCKS * BLOCK;
      try {
        CLAIMS.add(new ServerSocket(first, 1, InetAddress.getLoopbackAddress()));
        return first;
      } catch (IOException e) {
        // another process has it
      }
    }
    throw new IllegalStateException("all " + BLOCKS + " blocks of ports are claimed");
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
