// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.replay.Fit.Attack;
import dev.sluice.replay.Fit.Point;
import dev.sluice.replay.Fit.Prefer;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class FitTest {

  private static final Duration MINUTE = Duration.ofMinutes(1);
  private static final List<Quota> RATES =
      List.of(1, 2, 7, 20, 60).stream().map(count -> Quota.per(count, MINUTE)).toList();

  /** A line of a CSV with a time, a client and a cost. */
  private record Request(long second, int client, long cost) {

    String line() {
      return "%s,c%s,%s\n".formatted(1_790_000_000 + second, client, cost);
    }
  }

  private static List<Request> traffic(long seed) {
    Random random = new Random(seed);
    List<Request> traffic = new ArrayList<>();
    long second = 0;
    for (int i = 0; i < 300; i++) {
      second += random.nextInt(4) == 0 ? random.nextInt(40) : 0;
      int client = random.nextInt(3) == 0 ? 0 : random.nextInt(9);
      traffic.add(new Request(second, client, random.nextInt(8) == 0 ? random.nextInt(4) : 1));
    }
    return traffic;
  }

  private static Limits limits(Quota quota) {
    LimitName name =
        LimitName.builder(1001, "Calls").id(IdFormat.Registry.builtIn().parse("string")).build();
    return Limits.builder(Catalogue.of(name)).limit("Calls", quota).build();
  }

  private static Replay replay(List<Request> traffic, Quota quota) {
    String log = traffic.stream().map(Request::line).collect(Collectors.joining());
    byte[] bytes = ("time,client,cost\n" + log).getBytes(StandardCharsets.UTF_8);
    return Replay.of(limits(quota), List.of(LogReaderTest.source("a.csv", bytes)))
        .format("csv")
        .costField("cost")
        .counts(List.of("Calls={field:client}"));
  }

  private static Fit fit(List<Request> traffic, Attack attack) throws IOException {
    Fit fit = new Fit(RATES, attack);
    ReplayResult read = replay(traffic, RATES.get(0)).demands("Calls", fit).run();
    assertEquals(traffic.size(), read.log().found().lines());
    return fit;
  }

  private static Set<String> denied(List<Request> traffic, long burst, Quota rate)
      throws IOException {
    Set<String> denied = new HashSet<>();
    ReplayResult result =
        replay(traffic, Quota.burst(burst).refill(rate.count(), rate.period()))
            .denials(denial -> denied.add(denial.id()))
            .run();
    assertTrue(result.totals().denied() >= denied.size());
    return denied;
  }

  /** An array cannot grow to 2^31 bytes, which 60 million UUIDs have. */
  @Test
  void idsThatAreTooManyForTheirArray_areRefused() {
    Fit fit = new Fit(RATES, null);
    fit.ids.mostBytes = 10_000;
    for (int i = 1; i <= 1000; i++) {
      fit.take(i, "client" + (1000 + i), 1); // 10 bytes each
    }
    fit.take(1001, "client1001", 1);
    String message =
        assertThrows(LogException.class, () -> fit.take(1002, "client2001", 1)).getMessage();
    assertEquals(
        "the log has more than 1000 ids of the limit, which is more than a fit can keep; fit a part of the log, such as an hour",
        message);
    assertEquals(1000, fit.ids());
    assertEquals("client2000", fit.ids.name(999));
  }

  @ParameterizedTest
  @CsvSource({"1,100", "2,90", "3,75", "4,50", "5,99.9", "6,12", "7,88.8", "8,0.1"})
  void curve_equalsTryingEachBurst(long seed, BigDecimal percent) throws IOException {
    List<Request> traffic = traffic(seed);
    Fit fit = fit(traffic, null);
    int clients = (int) traffic.stream().map(Request::client).distinct().count();
    assertEquals(clients, fit.ids());
    List<String> tried = new ArrayList<>();
    long before = Long.MAX_VALUE;
    for (Quota rate : RATES) {
      long burst = 1;
      while (!keeps(percent, denied(traffic, burst, rate).size(), clients)) {
        burst++;
      }
      if (burst < before) {
        tried.add(
            "%s of %s, denied %s"
                .formatted(burst, rate.count(), denied(traffic, burst, rate).size()));
        before = burst;
      }
    }
    assertEquals(
        tried,
        fit.curve(percent).stream()
            .map(
                one ->
                    "%s of %s, denied %s"
                        .formatted(one.quota().burst(), one.quota().count(), one.denied()))
            .toList());
  }

  private static boolean keeps(BigDecimal percent, int denied, int clients) {
    BigDecimal kept = BigDecimal.valueOf(100L * (clients - denied));
    return kept.compareTo(percent.multiply(BigDecimal.valueOf(clients))) >= 0;
  }

  @ParameterizedTest
  @CsvSource({"1,100", "2,90", "3,60", "4,80", "5,99"})
  void attack_doesNotCountForTheShare_andItsHeavyClientsAreDenied(long seed, BigDecimal percent)
      throws IOException {
    List<Request> traffic = traffic(seed);
    long from = traffic.get(100).second();
    long to = traffic.get(180).second();
    List<Request> during =
        traffic.stream().filter(one -> one.second() >= from && one.second() < to).toList();
    List<Request> rest = traffic.stream().filter(one -> !during.contains(one)).toList();
    long origin = 1_790_000_000L;
    Fit fit =
        fit(traffic, new Attack((origin + from) * 1_000_000_000, (origin + to) * 1_000_000_000));

    Map<Integer, Long> sent = new HashMap<>();
    during.forEach(one -> sent.merge(one.client(), 1L, Long::sum));
    List<Long> counts = sent.values().stream().sorted((a, b) -> Long.compare(b, a)).toList();
    long sum = 0;
    long least = 0;
    for (long count : counts) {
      if (2 * sum < during.size()) {
        sum += count;
        least = count;
      }
    }
    Set<String> heavy = new HashSet<>();
    for (Map.Entry<Integer, Long> one : sent.entrySet()) {
      if (one.getValue() >= least) {
        heavy.add("c" + one.getKey());
      }
    }
    assertEquals(heavy.size(), fit.heavyIds());
    List<Point> curve = fit.curve(percent);
    for (Point point : curve) {
      long burst = point.quota().burst();
      Set<String> ofRest = denied(rest, burst, point.quota());
      assertTrue(keeps(percent, ofRest.size(), (int) fit.ids()));
      if (burst > 1) {
        Set<String> smaller = denied(rest, burst - 1, point.quota());
        assertTrue(!keeps(percent, smaller.size(), (int) fit.ids()));
      }
      Set<String> allowed = new HashSet<>(heavy);
      allowed.removeAll(denied(traffic, burst, point.quota()));
      assertEquals(allowed.size(), point.heavyAllowed());
    }
    long fewest = curve.stream().mapToLong(Point::heavyAllowed).min().orElseThrow();
    for (Prefer prefer : Prefer.values()) {
      assertEquals(fewest, prefer.of(curve).heavyAllowed());
    }
  }

  @Test
  void preference_choosesAPoint() throws IOException {
    List<Point> curve = fit(traffic(1), null).curve(BigDecimal.valueOf(100));
    assertTrue(curve.size() > 2, curve.toString());
    assertEquals(curve.get(0), Prefer.RATE.of(curve));
    assertEquals(curve.get(curve.size() - 1), Prefer.BURST.of(curve));
    Point worst = Prefer.WORST.of(curve);
    for (Point point : curve) {
      assertEquals(point.quota().burst() + point.quota().count(), point.worstMinute());
      assertTrue(point.worstMinute() >= worst.worstMinute());
    }
    assertEquals(worst, Prefer.STRICT.of(curve)); // the period is a minute
  }

  @Test
  void costAboveAnyBurst_isKeptByNone() throws IOException {
    List<Request> traffic = List.of(new Request(0, 1, Long.MAX_VALUE), new Request(1, 2, 1));
    Fit fit = fit(traffic, null);
    assertEquals(List.of(), fit.curve(BigDecimal.valueOf(100)));
    List<Point> half = fit.curve(BigDecimal.valueOf(50));
    assertEquals("1 1", half.get(0).quota().burst() + " " + half.get(0).denied());
    assertEquals(List.of(), new Fit(RATES, null).curve(BigDecimal.ONE));
  }
}
