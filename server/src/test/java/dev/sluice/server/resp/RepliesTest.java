// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Replies that become known at awkward moments. */
class RepliesTest {

  private final Queue<Runnable> loop = new ArrayDeque<>();
  private final Replies replies = new Replies(loop::add, new Request(), this::writeKnown);

  /** An answer that another thread completes just after the first look at it. */
  private static final class KnownAfterTheFirstLook extends CompletableFuture<Long> {
    private boolean looked;

    @Override
    public boolean isDone() {
      if (!looked) {
        looked = true;
        complete(7L);
        return false;
      }
      return super.isDone();
    }
  }

  private void writeKnown() {
    while (replies.writeKnown()) {}
  }

  private void runLoop() {
    for (Runnable next = loop.poll(); next != null; next = loop.poll()) {
      next.run();
    }
  }

  /** The race: no later event would write it, and its client would wait for ever. */
  @Test
  void later_knownBetweenTwoLooks_isWritten() {
    replies.later(new KnownAfterTheFirstLook(), (value, writer) -> writer.number(value));
    runLoop();
    assertThat(replies.waiting()).isZero();
    assertThat(replies.writer().size()).isEqualTo(":7\r\n".length());
    assertThat(replies.waitingBytes()).isZero();
  }

  @Test
  void later_knownOutOfOrder_isWrittenInTheOrderOfTheRequests() {
    CompletableFuture<Long> first = new CompletableFuture<>();
    replies.later(first, (value, writer) -> writer.number(value));
    replies.later(CompletableFuture.completedFuture(2L), (value, writer) -> writer.number(value));
    runLoop();
    assertThat(replies.writer().size()).isZero();
    assertThat(replies.waiting()).isEqualTo(2);
    first.complete(1L);
    runLoop();
    assertThat(replies.waiting()).isZero();
    assertThat(replies.writer().size()).isEqualTo(":1\r\n:2\r\n".length());
  }
}
