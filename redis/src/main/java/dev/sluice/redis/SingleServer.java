package dev.sluice.redis;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/**
 * One server, or the master that Sentinel names at the time. Thread-safe; no method blocks.
 *
 * <p>A probe that gets no answer drops the connection: behind it may be a master that froze while
 * another one took over.
 */
final class SingleServer implements Server {

  private final String name;
  private final Link<Connection> link;
  private final Breaker breaker;
  private final Lane lane;
  private final Wiring wiring;

  SingleServer(
      String name, Supplier<CompletionStage<? extends Connection>> connect, Wiring wiring) {
    this.name = name;
    this.wiring = wiring;
    this.link = new Link<>(connect, false, wiring.timing()::elsewhere);
    this.breaker = wiring.breaker(name, this::probe);
    this.lane = wiring.lane(this, new AtomicInteger());
  }

  /** Runs the script once, on a bucket that nobody has: a server may answer a PING and no call. */
  CompletionStage<?> probe() {
    CompletableFuture<String> answer = wiring.probe(link.call(wiring.probeKeys(), wiring.look()));
    return answer.whenComplete(
        (answered, failure) -> {
          if (failure != null && ServerFault.of(Link.cause(failure)).isSilence()) {
            link.renew();
          }
        });
  }

  CompletionStage<String> ping() {
    return wiring
        .timing()
        .within(link.connection().thenCompose(Connection::ping), wiring.timeoutNanos());
  }

  Lane lane() {
    return lane;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Breaker breaker() {
    return breaker;
  }

  @Override
  public ScriptCall call(byte[][] keys, byte[] argument) {
    return link.call(keys, argument);
  }

  @Override
  public void renew() {
    link.renew();
  }
}
