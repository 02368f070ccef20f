// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import dev.sluice.server.http.ServerState.OpenDoor;
import dev.sluice.server.net.HostPort;
import dev.sluice.server.net.SluiceServer;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;

/** The open doors. Thread-safe. */
final class Doors implements AutoCloseable {

  private final List<Door.Open> open = new CopyOnWriteArrayList<>();
  private final List<OpenDoor> shown = new CopyOnWriteArrayList<>();

  void open(Door door, Door.Room room) {
    Door.Open opened = door.open(room);
    open.add(opened);
    shown.add(new OpenDoor(door.protocol(), HostPort.format(opened.address())));
  }

  /** The doors, for people, in the order in which they were opened. */
  List<OpenDoor> shown() {
    return List.copyOf(shown);
  }

  /** The addresses of the doors, in the order in which they were opened. */
  List<InetSocketAddress> addresses() {
    return open.stream().map(Door.Open::address).toList();
  }

  /**
   * Lets load balancers notice that the service goes away, and closes the doors. A thread that is
   * interrupted does not wait for load balancers.
   */
  @Override
  public void close() {
    if (open.isEmpty()) {
      return;
    }
    open.forEach(Door.Open::unready);
    try {
      TimeUnit.NANOSECONDS.sleep(SluiceServer.UNREADY_PERIOD.toNanos());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    open.forEach(Door.Open::close);
  }
}
