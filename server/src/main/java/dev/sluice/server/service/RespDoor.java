// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import dev.sluice.server.resp.RespServer;
import java.net.InetSocketAddress;

/** The Redis protocol. Immutable. */
final class RespDoor implements Door {

  private final InetSocketAddress address;

  RespDoor(InetSocketAddress address) {
    this.address = address;
  }

  @Override
  public String protocol() {
    return "redis";
  }

  @Override
  public Open open(Room room) {
    RespServer.Builder server =
        RespServer.builder(address, room.limiter(), room.reservations())
            .access(room.access())
            .tls(room.tls())
            .registry(room.meters());
    String version = RespDoor.class.getPackage().getImplementationVersion();
    if (version != null) {
      server.version(version);
    }
    return new OpenResp(server.start(room.traffic()), room);
  }

  private record OpenResp(RespServer server, Room room) implements Open {

    @Override
    public InetSocketAddress address() {
      return server.address();
    }

    @Override
    public void unready() {
      room.traffic().unready();
    }

    @Override
    public void close() {
      server.close();
    }
  }
}
