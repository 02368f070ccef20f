// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import dev.sluice.server.net.SluiceServer;
import java.net.InetSocketAddress;

/** An open door that is a port of Armeria's. */
record OpenServer(SluiceServer server) implements Door.Open {

  @Override
  public InetSocketAddress address() {
    return server.address();
  }

  @Override
  public void unready() {
    server.unready();
  }

  @Override
  public void close() {
    server.drain();
  }
}
