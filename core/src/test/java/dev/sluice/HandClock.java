// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.store.TimeSource;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;

/** A clock that a test moves. It rings no alarm by itself. For one thread. */
final class HandClock implements TimeSource {

  private record Alarm(long atNanos, Runnable task, CompletableFuture<Void> future) {}

  private final List<Alarm> alarms = new ArrayList<>();
  long nanos;

  HandClock(long nanos) {
    this.nanos = nanos;
  }

  @Override
  public long nanos() {
    return nanos;
  }

  @Override
  public Future<?> alarm(long atNanos, Runnable task) {
    Alarm alarm = new Alarm(atNanos, task, new CompletableFuture<>());
    alarms.add(alarm);
    return alarm.future;
  }

  /** The alarms that are set, in the order in which they were. */
  List<Long> set() {
    return alarms.stream().filter(a -> !a.future.isDone()).map(Alarm::atNanos).toList();
  }

  /** Lets time pass, and rings what is due. */
  void pass(long untilNanos) {
    nanos = untilNanos;
    for (Alarm alarm : List.copyOf(alarms)) {
      if (alarm.atNanos <= nanos && alarm.future.complete(null)) {
        alarm.task.run();
      }
    }
  }
}
