// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import dev.sluice.gcra.Quota;
import dev.sluice.lab.Algorithm.Verdict;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class ClientGroupTest {

  private static final long SECOND = 1_000_000_000;
  private static final Quota LIMIT = Quota.per(100, Duration.ofHours(1));
  private static final Duration LENGTH = Duration.ofHours(4);
  private static final Verdict YES = Verdict.admitted(1);

  @ParameterizedTest
  @ValueSource(strings = {"steady", "bursty", "diurnal", "rogue", "crowd", "retry-storm"})
  void sameSeed_givesTheSameRequests_andAnotherSeedOthers(String kind) {
    assertThat(times(kind, 7)).isEqualTo(times(kind, 7)).isNotEmpty();
    assertThat(times(kind, 7)).isNotEqualTo(times(kind, 8));
  }

  /** The random numbers are specified to the bit, so these hashes hold on every JDK. */
  @ParameterizedTest
  @CsvSource({
    "steady, -1428893916",
    "bursty, 826997932",
    "diurnal, 315252121",
    "rogue, 1409680052",
    "crowd, 100921261",
    "retry-storm, -55902541",
  })
  void seedOne_givesTheseRequests_onEveryJdk(String kind, int sum) {
    assertThat(times(kind, 1).hashCode()).isEqualTo(sum);
  }

  @Test
  void steady_isEven() {
    List<Long> times = times("steady:clients=1,rate=1/10s", 1);
    for (int i = 1; i < times.size(); i++) {
      assertThat(times.get(i) - times.get(i - 1)).isEqualTo(10 * SECOND);
    }
    assertThat(times).hasSize(1440);
  }

  @Test
  void tinyRates_doNotOverflow() {
    assertThat(times("steady:clients=1,rate=1/2562047h", 1)).hasSizeLessThan(2);
    assertThat(times("bursty:clients=1,rate=1/2562047h,size=1000000", 1)).isEmpty();
    assertThat(times("diurnal:clients=1,rate=1/2562047h,swing=1", 1)).isEmpty();
  }

  @Test
  void bursty_comesInBursts_atTheRate() {
    List<Long> times = times("bursty:clients=1,rate=1/1s,size=20,within=2s", 1);
    long near = 0;
    for (int i = 1; i < times.size(); i++) {
      near += times.get(i) - times.get(i - 1) == SECOND / 10 ? 1 : 0;
    }
    assertThat((double) near / times.size()).isBetween(0.94, 0.96);
    assertThat(times.size()).isBetween(12_000, 17_000);
  }

  @Test
  void diurnal_isBusyAtNoon_andQuietAtMidnight() {
    List<Long> times = times("diurnal:clients=1,rate=1/1s,day=4h,swing=0.9", 1);
    assertThat(times.size()).isBetween(13_900, 14_900);
    long hour = 3600 * SECOND;
    long night = times.stream().filter(t -> t < hour / 2 || t > 7 * hour / 2).count();
    long noon = times.stream().filter(t -> t > 3 * hour / 2 && t < 5 * hour / 2).count();
    assertThat((double) noon / night).isGreaterThan(6);
  }

  @Test
  void rogue_sendsUntilDenied_waits_andStartsAgain() {
    Client.Behaviour rogue = clients("rogue:step=1s,start=1m", 1).get(0).behaviour();
    assertThat(rogue.firstNanos()).isBetween(60 * SECOND, 61 * SECOND);
    assertThat(rogue.nextNanos(100 * SECOND, YES)).isEqualTo(101 * SECOND);
    assertThat(rogue.nextNanos(101 * SECOND, Verdict.denied(55, 1))).isEqualTo(101 * SECOND + 55);
  }

  @Test
  void crowd_isManySmallOnes_andAFewLarge() {
    List<Client> clients = clients("crowd:clients=3,large=2", 1);
    assertThat(clients.stream().map(Client::name))
        .containsExactly("large-1", "large-2", "small-1", "small-2", "small-3");
    assertThat(clients.stream().map(Client::bucket)).doesNotHaveDuplicates();
    List<Long> times = times("crowd:clients=100,large=5", 1);
    // Per emission interval (36 s): 5 · 3 + 100 · 0.1 requests, over 400 intervals.
    assertThat(times.size()).isBetween(9_700, 10_300);
  }

  @Test
  void retryStorm_retriesAllAtOnce_orSpreadWithJitter() {
    Verdict denied = Verdict.denied(100, 1);
    for (Client client : clients("retry-storm:clients=5", 1)) {
      assertThat(client.behaviour().nextNanos(1000, denied)).isEqualTo(1100);
    }
    List<Long> spread = new ArrayList<>();
    for (Client client : clients("retry-storm:clients=50,jitter=1", 1)) {
      assertThat(client.behaviour().nextNanos(0, denied)).isBetween(100L, 200L);
      assertThat(client.behaviour().nextNanos(0, denied)).isBetween(100L, 300L);
      spread.add(client.behaviour().nextNanos(0, denied));
    }
    assertThat(spread.stream().distinct().count()).isGreaterThan(20);
    assertThat(spread).allMatch(wait -> wait >= 100 && wait < 500);
  }

  @Test
  void retryStorm_endsWithAnAdmission_orWhenTheTriesAreUsedUp() {
    Client.Behaviour lucky = clients("retry-storm", 1).get(0).behaviour();
    assertThat(lucky.nextNanos(5, YES)).isEqualTo(Client.Behaviour.NEVER);
    Client.Behaviour unlucky = clients("retry-storm:tries=2", 1).get(0).behaviour();
    assertThat(unlucky.nextNanos(5, Verdict.denied(1, 1))).isEqualTo(6);
    assertThat(unlucky.nextNanos(6, Verdict.denied(1, 1))).isEqualTo(Client.Behaviour.NEVER);
  }

  @Test
  void bucket_isSharedOnRequest_andByDefaultInARetryStorm() {
    assertThat(clients("steady:shared=yes", 1)).allMatch(client -> client.bucket() == 0);
    assertThat(clients("retry-storm", 1)).allMatch(client -> client.bucket() == 0);
    List<Client> both = new ArrayList<>();
    ClientGroup.parse("steady:clients=2", LIMIT, LENGTH).addTo(both, 1);
    ClientGroup.parse("steady:clients=2,shared=yes,cost=3", LIMIT, LENGTH).addTo(both, 1);
    assertThat(both.stream().map(Client::bucket)).containsExactly(0, 1, 2, 2);
    assertThat(both.stream().map(Client::name))
        .containsExactly("steady-1", "steady-2", "steady2-1", "steady2-2");
    assertThat(both.stream().map(Client::cost)).containsExactly(1L, 1L, 3L, 3L);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "stedy | found the kind \"stedy\", expected one of steady, bursty, diurnal, rogue, crowd, retry-storm; did you mean \"steady\"?",
        "steady:client=3 | found the key \"client\", expected one of clients, cost, shared, rate; did you mean \"clients\"?",
        "steady:clients | found \"clients\", expected KEY=VALUE such as clients=10",
        "steady:clients=1,clients=2 | found clients twice, expected it once",
        "steady:clients=0 | clients: found \"0\", expected a whole number from 1 to 1000000",
        "steady:clients=many | clients: found \"many\", expected a whole number from 1 to 1000000",
        "crowd:clients=999999 | clients: at most 1000000 are allowed in all groups together",
        "steady:rate=fast | rate: found \"fast\", expected COUNT/PERIOD such as 30/1m, at most one request per nanosecond",
        "steady:rate=0/1m | rate: found \"0/1m\", expected COUNT/PERIOD such as 30/1m, at most one request per nanosecond",
        "steady:rate=2/1ns | rate: found \"2/1ns\", expected COUNT/PERIOD such as 30/1m, at most one request per nanosecond",
        "steady:shared=true | shared: found \"true\", expected yes or no",
        "bursty:rate=1/1s,size=20,within=20s | within: found 20s, expected less than the time from one burst to the next, 20s",
        "diurnal:swing=2 | swing: found \"2\", expected a number from 0 to 1 such as 0.5",
        "diurnal:swing=NaN | swing: found \"NaN\", expected a number from 0 to 1 such as 0.5",
        "diurnal:day=0s | day: found \"0s\", expected a duration > 0 such as 500ms",
        "diurnal:rate=1000000000/1s,day=87600h,swing=1 | rate: at its rate at noon, the highest rate of the day, the group would send more than 200000000 requests in the run; lower the rate or make the run shorter",
        "rogue:start=soon | start: found \"soon\", expected a duration such as 0s or 10m",
        "retry-storm:jitter=-1 | jitter: found \"-1\", expected a number from 0 to 1000 such as 0.5",
      })
  void mistake_isNamed(String description, String message) {
    assertThatThrownBy(() -> ClientGroup.parse(description, LIMIT, LENGTH))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(message);
  }

  /**
   * In the night of a long day almost every candidate is dropped, so the next one may be years
   * away.
   */
  @Test
  void diurnal_stopsAtTheEndOfTheRun() {
    Duration length = Duration.ofMillis(1);
    List<Client> clients = new ArrayList<>();
    ClientGroup.parse("diurnal:clients=1,rate=1/1ns,day=87600h,swing=1", LIMIT, length)
        .addTo(clients, 1);
    Client.Behaviour behaviour = clients.get(0).behaviour();
    assertThat(assertTimeoutPreemptively(Duration.ofMinutes(1), behaviour::firstNanos))
        .isEqualTo(Client.Behaviour.NEVER);
  }

  private static List<Client> clients(String description, long seed) {
    List<Client> clients = new ArrayList<>();
    ClientGroup.parse(description, LIMIT, LENGTH).addTo(clients, seed);
    return clients;
  }

  /** Returns the times of all requests if each of them is admitted. */
  private static List<Long> times(String description, long seed) {
    List<Long> times = new ArrayList<>();
    for (Client client : clients(description, seed)) {
      Client.Behaviour behaviour = client.behaviour();
      for (long now = behaviour.firstNanos();
          now < LENGTH.toNanos();
          now = behaviour.nextNanos(now, YES)) {
        times.add(now);
      }
    }
    return times;
  }
}
