// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.attacks;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;

/** A client of one door that does nothing wrong: each of its requests must be decided. */
final class Friend implements AutoCloseable {

  private static final int PAUSE_MILLIS = 20;
  private static final int REQUESTS_A_CONNECTION = 10;

  private final Door door;
  private final Wire wire;
  private final Thread thread = new Thread(this::run, "friend");
  private final List<Long> waitsNanos = new ArrayList<>();
  private final List<String> failures = new ArrayList<>();
  private volatile boolean over;

  private Friend(Door door, Wire wire) {
    this.door = door;
    this.wire = wire;
  }

  static Friend start(Door door, Wire wire) {
    Friend friend = new Friend(door, wire);
    friend.thread.start();
    return friend;
  }

  private void run() {
    while (!over) {
      long start = System.nanoTime();
      try (Socket socket = wire.connect(Attack.GOOD_ADDRESS)) {
        InputStream in = new BufferedInputStream(socket.getInputStream());
        int requests = door.keepsConnection() ? REQUESTS_A_CONNECTION : 1;
        for (int i = 0; i < requests && !over; i++) {
          socket.getOutputStream().write(door.request());
          socket.getOutputStream().flush();
          door.readAnswer(in);
          add(System.nanoTime() - start, "");
          Thread.sleep(PAUSE_MILLIS);
          start = System.nanoTime();
        }
      } catch (IOException e) {
        add(System.nanoTime() - start, door.text() + ": " + e);
      } catch (InterruptedException e) {
        return;
      }
    }
  }

  private synchronized void add(long nanos, String failure) {
    waitsNanos.add(nanos);
    if (!failure.isEmpty()) {
      failures.add(failure);
    }
  }

  /** Moves what was seen since the last time to the end of two lists. */
  synchronized void take(List<Long> waits, List<String> failed) {
    waits.addAll(waitsNanos);
    failed.addAll(failures);
    waitsNanos.clear();
    failures.clear();
  }

  @Override
  public void close() {
    over = true;
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
