// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.remote.Breaker;
import dev.sluice.remote.ClientClock;
import dev.sluice.remote.Endpoint;
import dev.sluice.remote.Request;
import dev.sluice.remote.RequestQueue;
import dev.sluice.remote.StoreLog;
import dev.sluice.remote.Timing;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.TimeSource;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Callers that give up while their connection is being made; a test says when it is there. */
final class GivenUpTest {

  private static final long LONG_NANOS = Duration.ofMinutes(5).toNanos();
  private static final int MANY = 100;

  private final List<String> told = new ArrayList<>();
  private final BucketStore.Observer observer =
      new BucketStore.Observer() {
        @Override
        public void called(String server, Result result, int batches, int charges, long elapsed) {
          told.add(result + " " + batches);
        }
      };
  private final Timing timing = RedisThread.timing();
  private final Breaker breaker =
      new Breaker(
          "there",
          1,
          LONG_NANOS,
          CompletableFuture<String>::new,
          timing,
          observer,
          new StoreLog("redis"));
  private final List<CompletableFuture<Scripted>> connects = new ArrayList<>();
  private final List<ScriptCall> calls = new ArrayList<>();
  private final LazyConnection<Scripted> link =
      new LazyConnection<>(this::connect, false, Runnable::run);
  private final RequestQueue queue = queue(null);

  private CompletionStage<Scripted> connect() {
    CompletableFuture<Scripted> connect = new CompletableFuture<>();
    connects.add(connect);
    return connect;
  }

  private RequestQueue queue(@Nullable ClientClock clock) {
    RequestQueue.Options options =
        new RequestQueue.Options(2 * MANY, clock == null ? 2 : 1, MANY, LONG_NANOS);
    return new RequestQueue(new Linked(clock), options, new AtomicInteger(), timing, observer);
  }

  private final class Linked implements Endpoint {
    private final @Nullable ClientClock clock;

    Linked(@Nullable ClientClock clock) {
      this.clock = clock;
    }

    @Override
    public String name() {
      return "there";
    }

    @Override
    public Breaker breaker() {
      return breaker;
    }

    @Override
    public ScriptCall call(List<byte[]> keys, List<List<Charge>> batches) {
      byte[] argument = ChargeScript.argument(clock, batches);
      ScriptCall call = new ScriptCall(link, () -> {}, keys.toArray(new byte[0][]), argument);
      calls.add(call);
      return call;
    }

    @Override
    public ServerFault fault(@Nullable Throwable failure) {
      return ServerFault.of(failure);
    }
  }

  /** A connection whose exchanges end when a test says so. */
  private static final class Scripted implements Connection {
    private final List<Asked> sent = new ArrayList<>();
    private boolean open = true;
    private boolean carries = true;

    @Override
    public boolean isOpen() {
      return open;
    }

    @Override
    public Exchange exchange(boolean whole, byte[][] keys, byte[] argument) {
      return new Asked(this, keys.length);
    }

    @Override
    public CompletionStage<String> ping() {
      return new CompletableFuture<>();
    }

    @Override
    public CompletionStage<Void> closeAsync() {
      return CompletableFuture.completedFuture(null);
    }

    void refuse(int exchange, String words) {
      sent.get(exchange).answer.completeExceptionally(new RedisCommandExecutionException(words));
    }
  }

  private static final class Asked implements Exchange {
    private final Scripted on;
    private final int keys;
    private final CompletableFuture<List<Object>> answer = new CompletableFuture<>();

    Asked(Scripted on, int keys) {
      this.on = on;
      this.keys = keys;
    }

    @Override
    public void send() {
      if (on.carries) {
        on.sent.add(this);
      } else {
        on.open = false;
        answer.completeExceptionally(new RedisException("not connected"));
      }
    }

    @Override
    public CompletionStage<List<Object>> answer() {
      return answer;
    }

    @Override
    public boolean wasSent() {
      return on.sent.contains(this);
    }

    @Override
    public void cancel() {
      answer.cancel(false);
    }
  }

  @AfterEach
  void stop() {
    timing.close();
    queue.close();
  }

  private Request submit() {
    return submit(queue);
  }

  private static Request submit(RequestQueue to) {
    List<byte[]> keys = List.of("1:a".getBytes(StandardCharsets.UTF_8));
    long deadline = System.nanoTime() + LONG_NANOS;
    Request request = new Request(Charges.spend("1:a"), keys, deadline, deadline);
    to.submit(request);
    return request;
  }

  private Scripted connected(int connect) {
    Scripted connection = new Scripted();
    connects.get(connect).complete(connection);
    return connection;
  }

  /** A server that is away, and callers that are all impatient. */
  @Test
  void connectThatFails_countsForTheBreaker_thoughAllItsCallersGaveUp() {
    submit().cancel(false);
    connects.get(0).completeExceptionally(new RedisException("connection refused"));
    assertThat(told).containsExactly("FAILED 1");
    assertThatThrownBy(breaker::requireUp).hasMessageContaining("connection refused");
  }

  @Test
  void callsGivenUpWhileConnecting_keepTheirPlaces_andAreNotSent() {
    for (int i = 0; i < MANY; i++) {
      submit().cancel(false);
    }
    Request patient = submit();
    assertThat(calls).as("that wait for the connection").hasSize(2);
    Scripted connection = connected(0);
    assertThat(connection.sent).as("sent at once, by the one that stayed").hasSize(1);
    assertThat(connection.sent.get(0).keys).isEqualTo(1);
    assertThat(told).as("of what was given up").isEmpty();
    assertThat(patient).isNotDone();
    connection.refuse(0, "ERR no");
    assertThat(patient).isCompletedExceptionally();
    assertThat(told).as("of the one that stayed").containsExactly("FAILED 1");
  }

  @Test
  void callOfWhichOneCallerStays_isSent() {
    List<Request> three = List.of(submit(), submit(), submit());
    Request stays = submit();
    three.forEach(request -> request.cancel(false));
    Scripted connection = connected(0);
    assertThat(connection.sent).hasSize(1);
    assertThat(stays).isNotDone();
  }

  /** The first connection broke before anything left on it. */
  @Test
  void callGivenUpWhileConnectingAnew_isNotSent() {
    Request request = submit();
    Scripted broken = new Scripted();
    broken.carries = false;
    connects.get(0).complete(broken);
    assertThat(connects).hasSize(2);
    request.cancel(false);
    Scripted second = connected(1);
    assertThat(second.sent).isEmpty();
    Request next = submit();
    assertThat(second.sent).hasSize(1);
    assertThat(next).isNotDone();
  }

  /** Two requests that the server refused together are asked for one by one, after it broke. */
  private void apart(RequestQueue narrow, Request... shared) {
    Request first = submit(narrow);
    for (int i = 0; i < shared.length; i++) {
      shared[i] = submit(narrow);
    }
    Scripted connection = connected(0);
    connection.refuse(0, "ERR no");
    assertThat(first).isCompletedExceptionally();
    assertThat(connection.sent.get(1).keys).isEqualTo(shared.length);
    connection.open = false;
    connection.refuse(1, "TRYAGAIN moving");
    assertThat(connects).hasSize(2);
  }

  private RequestQueue narrow() {
    return queue(new ClientClock(TimeSource.system(), Duration.ZERO));
  }

  @Test
  void callThatWentApart_freesItsPlaceWhenConnected_whereAllItsCallersGaveUp() {
    RequestQueue narrow = narrow();
    Request[] shared = new Request[2];
    apart(narrow, shared);
    Request next = submit(narrow);
    List.of(shared).forEach(request -> request.cancel(false));
    Scripted second = connected(1);
    assertThat(second.sent).as("the next one alone").hasSize(1);
    assertThat(next).isNotDone();
    narrow.close();
  }

  @Test
  void callThatWentApart_sendsNothingForTheCallerThatGaveUp() {
    RequestQueue narrow = narrow();
    Request[] shared = new Request[2];
    apart(narrow, shared);
    shared[0].cancel(false);
    Scripted second = connected(1);
    assertThat(second.sent).hasSize(1);
    second.refuse(0, "ERR no");
    assertThat(shared[1]).isCompletedExceptionally();
    Request next = submit(narrow);
    assertThat(second.sent).as("and its place is free").hasSize(2);
    assertThat(next).isNotDone();
    narrow.close();
  }

  @Test
  void callThatWentApart_tellsTheBreakerOfAConnectThatFailed() {
    RequestQueue narrow = narrow();
    Request[] shared = new Request[2];
    apart(narrow, shared);
    List.of(shared).forEach(request -> request.cancel(false));
    connects.get(1).completeExceptionally(new RedisException("connection refused"));
    assertThat(told).last().isEqualTo("FAILED 2");
    assertThatThrownBy(breaker::requireUp).hasMessageContaining("connection refused");
    narrow.close();
  }

  /** The race: the store is closed while a call is made. Its caller is told that nothing left. */
  @Test
  void callThatIsClosedBeforeItLeaves_isNotSent() {
    List<RequestQueue> closing = new ArrayList<>();
    TimeSource clock =
        () -> {
          closing.forEach(RequestQueue::close);
          return 0;
        };
    RequestQueue narrow = queue(new ClientClock(clock, Duration.ZERO));
    closing.add(narrow);
    Request request = submit(narrow);
    assertThatThrownBy(request::join).hasMessageContaining("nothing was charged");
    connects.forEach(connect -> connect.complete(new Scripted()));
    assertThat(connects.stream().flatMap(connect -> connect.join().sent.stream())).isEmpty();
  }
}
