// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.async;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.store.BucketStore.Presence;
import dev.sluice.store.StoreException;
import java.lang.Thread.State;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.logging.Filter;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;

/** How many servers share a store, as one of them counts. */
class FleetTest {

  private final AtomicLong nanos = new AtomicLong();
  private final List<String> others = new ArrayList<>();
  private final List<String> left = new ArrayList<>();
  private boolean away;

  private final Presence list =
      (process, time) -> {
        if (away) {
          throw new StoreException("away");
        }
        if (time.isZero()) {
          left.add(process);
        }
        List<String> all = new ArrayList<>(others);
        all.add(process);
        return all;
      };

  private Fleet fleet(int atLeast) {
    Fleet fleet = new Fleet(atLeast, nanos::get);
    fleet.enter(list, "web-1:8080");
    return fleet;
  }

  /** A list that answers only after the latch {@code answer}. */
  private Presence hanging(CountDownLatch looks, CountDownLatch answer) {
    return (process, time) -> {
      looks.countDown();
      try {
        answer.await();
      } catch (InterruptedException e) {
        throw new StoreException("interrupted", e);
      }
      return list.announce(process, time);
    };
  }

  private void lookAfter(Fleet fleet, Duration time) {
    nanos.addAndGet(time.toNanos());
    fleet.look();
  }

  /** Looks as often as a server does. */
  private void lookDuring(Fleet fleet, Duration time) {
    for (long seconds = 0; seconds < time.toSeconds(); seconds += 10) {
      lookAfter(fleet, Duration.ofSeconds(10));
    }
  }

  @Test
  void size_isTheMostSeenInTenMinutes() {
    try (Fleet fleet = fleet(1)) {
      others.addAll(List.of("web-2:8080 x", "web-3:8080 y"));
      lookDuring(fleet, Duration.ofSeconds(20));
      assertThat(fleet.size()).isEqualTo(3);
      assertThat(fleet.names()).containsExactly("web-1:8080", "web-2:8080", "web-3:8080");
      others.remove(0);
      lookDuring(fleet, Duration.ofMinutes(1));
      assertThat(fleet.names()).containsExactly("web-1:8080", "web-3:8080");
      assertThat(fleet.size()).isEqualTo(3);
      lookDuring(fleet, Duration.ofMinutes(9));
      assertThat(fleet.size()).isEqualTo(3);
      lookAfter(fleet, Duration.ofSeconds(10));
      assertThat(fleet.size()).isEqualTo(2);
      others.add("web-4:8080 z");
      lookAfter(fleet, Duration.ofSeconds(10));
      assertThat(fleet.size()).isEqualTo(3);
    }
  }

  @Test
  void size_staysDuringAnOutage_howeverLong_andUntilTheOthersAreBack() {
    List<LogRecord> lines = new ArrayList<>();
    Logger log = Logger.getLogger(Fleet.class.getName());
    Filter before = log.getFilter();
    log.setFilter(
        line -> {
          lines.add(line);
          return false;
        });
    try (Fleet fleet = fleet(1)) {
      others.add("web-2:8080 x");
      lookDuring(fleet, Duration.ofSeconds(20));
      away = true;
      for (int hour = 0; hour < 5; hour++) {
        lookAfter(fleet, Duration.ofHours(1));
      }
      assertThat(fleet.size()).isEqualTo(2);
      assertThat(fleet.names()).as("what nobody knows now").isEmpty();
      assertThat(lines).as("one line for the outage").hasSize(1);
      away = false;
      others.clear();
      lookAfter(fleet, Duration.ofHours(1));
      assertThat(fleet.size()).as("the other server may announce itself later").isEqualTo(2);
      lookDuring(fleet, Duration.ofSeconds(20));
      assertThat(fleet.size()).isEqualTo(2);
      lookDuring(fleet, Duration.ofSeconds(10));
      assertThat(fleet.size()).isEqualTo(1);
    } finally {
      log.setFilter(before);
    }
  }

  @Test
  void size_isUnknown_untilTheSecondLook() {
    try (Fleet fleet = fleet(1)) {
      fleet.look();
      assertThat(fleet.size()).as("the others may announce themselves later").isZero();
      assertThat(fleet.names()).containsExactly("web-1:8080");
      others.add("web-2:8080 x");
      lookAfter(fleet, Duration.ofSeconds(10));
      assertThat(fleet.size()).isEqualTo(2);
    }
  }

  @Test
  void lookThatFails_isRepeatedAtOnce_andTheAgeGrowsMeanwhile() {
    try (Fleet fleet = new Fleet(1, nanos::get)) {
      fleet.look();
      nanos.addAndGet(TimeUnit.SECONDS.toNanos(7));
      assertThat(fleet.ageSeconds()).isEqualTo(7);
      away = true;
      fleet.enter(list, "web-1:8080");
      fleet.look();
      away = false;
      lookAfter(fleet, Duration.ofSeconds(1));
      assertThat(fleet.names()).containsExactly("web-1:8080");
      assertThat(fleet.ageSeconds()).isZero();
      others.add("web-2:8080 x");
      lookAfter(fleet, Duration.ofMillis(9_999));
      assertThat(fleet.names()).as("not due yet").hasSize(1);
      lookAfter(fleet, Duration.ofMillis(1));
      assertThat(fleet.names()).hasSize(2);
    }
  }

  @Test
  void closeDuringALook_waitsForIt_soThatTheNameLeavesTheList() throws InterruptedException {
    CountDownLatch looks = new CountDownLatch(1);
    CountDownLatch answer = new CountDownLatch(1);
    Fleet fleet = new Fleet(1, nanos::get);
    fleet.enter(hanging(looks, answer), "web-1:8080");
    Thread looking = new Thread(fleet::look);
    looking.start();
    looks.await();
    Thread closing = new Thread(fleet::close);
    closing.start();
    while (!Set.of(State.TIMED_WAITING, State.TERMINATED).contains(closing.getState())) {
      Thread.onSpinWait();
    }
    answer.countDown();
    looking.join();
    closing.join();
    assertThat(left).hasSize(1);
  }

  @Test
  void closeDuringALookThatHangs_returns_andTheLookTakesTheNameOffTheList() throws Exception {
    CountDownLatch looks = new CountDownLatch(1);
    CountDownLatch answer = new CountDownLatch(1);
    Fleet fleet = new Fleet(1, nanos::get);
    fleet.enter(hanging(looks, answer), "web-1:8080");
    Thread looking = new Thread(fleet::look);
    looking.start();
    looks.await();
    fleet.close();
    assertThat(left).isEmpty();
    answer.countDown();
    looking.join();
    assertThat(left).hasSize(1);
  }

  @Test
  void closeAfterALookThatFailed_doesNotWaitForTheNext() throws Exception {
    CountDownLatch looks = new CountDownLatch(1);
    CountDownLatch answer = new CountDownLatch(1);
    away = true;
    Fleet fleet = fleet(1);
    fleet.look();
    fleet.enter(hanging(looks, answer), "web-1:8080");
    Thread looking = new Thread(fleet::look);
    looking.start();
    looks.await();
    Thread closing = new Thread(fleet::close);
    closing.start();
    while (!Set.of(State.TIMED_WAITING, State.TERMINATED).contains(closing.getState())) {
      Thread.onSpinWait();
    }
    assertThat(closing.getState()).isEqualTo(State.TERMINATED);
    answer.countDown();
    looking.join();
    assertThat(left).isEmpty();
  }

  @Test
  void size_isNeverBelowTheLeast_exceptBeforeTheServersAreCounted() {
    try (Fleet fleet = fleet(4)) {
      away = true;
      fleet.look();
      assertThat(fleet.size()).isZero();
      away = false;
      others.add("web-2:8080 x");
      lookDuring(fleet, Duration.ofSeconds(20));
      assertThat(fleet.size()).isEqualTo(4);
      assertThat(fleet.seen()).isEqualTo(2);
      others.addAll(List.of("a 1", "b 2", "c 3"));
      lookAfter(fleet, Duration.ofSeconds(10));
      assertThat(fleet.size()).isEqualTo(5);
    }
  }

  @Test
  void twoProcessesOfOneName_areTwoServers() {
    others.add("web-1:8080 another process");
    try (Fleet fleet = fleet(1)) {
      lookDuring(fleet, Duration.ofSeconds(20));
      assertThat(fleet.size()).isEqualTo(2);
    }
  }

  @Test
  void close_leavesTheList_unlessTheStoreIsAway() {
    Fleet fleet = fleet(1);
    fleet.look();
    fleet.close();
    fleet.close();
    assertThat(left).hasSize(1);
    Fleet other = fleet(1);
    other.look();
    nanos.addAndGet(TimeUnit.HOURS.toNanos(1));
    away = true;
    other.close();
    assertThat(left).hasSize(1);
  }
}
