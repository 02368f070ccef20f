// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** Many clients on one bucket whose clock stands still: exactly the burst must be given out. */
final class HttpConcurrencyTest {

  private static final int CLIENTS = 8;
  private static final int REQUESTS = 100;
  private static final int BURST = 500;

  @Test
  void spend_byManyClients_givesOutTheBurst() throws Exception {
    Limits limits =
        Limits.builder(Catalogue.samples())
            .limit("ApiCallsPerKey", Quota.per(BURST, Duration.ofHours(1)))
            .build();
    ExecutorService clients = Executors.newFixedThreadPool(CLIENTS);
    try (BucketStore store = BucketStore.inMemory(new ManualTime());
        TestServer server = new TestServer(limits, store)) {
      List<Future<Integer>> running = new ArrayList<>();
      for (int i = 0; i < CLIENTS; i++) {
        running.add(clients.submit(() -> spend(server)));
      }
      int allowed = 0;
      for (Future<Integer> client : running) {
        allowed += client.get();
      }
      assertThat(allowed).isEqualTo(BURST);
    } finally {
      clients.shutdownNow();
    }
  }

  private static int spend(TestServer server) {
    int allowed = 0;
    for (int i = 0; i < REQUESTS; i++) {
      var answer = server.post("/v1/spend", "{\"limit\":\"ApiCallsPerKey\",\"id\":\"k\"}");
      allowed += TestServer.json(answer).get("allowed").asBoolean() ? 1 : 0;
    }
    return allowed;
  }
}
