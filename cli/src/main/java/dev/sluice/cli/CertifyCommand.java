// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.io.JsonStringEncoder;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.UInt64Value;
import com.linecorp.armeria.client.WebClient;
import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.RequestHeaders;
import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.cli.Exit.ExitException;
import dev.sluice.envoy.RateLimitDescriptor;
import dev.sluice.envoy.RateLimitDescriptor.RateLimitOverride;
import dev.sluice.envoy.RateLimitRequest;
import dev.sluice.envoy.RateLimitResponse;
import dev.sluice.envoy.RateLimitResponse.Code;
import dev.sluice.envoy.RateLimitResponse.DescriptorStatus;
import dev.sluice.envoy.RateLimitUnit;
import dev.sluice.gcra.Quota;
import dev.sluice.text.SafeText;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/*
 * If the protocol carries a limit, the command sends two: one that hardly refills during the check,
 * and one that refills within a second. The HTTP API has only limits of the server, which its first
 * answer describes.
 *
 * Time passes between two requests. So a number of seconds may be smaller than expected by the time
 * since the first request for the bucket, rounded up.
 */
/** {@code sluice certify}: checks whether another limiter follows GCRA. */
@Command(
    name = "certify",
    description = {
      "Asks a running limiter, and checks its answers: decisions and numbers as GCRA has them, never"
          + " more than the limit, honest waits, and batches that are all or nothing.",
      "",
      "It asks for new, random ids, and takes up to half a minute."
    },
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:every check passed, or the protocol cannot carry it",
      "1:a check failed",
      "2:wrong usage, or an answer that is none of the protocol",
      "3:the limiter could not be reached"
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  sluice certify redis://127.0.0.1:6380",
      "  sluice certify grpc://127.0.0.1:8081 --domain edge",
      "  sluice certify http://127.0.0.1:8080 --limit LoginsPerIPAddress --json"
    })
final class CertifyCommand implements Callable<Integer> {

  private static final Quota SLOW = Quota.per(8, Duration.ofDays(1));
  private static final Quota QUICK = Quota.per(1, Duration.ofSeconds(1));
  private static final long NANOS = 1_000_000_000;
  private static final long LONGEST_WAIT_SECONDS = 10;
  private static final Duration TIMEOUT = Duration.ofSeconds(5);
  private static final int SEQUENCES = 30;
  private static final int STEPS = 12;
  private static final int THREADS = 8;
  private static final long MOST_AT_ONCE = 1_000;

  private final Console console;
  private final SplittableRandom random = new SplittableRandom();
  private final Set<String> used = new HashSet<>();
  private final List<Check> checks = new ArrayList<>();

  @Parameters(
      index = "0",
      paramLabel = "TARGET",
      description =
          "redis://HOST:PORT (CL.THROTTLE), grpc://HOST:PORT (Envoy's rate limit service) or"
              + " http://HOST:PORT (the HTTP API of Sluice).")
  private String target = "";

  @Option(
      names = "--limit",
      paramLabel = "NAME",
      defaultValue = "LoginsPerIPAddress",
      description =
          "A limit of the server that takes IP addresses, for http:// (${DEFAULT-VALUE}). The other"
              + " protocols carry limits themselves.")
  private String limit = "LoginsPerIPAddress";

  @Option(
      names = "--domain",
      paramLabel = "NAME",
      defaultValue = "certify",
      description =
          "The domain of descriptors, for grpc:// (${DEFAULT-VALUE}). The server must accept limits"
              + " that descriptors carry.")
  private String domain = "certify";

  @Option(names = "--json", description = "Print the report as JSON.")
  private boolean asJson;

  CertifyCommand(Console console) {
    this.console = console;
  }

  /**
   * The outcome of a check; passed is null if the protocol or the limit does not support the check.
   */
  private record Check(String name, @Nullable Boolean passed, String detail) {}

  /**
   * A decision of the limiter.
   *
   * @param remaining the remaining tokens
   * @param retrySeconds rounded up; -1 if waiting does not help or is not needed
   * @param resetSeconds rounded up; -1 if the protocol does not have it
   */
  private record Answer(boolean allowed, long remaining, long retrySeconds, long resetSeconds) {}

  /** A connection to the limiter. Each thread has its own. */
  private interface Target extends AutoCloseable {

    Answer spend(String id, long cost, Quota quota);

    /** Whether two ids pass together; null where the protocol has no batches. */
    @Nullable Boolean spendBoth(String one, String other, Quota quota);

    /** Returns the limit that the limiter applies for a requested one. */
    default Quota held(Quota asked) {
      return asked;
    }

    @Override
    void close();
  }

  /** Thrown for an answer that breaks the law of the limiter. */
  private static final class BrokenException extends RuntimeException {

    private static final long serialVersionUID = 1;

    BrokenException(String message) {
      super(message, null, false, false);
    }
  }

  @Override
  public Integer call() {
    try (Target asked = open()) {
      check("a sequence of costs is decided as by GCRA, with its numbers", () -> sequences(asked));
      check("never over: threads together get what the limit allows", () -> neverOver(asked));
      check(
          "a cost above the burst is denied, without a wait, and takes nothing",
          () -> tooMuch(asked));
      check("waits are honest, and denials cost nothing", () -> waits(asked));
      check("a batch is all or nothing", () -> allOrNothing(asked));
    }
    boolean passed = checks.stream().noneMatch(one -> Boolean.FALSE.equals(one.passed));
    console.line(asJson ? json(passed) : text(passed));
    return passed ? Exit.DONE : Exit.NO;
  }

  /** Runs a check, which returns null, or why it cannot be made. */
  private void check(String name, Callable<@Nullable String> law) {
    try {
      String reason = law.call();
      checks.add(new Check(name, reason == null ? true : null, reason == null ? "" : reason));
    } catch (BrokenException e) {
      checks.add(new Check(name, false, String.valueOf(e.getMessage())));
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private static void require(boolean holds, String found) {
    if (!holds) {
      throw new BrokenException(found);
    }
  }

  /** An address that limits of addresses take, too; new for each bucket. */
  private String id() {
    String id =
        "10.%s.%s.%s".formatted(random.nextInt(256), random.nextInt(256), random.nextInt(256));
    return used.add(id) ? id : id();
  }

  private @Nullable String sequences(Target asked) {
    Quota quota = asked.held(SLOW);
    if (quota.intervalNanos() < NANOS) {
      return "the limit refills more than once a second: its numbers change while it is asked";
    }
    for (int i = 0; i < SEQUENCES; i++) {
      Limit model = Limit.of(quota, () -> 0);
      String id = id();
      long start = System.nanoTime();
      for (int step = 1; step <= STEPS; step++) {
        long cost =
            1 + random.nextLong(random.nextInt(4) == 0 ? quota.burst() : 1 + quota.burst() / 4);
        Decision expected = model.spend(id, cost);
        Answer found = asked.spend(id, cost, quota);
        long passed = (System.nanoTime() - start) / NANOS + 1;
        String at = "sequence %s, step %s, cost %s: found ".formatted(i + 1, step, cost);
        require(
            found.allowed == expected.allowed(),
            (at + "%s, expected %s")
                .formatted(
                    found.allowed ? "allowed" : "denied",
                    expected.allowed() ? "allowed" : "denied"));
        if (expected.allowed() || found.remaining != 0) { // Envoy's answer is 0 for a denial
          require(
              found.remaining == expected.remaining(),
              (at + "%s remaining, expected %s").formatted(found.remaining, expected.remaining()));
        }
        if (expected.denied()) {
          requireSeconds(at + "a wait of", found.retrySeconds, expected.retryInNanos(), passed);
        }
        if (found.resetSeconds >= 0) {
          requireSeconds(at + "a reset in", found.resetSeconds, expected.resetInNanos(), passed);
        }
      }
    }
    return null;
  }

  private static void requireSeconds(String what, long found, long nanos, long passed) {
    long expected = seconds(nanos);
    require(
        found <= expected && found >= expected - passed,
        (what + " %s s, expected %s s").formatted(found, expected));
  }

  private static long seconds(long nanos) {
    return nanos / NANOS + (nanos % NANOS > 0 ? 1 : 0);
  }

  private @Nullable String neverOver(Target asked) throws InterruptedException {
    Quota quota = asked.held(SLOW);
    if (quota.burst() > MOST_AT_ONCE) {
      return "the burst is above " + MOST_AT_ONCE;
    }
    String id = id();
    int each = (int) (2 * quota.burst() / THREADS) + 2;
    long start = System.nanoTime();
    ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    long granted = 0;
    try {
      List<Future<Integer>> all = new ArrayList<>();
      for (int i = 0; i < THREADS; i++) {
        all.add(threads.submit(() -> spendMany(id, each, quota)));
      }
      for (Future<Integer> one : all) {
        granted += one.get();
      }
    } catch (ExecutionException e) {
      throw e.getCause() instanceof RuntimeException cause ? cause : new IllegalStateException(e);
    } finally {
      threads.shutdownNow();
    }
    long most = quota.burst() + (System.nanoTime() - start) / quota.intervalNanos() + 1;
    require(granted <= most, "%s passed, expected at most %s".formatted(granted, most));
    require(granted >= quota.burst(), "%s passed, expected %s".formatted(granted, quota.burst()));
    return null;
  }

  private int spendMany(String id, int times, Quota quota) {
    int granted = 0;
    try (Target own = open()) {
      for (int i = 0; i < times; i++) {
        granted += own.spend(id, 1, quota).allowed ? 1 : 0;
      }
    }
    return granted;
  }

  private @Nullable String tooMuch(Target asked) {
    Quota quota = asked.held(SLOW);
    String id = id();
    try {
      Answer over = asked.spend(id, quota.burst() + 1, quota);
      require(!over.allowed, "it passed");
      require(over.retrySeconds <= 0, "found a wait of %s s".formatted(over.retrySeconds));
    } catch (RefusedException e) {
      return "the limiter refuses such a request: " + e.getMessage();
    }
    require(asked.spend(id, quota.burst(), quota).allowed, "the whole burst did not pass then");
    return null;
  }

  private @Nullable String waits(Target asked) throws InterruptedException {
    Quota quota = asked.held(QUICK);
    String id = id();
    long wait = 0;
    for (int round = 0; round < 3; round++) {
      Answer first = asked.spend(id, 1, quota);
      require(
          first.allowed,
          (round == 0 ? "denied at first" : "denied after the wait of %s s").formatted(wait));
      long start = System.nanoTime();
      if (first.remaining > 0) {
        require(asked.spend(id, first.remaining, quota).allowed, "denied what was left");
      }
      Answer denied = asked.spend(id, 1, quota);
      for (int i = 0; i < 5; i++) {
        denied = asked.spend(id, 1, quota);
      }
      if (System.nanoTime() - start > quota.intervalNanos() / 2) {
        return "the limiter answers too slowly for its limit";
      }
      require(!denied.allowed, "passed at once, after all was spent");
      wait = denied.retrySeconds;
      require(wait > 0, "denied without a wait, although one would help");
      long full = quota.offsetNanos() / NANOS + 1;
      require(wait <= full, "a wait of %s s, expected at most %s s".formatted(wait, full));
      if (wait > LONGEST_WAIT_SECONDS) {
        return "the wait is longer than %s s".formatted(LONGEST_WAIT_SECONDS);
      }
      Thread.sleep(wait * 1_000);
    }
    return null;
  }

  private @Nullable String allOrNothing(Target asked) {
    Quota quota = asked.held(SLOW);
    String spent = id();
    String fresh = id();
    require(asked.spend(spent, quota.burst(), quota).allowed, "denied at first");
    Boolean both = asked.spendBoth(fresh, spent, quota);
    if (both == null) {
      return "the protocol has no batches";
    }
    require(!both, "a batch passed whose second part does not fit");
    require(
        asked.spend(fresh, quota.burst(), quota).allowed,
        "a batch that was denied took from its first part");
    return null;
  }

  private String text(boolean passed) {
    StringBuilder text = new StringBuilder();
    for (Check one : checks) {
      String word = one.passed == null ? "skipped" : one.passed ? "passed" : "FAILED";
      text.append(
          "%-8s%s%s%n".formatted(word, one.name, one.detail.isEmpty() ? "" : ": " + one.detail));
    }
    return text + (passed ? "the limiter passes" : "the limiter does not pass");
  }

  private String json(boolean passed) {
    StringWriter text = new StringWriter();
    try (JsonGenerator json = new JsonFactory().createGenerator(text)) {
      json.writeStartObject();
      json.writeStringField("target", target);
      json.writeBooleanField("passed", passed);
      json.writeArrayFieldStart("checks");
      for (Check one : checks) {
        json.writeStartObject();
        json.writeStringField("name", one.name);
        json.writeStringField(
            "outcome", one.passed == null ? "skipped" : one.passed ? "passed" : "failed");
        json.writeStringField("detail", one.detail);
        json.writeEndObject();
      }
      json.writeEndArray();
      json.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException(e); // memory does not fail
    }
    return text.toString();
  }

  private Target open() {
    URI uri;
    try {
      uri = URI.create(target);
    } catch (IllegalArgumentException e) {
      throw wrongTarget();
    }
    if (uri.getHost() == null || uri.getPort() < 0 || uri.getScheme() == null) {
      throw wrongTarget();
    }
    try {
      return switch (uri.getScheme()) {
        case "redis" -> new Throttle(uri);
        case "grpc" -> new Envoy(uri, domain);
        case "http" -> new Http(uri, limit);
        default -> throw wrongTarget();
      };
    } catch (IOException e) {
      throw away(e);
    }
  }

  private InputException wrongTarget() {
    return new InputException(
        "found the target %s, expected redis://HOST:PORT, grpc://HOST:PORT or http://HOST:PORT"
            .formatted(SafeText.quote(target)));
  }

  private static ExitException away(Exception e) {
    return new ExitException(
        Exit.UNREACHABLE, "the limiter could not be reached: " + e.getMessage(), e);
  }

  /** A request that the limiter refuses to decide. */
  private static final class RefusedException extends ExitException {

    private static final long serialVersionUID = 1;

    RefusedException(String message) {
      super(Exit.BROKEN_INPUT, message, null);
    }
  }

  private static RefusedException refused(String answer) {
    return new RefusedException("the limiter answers " + SafeText.quote(answer));
  }

  private static RefusedException unreadable(String what) {
    return new RefusedException("the limiter's answer is " + what);
  }

  /** {@code CL.THROTTLE} over the protocol of Redis. */
  private static final class Throttle implements Target {
    private final Socket socket = new Socket();
    private final InputStream in;

    Throttle(URI uri) throws IOException {
      socket.connect(new InetSocketAddress(uri.getHost(), uri.getPort()), (int) TIMEOUT.toMillis());
      socket.setSoTimeout((int) TIMEOUT.toMillis());
      in = new BufferedInputStream(socket.getInputStream());
    }

    @Override
    public Answer spend(String id, long cost, Quota quota) {
      List<String> words =
          List.of(
              "CL.THROTTLE",
              "certify:" + id,
              Long.toString(quota.burst() - 1),
              Long.toString(quota.count()),
              Long.toString(quota.period().toSeconds()),
              Long.toString(cost));
      String command =
          words.stream()
              .map(word -> "$%s\r\n%s\r\n".formatted(word.length(), word))
              .collect(Collectors.joining("", "*%s\r\n".formatted(words.size()), ""));
      try {
        socket.getOutputStream().write(command.getBytes(StandardCharsets.UTF_8));
        String head = line();
        if (!head.equals("*5")) {
          throw refused(head);
        }
        long[] numbers = new long[5];
        for (int i = 0; i < numbers.length; i++) {
          numbers[i] = Long.parseLong(line().substring(1));
        }
        return new Answer(numbers[0] == 0, numbers[2], numbers[3], numbers[4]);
      } catch (IOException e) {
        throw away(e);
      } catch (NumberFormatException | IndexOutOfBoundsException e) {
        throw unreadable("not an array of five integers");
      }
    }

    private String line() throws IOException {
      StringBuilder line = new StringBuilder();
      for (int c = in.read(); c != '\n'; c = in.read()) {
        if (c < 0 || line.length() > 1_000) {
          throw new IOException("the connection ended within an answer");
        }
        line.append((char) c);
      }
      return line.toString().strip();
    }

    @Override
    public @Nullable Boolean spendBoth(String one, String other, Quota quota) {
      return null;
    }

    @Override
    public void close() {
      try {
        socket.close();
      } catch (IOException e) {
        // Nothing is asked any more.
      }
    }
  }

  /** Envoy's rate limit service, by descriptors that carry their limit. */
  private static final class Envoy implements Target {

    private static final String PATH =
        "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
    private static final int FRAME = 5;
    private static final Map<Duration, RateLimitUnit> UNITS =
        Map.of(
            Duration.ofSeconds(1), RateLimitUnit.SECOND,
            Duration.ofDays(1), RateLimitUnit.DAY);

    private final WebClient client;
    private final String domain;

    Envoy(URI uri, String domain) {
      this.client = WebClient.of("h2c://%s:%s".formatted(uri.getHost(), uri.getPort()));
      this.domain = domain;
    }

    private static RateLimitDescriptor.Builder descriptor(String id, Quota quota) {
      return RateLimitDescriptor.newBuilder()
          .addEntries(RateLimitDescriptor.Entry.newBuilder().setKey("remote_address").setValue(id))
          .setLimit(
              RateLimitOverride.newBuilder()
                  .setRequestsPerUnit((int) quota.burst())
                  .setUnit(UNITS.getOrDefault(quota.period(), RateLimitUnit.UNKNOWN)));
    }

    private RateLimitResponse ask(RateLimitDescriptor.Builder... descriptors) {
      RateLimitRequest.Builder request = RateLimitRequest.newBuilder().setDomain(domain);
      for (RateLimitDescriptor.Builder one : descriptors) {
        request.addDescriptors(one);
      }
      byte[] message = request.build().toByteArray();
      byte[] framed =
          ByteBuffer.allocate(FRAME + message.length)
              .put((byte) 0)
              .putInt(message.length)
              .put(message)
              .array();
      RequestHeaders headers =
          RequestHeaders.of(
              HttpMethod.POST, PATH, "content-type", "application/grpc+proto", "te", "trailers");
      AggregatedHttpResponse response;
      try {
        response =
            client.execute(HttpRequest.of(headers, HttpData.wrap(framed))).aggregate().join();
      } catch (CompletionException e) {
        throw away(e.getCause() instanceof Exception cause ? cause : e);
      }
      byte[] body = response.content().array();
      String status =
          response.trailers().get("grpc-status", response.headers().get("grpc-status", "0"));
      if (!status.equals("0") || body.length < FRAME) {
        String why =
            response.trailers().get("grpc-message", response.headers().get("grpc-message", ""));
        throw refused("gRPC status " + status + " " + why);
      }
      try {
        return RateLimitResponse.parseFrom(ByteBuffer.wrap(body, FRAME, body.length - FRAME));
      } catch (InvalidProtocolBufferException e) {
        throw unreadable("not a RateLimitResponse");
      }
    }

    @Override
    public Answer spend(String id, long cost, Quota quota) {
      DescriptorStatus status =
          ask(descriptor(id, quota).setHitsAddend(UInt64Value.of(cost))).getStatuses(0);
      boolean allowed = status.getCode() == Code.OK;
      if (!status.hasCurrentLimit()) {
        throw unreadable(
            "without a limit: the server must accept limits in descriptors (--rls-overrides allow)");
      }
      long seconds =
          status.hasDurationUntilReset() ? status.getDurationUntilReset().getSeconds() : -1;
      return new Answer(
          allowed,
          Integer.toUnsignedLong(status.getLimitRemaining()),
          allowed ? -1 : seconds,
          allowed ? seconds : -1);
    }

    @Override
    public Boolean spendBoth(String one, String other, Quota quota) {
      return ask(descriptor(one, quota), descriptor(other, quota)).getOverallCode() == Code.OK;
    }

    @Override
    public void close() {
      // The client has no connection of its own.
    }
  }

  /** The HTTP API of Sluice, with a limit of the server. */
  private static final class Http implements Target {
    private final HttpClient client = HttpClient.newBuilder().connectTimeout(TIMEOUT).build();
    private final URI uri;
    private final String limit;
    private @Nullable Quota held;

    Http(URI uri, String limit) {
      this.uri = uri.resolve("/v1/spend");
      this.limit = new String(JsonStringEncoder.getInstance().quoteAsString(limit));
    }

    private ActAnswer ask(String body) {
      try {
        HttpResponse<String> response =
            client.send(
                java.net.http.HttpRequest.newBuilder(uri)
                    .timeout(TIMEOUT)
                    .header("Content-Type", "application/json")
                    .POST(BodyPublishers.ofString(body))
                    .build(),
                BodyHandlers.ofString());
        if (response.statusCode() != 200) {
          throw refused(response.statusCode() + " " + response.body().strip());
        }
        return ActAnswer.parse(response.body());
      } catch (IOException e) {
        throw away(e);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException(e);
      } catch (IllegalArgumentException e) {
        throw unreadable("not a decision of Sluice");
      }
    }

    private String transaction(String id, long cost) {
      return "{\"limit\":\"%s\",\"id\":\"%s\",\"cost\":%s}".formatted(limit, id, cost);
    }

    @Override
    public Quota held(Quota asked) {
      if (held == null) {
        long low = System.nanoTime() & 0xffff;
        ActAnswer first = ask(transaction("198.18.%s.%s".formatted(low >> 8, low & 0xff), 1));
        Long burst = first.burst();
        if (burst == null || first.remaining() != burst - 1) {
          throw new InputException(
              "--limit: expected a limit that applies to a new IP address and has a burst");
        }
        held = Quota.of(burst, 1, Duration.ofNanos(first.resetInNanos()));
      }
      return held;
    }

    @Override
    public Answer spend(String id, long cost, Quota quota) {
      ActAnswer answer = ask(transaction(id, cost));
      return new Answer(
          answer.allowed(),
          answer.remaining(),
          answer.allowed() || answer.retryInNanos() == 0 ? -1 : seconds(answer.retryInNanos()),
          seconds(answer.resetInNanos()));
    }

    @Override
    public Boolean spendBoth(String one, String other, Quota quota) {
      return ask("{\"transactions\":[%s,%s]}".formatted(transaction(one, 1), transaction(other, 1)))
          .allowed();
    }

    @Override
    public void close() {
      // The client closes its connections itself.
    }
  }
}
