// SPDX-License-Identifier: Apache-2.0
package dev.sluice.servlet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.web.Rule;
import dev.sluice.web.VaryBy;
import jakarta.servlet.Filter;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/**
 * What the filter costs a request, beside a filter that does nothing; both over real HTTP on one
 * connection that stays open, turn about. Measures and asserts no time; run it by name on a quiet
 * machine:
 *
 * <pre>./mvnw test -pl servlet -am -Dtest=FilterOverhead -Dsurefire.failIfNoSpecifiedTests=false
 * </pre>
 */
class FilterOverhead {

  private static final int ROUNDS = 40;
  private static final int WARM_UP = 20;
  private static final int REQUESTS = 2_000;
  private static final byte[] REQUEST =
      "GET /app/page HTTP/1.1\r\nHost: x\r\nX-Api-Key: a\r\n\r\n"
          .getBytes(StandardCharsets.ISO_8859_1);

  @Test
  void measure() throws Exception {
    Filter empty = (request, response, chain) -> chain.doFilter(request, response);
    Limits limits =
        Limits.builder(Catalogue.samples())
            .limit("LoginsPerIPAddress", Quota.per(1_000_000_000, Duration.ofSeconds(10)))
            .limit("ApiCallsPerKey", Quota.per(1_000_000_000, Duration.ofSeconds(10)))
            .build();
    Limiter limiter = Limiter.of(limits, BucketStore.inMemory());
    Rule perAddress = Rule.on("/page").limit("LoginsPerIPAddress", VaryBy.clientAddress()).build();
    Rule perKey = Rule.on("/**").limit("ApiCallsPerKey", VaryBy.header("X-Api-Key")).build();

    double[] nothing = new double[ROUNDS];
    double[] oneLimit = new double[ROUNDS];
    double[] twoLimits = new double[ROUNDS];
    try (Subject none = new Subject(empty);
        Subject one = new Subject(RateLimitFilter.builder(limiter).rule(perAddress).build());
        Subject two =
            new Subject(RateLimitFilter.builder(limiter).rule(perAddress).rule(perKey).build())) {
      for (int round = -WARM_UP; round < ROUNDS; round++) {
        int slot = Math.max(round, 0);
        nothing[slot] = none.nanosPerRequest();
        oneLimit[slot] = one.nanosPerRequest();
        twoLimits[slot] = two.nanosPerRequest();
      }
    }
    System.out.printf(
        "empty filter %.1f µs a request; one limit %.1f µs (ratio %.3f); two limits %.1f µs (ratio"
            + " %.3f); medians of %d rounds of %d requests%n",
        median(nothing) / 1e3,
        median(oneLimit) / 1e3,
        median(oneLimit) / median(nothing),
        median(twoLimits) / 1e3,
        median(twoLimits) / median(nothing),
        ROUNDS,
        REQUESTS);
    assertThat(median(nothing)).isPositive();
  }

  private static double median(double[] values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    return sorted[sorted.length / 2];
  }

  /** A server with one filter, and a connection to it. */
  private static final class Subject implements AutoCloseable {
    private final WebServer web = Container.JETTY.server().servlet("/", Pages.status());
    private final Socket socket;

    Subject(Filter filter) throws Exception {
      web.filter(filter).start();
      socket = new Socket(InetAddress.getLoopbackAddress(), web.port());
      socket.setTcpNoDelay(true);
    }

    double nanosPerRequest() throws IOException {
      byte[] buffer = new byte[4096];
      InputStream in = socket.getInputStream();
      long start = System.nanoTime();
      for (int i = 0; i < REQUESTS; i++) {
        socket.getOutputStream().write(REQUEST);
        int length = 0;
        while (length < 4 || buffer[length - 1] != 'e') { // the body is "page"
          int read = in.read(buffer, length, buffer.length - length);
          assertThat(read).isPositive();
          length += read;
        }
        assertThat(buffer[9]).isEqualTo((byte) '2');
      }
      return (System.nanoTime() - start) / (double) REQUESTS;
    }

    @Override
    public void close() throws Exception {
      socket.close();
      web.close();
    }
  }
}
