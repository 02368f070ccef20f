// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpObject;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpResponseWriter;
import com.linecorp.armeria.common.ResponseHeaders;
import dev.sluice.Limiter;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.access.Caller;
import dev.sluice.server.access.LimiterCalls;
import dev.sluice.server.net.Requests.HeldAnswers;
import dev.sluice.server.stats.Denials;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.testkit.ManualTime;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.ImmediateEventExecutor;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/**
 * The pieces of an answer to {@code POST /v1/decisions}, for a client that reads them one by one.
 */
final class DecisionPiecesTest {

  private static final EventExecutor HERE = ImmediateEventExecutor.INSTANCE;
  private static final String SPEND =
      "{\"op\":\"spend\",\"limit\":\"ApiCallsPerKey\",\"id\":\"a\"}\n";
  private static final int BURST = 100;
  private static final int MOST_UNREAD = 64;

  private final BucketStore store = BucketStore.inMemory(new ManualTime());
  private final Limiter limiter = Limiter.of(SampleFixture.limits(), store);
  private final Held held = new Held();
  private final Client client = new Client();
  private final Queue<Runnable> tasks = new ArrayDeque<>();

  @AfterEach
  void close() {
    store.close();
  }

  /** Counts, with as much room as a test gives it. */
  private static final class Held implements HeldAnswers {
    private long room = Long.MAX_VALUE;
    private long bytes;

    @Override
    public boolean hold(long more) {
      boolean fits = bytes + more <= room;
      bytes += fits ? more : 0;
      return fits;
    }

    @Override
    public void drop(long less) {
      bytes -= less;
    }
  }

  /** Reads as many pieces as it is told to. */
  private static final class Client implements Subscriber<HttpObject> {
    private final HttpResponseWriter response = HttpResponse.streaming();
    private final StringBuilder text = new StringBuilder();
    private int status;
    private int longest;
    private boolean ended;
    private Subscription subscription;

    Client() {
      response.subscribe(this, HERE);
    }

    void read() {
      subscription.request(1);
    }

    List<JsonNode> lines() throws IOException {
      List<JsonNode> lines = new ArrayList<>();
      for (String line : text.toString().lines().toList()) {
        lines.add(TestServer.JSON.readTree(line));
      }
      return lines;
    }

    @Override
    public void onSubscribe(Subscription started) {
      subscription = started;
    }

    @Override
    public void onNext(HttpObject part) {
      if (part instanceof ResponseHeaders headers) {
        status = headers.status().code();
      } else if (part instanceof HttpData data) {
        longest = Math.max(longest, data.length());
        text.append(data.toString(StandardCharsets.UTF_8));
      }
    }

    @Override
    public void onError(Throwable failure) {
      text.append("broken off");
    }

    @Override
    public void onComplete() {
      ended = true;
    }
  }

  private DecisionStream stream(BucketStore from) {
    LimiterCalls acts =
        new LimiterCalls(
            Limiter.of(SampleFixture.limits(), from), AuditLog.none(), Denials.none(), "http");
    return new DecisionStream(acts, Caller.anybody("here"), client.response, tasks::add, held);
  }

  private void run() {
    for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
      task.run();
    }
  }

  private void readAll() {
    for (int i = 0; i < 10_000 && !client.ended; i++) {
      client.read();
      run();
    }
  }

  private void send(DecisionStream stream, String lines) {
    byte[] bytes = lines.getBytes(StandardCharsets.UTF_8);
    stream.more(bytes, bytes.length);
    run();
  }

  private long spent() {
    return BURST - limiter.check("ApiCallsPerKey", "a", 0).remaining();
  }

  /** Long answers too: those of a batch fill a piece. */
  @Test
  void clientThatDoesNotRead_spendsNoMoreThanTheBound() {
    DecisionStream stream = stream(store);
    send(stream, SPEND.repeat(BURST));
    stream.ended();
    assertThat(spent()).isEqualTo(MOST_UNREAD);
    client.read(); // the headers
    run();
    assertThat(spent()).isEqualTo(MOST_UNREAD);
    readAll();
    assertThat(spent()).isEqualTo(BURST);
  }

  private static String batch(int transactions) {
    String one = "{\"limit\":\"ApiCallsPerKey\",\"id\":\"%s\",\"cost\":100}";
    List<String> all = new ArrayList<>();
    for (int i = 0; i < transactions; i++) {
      all.add(one.formatted(i));
    }
    return "{\"op\":\"spend\",\"transactions\":[" + String.join(",", all) + "]}\n";
  }

  @Test
  void answers_areChargedBeforeTheyAreThere_andUntilTheyAreRead() throws Exception {
    DecisionStream stream = stream(store);
    String lines = batch(400).repeat(5) + SPEND.replace("\"a\"", "\"" + "é".repeat(500) + "\"");
    send(stream, lines);
    stream.ended();
    assertThat(held.bytes).isGreaterThan(500_000); // as much as there is
    long most = held.bytes;
    readAll();
    assertThat(client.lines()).hasSize(6);
    assertThat(client.lines().get(1).get("allowed").booleanValue()).isFalse();
    assertThat((long) client.text.length()).isLessThan(most);
    assertThat(client.longest).isGreaterThan(100_000);
    assertThat(held.bytes).isZero();
  }

  @Test
  void linesWithoutRoomForTheirAnswers_waitForThoseBefore() throws Exception {
    held.room = 300_000;
    DecisionStream stream = stream(store);
    send(stream, batch(400).repeat(5));
    stream.ended();
    readAll();
    assertThat(client.lines()).hasSize(5).noneMatch(line -> line.has("status"));
    assertThat(held.bytes).isZero();
  }

  @Test
  void lineThatNeverFits_isRefused_andEndsTheStream() throws Exception {
    held.room = 10_000;
    DecisionStream stream = stream(store);
    send(stream, SPEND + batch(400) + SPEND);
    stream.ended();
    readAll();
    assertThat(client.status).isEqualTo(200);
    assertThat(client.lines()).hasSize(2);
    assertThat(client.lines().get(1).get("status").intValue()).isEqualTo(503);
    assertThat(client.lines().get(1).get("line").intValue()).isEqualTo(2);
    assertThat(client.lines().get(1).get("type").textValue()).endsWith(":overloaded");
    assertThat(spent()).isEqualTo(1);
    assertThat(client.ended).isTrue();
  }

  /** Nothing can be charged by a line that is not read. */
  @Test
  void bracesWithoutATransaction_takeNoRoom() throws Exception {
    held.room = 100_000;
    DecisionStream stream = stream(store);
    send(stream, "{".repeat(3000) + "\n");
    stream.ended();
    readAll();
    assertThat(client.lines().get(0).get("status").intValue()).isEqualTo(400);
  }

  /** Answers when it is told to. */
  private static final class SlowStore implements BucketStore {
    private final Queue<CompletableFuture<List<Reading>>> asked = new ArrayDeque<>();

    @Override
    public List<Reading> charge(List<Charge> charges) {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges) {
      CompletableFuture<List<Reading>> answer = new CompletableFuture<>();
      asked.add(answer);
      return answer;
    }
  }

  @Test
  void streamThatWaitsForTheStore_saysSoInTime() throws Exception {
    SlowStore slow = new SlowStore();
    DecisionStream stream = stream(slow);
    send(stream, "nonsense\n" + SPEND + SPEND);
    stream.ended();
    client.read();
    readAll();
    assertThat(client.lines()).hasSize(1);
    stream.late();
    readAll();
    JsonNode last = client.lines().get(1);
    assertThat(last.get("status").intValue()).isEqualTo(503);
    assertThat(last.get("line").intValue()).isEqualTo(2);
    assertThat(last.get("detail").textValue())
        .isEqualTo("the store could not decide; whether anything was charged is unknown");
    assertThat(client.ended).isTrue();
    int before = client.text.length();
    slow.asked.forEach(answer -> answer.complete(List.of(new Reading(0, 0)))); // too late
    run();
    assertThat(client.text).hasSize(before);
  }

  @ParameterizedTest
  @CsvSource({
    "check, check, nothing was charged",
    "check, spend, whether anything was charged is unknown"
  })
  void lateCheck_chargedNothing_unlessALaterLineSpends(String first, String second, String said)
      throws Exception {
    DecisionStream stream = stream(new SlowStore());
    send(stream, SPEND.replace("spend", first) + SPEND.replace("spend", second));
    stream.late();
    readAll();
    assertThat(client.lines())
        .singleElement()
        .satisfies(line -> assertThat(line.get("detail").textValue()).endsWith("; " + said));
  }

  @Test
  void streamThatIsNotRead_saysSo_whenItIsReadAtLast() throws Exception {
    DecisionStream stream = stream(store);
    send(stream, SPEND.repeat(BURST));
    stream.ended();
    stream.late();
    run();
    assertThat(client.response.isOpen()).isTrue(); // so that it can be broken off
    readAll();
    assertThat(client.lines()).hasSize(MOST_UNREAD + 1);
    JsonNode last = client.lines().get(MOST_UNREAD);
    assertThat(last.get("status").intValue()).isEqualTo(408);
    assertThat(last.get("line").intValue()).isEqualTo(MOST_UNREAD + 1);
    assertThat(spent()).isEqualTo(MOST_UNREAD);
  }

  /** It says what it would have said without that. */
  @Test
  void streamThatWasTooLong_andIsDecided_stillSaysSo() throws Exception {
    DecisionStream stream = stream(store);
    send(stream, SPEND + SPEND.substring(0, 20));
    stream.failed(Fault.tooLarge(1));
    stream.late();
    readAll();
    assertThat(client.lines()).hasSize(2);
    assertThat(client.lines().get(1).get("status").intValue()).isEqualTo(413);
  }

  /** Its client may read the rest as long as its time lasts. */
  @Test
  void streamThatIsDecided_hasNothingToSayInTime() throws Exception {
    DecisionStream stream = stream(store);
    send(stream, SPEND);
    stream.ended();
    stream.late();
    readAll();
    assertThat(client.lines()).hasSize(1).noneMatch(line -> line.has("status"));
    assertThat(client.ended).isTrue();
  }
}
