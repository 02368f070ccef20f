// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import dev.sluice.server.service.ServerConfig.Control;
import dev.sluice.server.service.ServerConfig.Doors;
import dev.sluice.server.service.ServerConfig.Http;
import dev.sluice.server.service.ServerConfig.Snapshot;
import dev.sluice.server.service.ServerConfig.Sources;
import dev.sluice.server.service.ServerConfig.Storage;
import dev.sluice.server.service.ServerConfig.Telemetry;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;

/** Settings of which a test names one part: the others are the simplest ones. */
final class Configs {

  private Configs() {}

  /** The HTTP door on loopback; port 0 for any free one. */
  static Doors onPort(int port) {
    return Doors.of(Http.on(new InetSocketAddress(InetAddress.getLoopbackAddress(), port)));
  }

  static Storage inMemory() {
    return Storage.in(StoreAccess.of("memory"));
  }

  static Storage keptIn(Path file) {
    Storage usual = inMemory();
    return new Storage(
        usual.store(),
        new Snapshot(file, Duration.ofHours(1)),
        usual.tokenKey(),
        usual.onFailure(),
        usual.onFailureByLimit(),
        false);
  }

  static ServerConfig of(Doors doors) {
    return new ServerConfig(doors, Sources.SAMPLE, inMemory(), Control.NONE, Telemetry.NONE);
  }

  static ServerConfig of(Sources sources) {
    return new ServerConfig(onPort(0), sources, inMemory(), Control.NONE, Telemetry.NONE);
  }

  static ServerConfig of(Storage storage) {
    return new ServerConfig(onPort(0), Sources.SAMPLE, storage, Control.NONE, Telemetry.NONE);
  }

  static ServerConfig of(Control control) {
    return new ServerConfig(onPort(0), Sources.SAMPLE, inMemory(), control, Telemetry.NONE);
  }

  static ServerConfig of(Telemetry telemetry) {
    return new ServerConfig(onPort(0), Sources.SAMPLE, inMemory(), Control.NONE, telemetry);
  }
}
