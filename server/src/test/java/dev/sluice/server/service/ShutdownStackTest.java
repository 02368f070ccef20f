// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limiter;
import dev.sluice.server.access.Access;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.admin.RuntimeLimits;
import dev.sluice.server.base.Generations;
import dev.sluice.server.net.ConnectionBudget;
import dev.sluice.server.reservation.Reservations;
import dev.sluice.server.reservation.TokenKey;
import dev.sluice.server.rls.OpenCalls;
import dev.sluice.server.service.Door.OpenDoors;
import dev.sluice.server.service.ServerConfig.SampleLimits;
import dev.sluice.server.service.Service.ShutdownStack;
import dev.sluice.server.stats.Denials;
import dev.sluice.store.BucketStore;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The order in which parts end. */
class ShutdownStackTest {

  private final List<String> log = new ArrayList<>();

  @Test
  void parts_endInTheReverseOrder_once_alsoAfterOneThatFails() {
    ShutdownStack started = new ShutdownStack();
    started.add(() -> log.add("store"));
    started.add(
        () -> {
          throw new IllegalStateException("does not stop, as the test wants");
        });
    started.add(
        () -> {
          throw new NoClassDefFoundError("the folder of jars was replaced, as the test wants");
        });
    started.add(() -> log.add("doors"));

    started.close();
    started.close();

    assertThat(log).containsExactly("doors", "store");
  }

  @Test
  void doors_areAllUnready_beforeTheFirstIsClosed() {
    OpenDoors doors = new OpenDoors();
    BucketStore store = BucketStore.inMemory();
    Limiter limiter = Limiter.of(SampleLimits.make(), store);
    Door.DoorContext room =
        new Door.DoorContext(
            limiter,
            store,
            new Reservations(limiter, store, TokenKey.random()),
            new SimpleMeterRegistry(),
            () -> {},
            ConnectionBudget.usual(),
            Access.open(AuditLog.none(), new SimpleMeterRegistry(), null, true),
            RuntimeLimits.inMemory(limiter.limits(), store),
            new Generations(),
            null,
            Denials.none(),
            new OpenCalls(new SimpleMeterRegistry()),
            server -> {});
    doors.open(new Recorded("http", 1), room);
    doors.open(new Recorded("resp", 2), room);
    assertThat(doors.addresses().get(0).getPort()).isEqualTo(1);
    Thread.currentThread().interrupt(); // so that nobody waits for load balancers

    doors.close();

    assertThat(Thread.interrupted()).isTrue();
    assertThat(log).containsExactly("http unready", "resp unready", "http closed", "resp closed");
  }

  private final class Recorded implements Door {

    private final String name;
    private final int port;

    Recorded(String name, int port) {
      this.name = name;
      this.port = port;
    }

    @Override
    public String protocol() {
      return "recorded";
    }

    @Override
    public Open open(DoorContext room) {
      return new Open(
          new InetSocketAddress(port),
          () -> log.add(name + " unready"),
          () -> log.add(name + " closed"));
    }
  }
}
