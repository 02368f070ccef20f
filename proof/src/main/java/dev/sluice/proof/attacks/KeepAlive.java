// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.attacks;

import dev.sluice.proof.BrokenPromise;
import dev.sluice.proof.attacks.WellBehaved.Answer;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.util.concurrent.CountDownLatch;

/**
 * A client that keeps its connection, and asks until the server says that the connection ends. A
 * request that was sent and got no answer is lost.
 */
final class KeepAlive {

  private static final int PATIENCE_MILLIS = 20_000;

  private final Wire server;
  private final Thread thread = new Thread(this::run, "keep-alive");
  private final CountDownLatch warm = new CountDownLatch(1);
  private volatile int answers;
  private volatile String lost = "";

  private KeepAlive(Wire server) {
    this.server = server;
  }

  static KeepAlive start(Wire server) {
    KeepAlive client = new KeepAlive(server);
    client.thread.start();
    return client;
  }

  private void run() {
    byte[] request = WellBehaved.request("192.0.2.9");
    try (Socket socket = server.connect(Attack.GOOD_ADDRESS)) {
      socket.setSoTimeout(PATIENCE_MILLIS);
      InputStream in = new BufferedInputStream(socket.getInputStream());
      boolean open = true;
      int seen = 0;
      while (open) {
        socket.getOutputStream().write(request);
        Answer answer = Answer.read(in);
        if (!answer.status().contains(" 200 ")) {
          throw new IOException("answered " + answer.status());
        }
        answers = ++seen;
        warm.countDown();
        open = !answer.closes();
      }
    } catch (IOException e) {
      lost = e.toString();
    } finally {
      warm.countDown();
    }
  }

  /** Waits until the client has had its first answer. */
  void awaitAnswer() throws InterruptedException {
    warm.await();
  }

  /** How many answers it got, when its connection has ended as it should. */
  int answersUntilTheEnd() throws InterruptedException, BrokenPromise {
    thread.join();
    if (!lost.isEmpty()) {
      throw new BrokenPromise(
          "a client lost a request after %s answers: %s".formatted(answers, lost));
    }
    return answers;
  }
}
