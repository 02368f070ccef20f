// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.server.Aside;
import dev.sluice.server.base.RefusedException.NotReadyException;
import dev.sluice.server.service.Service.RecentCheck;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

final class RecentCheckTest {

  private final AtomicLong now = new AtomicLong();
  private final AtomicInteger asked = new AtomicInteger();

  @Test
  void outcome_holdsForAMoment_thenTheCheckIsAskedAgain() {
    RecentCheck check = new RecentCheck(asked::incrementAndGet, now::get);
    for (int i = 0; i < 100; i++) {
      check.run();
    }
    assertThat(asked).hasValue(1);
    now.addAndGet(RecentCheck.RECENT_NANOS);
    check.run();
    assertThat(asked).hasValue(2);
  }

  @Test
  void failure_isToldToAll_andForgottenAfterAMoment() {
    RecentCheck check =
        new RecentCheck(
            () -> {
              if (asked.incrementAndGet() == 1) {
                throw new NotReadyException("not yet");
              }
            },
            now::get);
    for (int i = 0; i < 3; i++) {
      assertThatThrownBy(check::run).isInstanceOf(NotReadyException.class).hasMessage("not yet");
    }
    now.addAndGet(RecentCheck.RECENT_NANOS);
    check.run();
    assertThat(asked).hasValue(2);
  }

  @Test
  void callersDuringACheck_waitForThatOne() throws InterruptedException {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch mayEnd = new CountDownLatch(1);
    RecentCheck check =
        new RecentCheck(
            () -> {
              asked.incrementAndGet();
              begun.countDown();
              try {
                mayEnd.await();
              } catch (InterruptedException e) {
                throw new IllegalStateException(e);
              }
            },
            now::get);
    CompletableFuture<Void> first = Aside.run(check);
    begun.await();
    CompletableFuture<Void> second = Aside.run(check);
    mayEnd.countDown();
    CompletableFuture.allOf(first, second).join();
    assertThat(asked).hasValue(1);
  }
}
