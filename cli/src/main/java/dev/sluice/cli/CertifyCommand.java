// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.cli.CertifyTarget.Answer;
import dev.sluice.cli.Console.ConsoleCommand;
import dev.sluice.cli.Exit.ExitException;
import dev.sluice.cli.RecordedSteps.Recording;
import dev.sluice.cli.RecordedSteps.Run;
import dev.sluice.cli.RecordedSteps.Step;
import dev.sluice.cli.ServerClientOptions.Tls;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.SafeText;
import dev.sluice.server.base.Json;
import io.lettuce.core.RedisURI;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/*
 * If the requests of a protocol contain the limit, the command uses two limits: one that hardly
 * refills during the check, and one that refills within a second. Requests of the HTTP API use the
 * server's limit, so the command computes burst and refill rate from the first response.
 *
 * Time passes between two requests. So a wait or a reset can be shorter than expected, by at most
 * the time since the first request for the bucket, rounded up to seconds.
 */
/** {@code sluice certify}: checks whether another limiter follows GCRA. */
@Command(
    name = "certify",
    description = {
      "Sends requests to a running limiter, and checks that it decides as recorded and as GCRA,"
          + " never grants more than the limit, admits clients after the wait that it sent, and"
          + " charges a batch all or nothing.",
      "",
      "For redis:// and rediss://, the token is the password for AUTH. Write the user into the"
          + " address: redis://app@host:6379.",
      "",
      "The recorded test vectors have their own clock, so the command replays only sequences that"
          + " begin with a full bucket and need no time to pass. Of 2,760 steps, it replays 981"
          + " with CL.THROTTLE and 774 with Envoy's protocol, which has no cost of 0. With HTTP, it"
          + " replays the steps whose burst is the burst of --limit: 98 steps for a burst of 10.",
      "",
      "The command spends on new random ids (addresses in 10.0.0.0/8), for up to half a minute."
    },
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:no check failed; checks that the protocol does not support are skipped",
      "1:a check failed, or the limiter replied with an error during a check",
      "2:wrong usage, or the limiter's first reply was an error or of another protocol",
      "3:no connection to the limiter could be opened"
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  sluice certify redis://127.0.0.1:6380",
      "  sluice certify rediss://app@cache.example.com:6379 --token-file password",
      "  sluice certify grpc://127.0.0.1:8081 --domain edge",
      "  sluice certify http://127.0.0.1:8080 --limit LoginsPerIPAddress --json"
    })
final class CertifyCommand extends ConsoleCommand {

  private static final Quota SLOW = Quota.per(8, Duration.ofDays(1));
  private static final Duration SLOW_REFILL = Duration.ofHours(1);
  // Intervals of 3.75 s and 0.25 s: a limiter must not round intervals to whole seconds.
  private static final Quota UNEVEN = Quota.per(16, Duration.ofMinutes(1));
  private static final Quota FAST = Quota.per(4, Duration.ofSeconds(1));
  private static final Quota QUICK = Quota.per(1, Duration.ofSeconds(1));
  private static final long NANOS = 1_000_000_000;
  private static final long LONGEST_WAIT_SECONDS = 10;
  private static final long FRACTIONS_NANOS = 2 * NANOS;
  private static final long PAUSE_MILLIS = 20;
  private static final String TOO_SLOW =
      "the limiter answered so slowly that a token may have been refilled during the check";
  private static final String FIRST_DENIED = "the first request of a new id was denied";
  private static final int SEQUENCES = 30;
  private static final int STEPS = 12;
  private static final int THREADS = 8;
  private static final int TRIES = 7;
  private static final long MOST_AT_ONCE = 1_000;

  private final SplittableRandom random = new SplittableRandom();
  private final Set<String> used = new HashSet<>();
  private final List<Check> checks = new ArrayList<>();

  @Parameters(
      index = "0",
      paramLabel = "TARGET",
      description =
          "redis://HOST:PORT (CL.THROTTLE), grpc://HOST:PORT (Envoy's rate limit service) or"
              + " http://HOST:PORT (Sluice's HTTP API). With TLS: rediss://, grpcs://, https://.")
  private String target = "";

  @Option(
      names = "--limit",
      paramLabel = "NAME",
      defaultValue = "LoginsPerIPAddress",
      description =
          "For http://: a limit of the server whose ids are IP addresses (${DEFAULT-VALUE}). With"
              + " the other protocols, the command sends its own limits.")
  private String limit = "LoginsPerIPAddress";

  @Option(
      names = "--domain",
      paramLabel = "NAME",
      defaultValue = "certify",
      description =
          "For grpc://: the descriptors' domain (${DEFAULT-VALUE}). The server must allow limits"
              + " in descriptors.")
  private String domain = "certify";

  @Mixin private ServerClientOptions client = new ServerClientOptions();

  @Option(names = "--json", description = "Print the report as JSON.")
  private boolean asJson;

  /**
   * The outcome of a check; passed is null if the protocol or the limit does not support the check.
   */
  private record Check(String name, @Nullable Boolean passed, String detail) {

    String word() {
      return passed == null ? "skipped" : passed ? "passed" : "FAILED";
    }
  }

  /** Thrown if the limiter's answer fails a check. */
  private static final class BrokenException extends RuntimeException {

    private static final long serialVersionUID = 1;

    BrokenException(String message) {
      super(message, null, false, false);
    }
  }

  /**
   * A check's code. Returns a detail for the report, which can be empty; throws if the check fails.
   */
  private interface Law {
    String holds() throws InterruptedException;
  }

  /** Thrown if a check cannot run; the message is the reason. */
  private static final class SkippedException extends RuntimeException {

    private static final long serialVersionUID = 1;

    SkippedException(String message) {
      super(message, null, false, false);
    }
  }

  @Override
  public Integer call() {
    Supplier<CertifyTarget> connect = connect();
    try (CertifyTarget asked = connect.get()) {
      // After the limiter's first answer, an error counts as a failed check.
      Answer unused = asked.spend(id(), 1, asked.held(SLOW));
      check("the recorded vectors", () -> recorded(asked));
      check("a sequence of costs gets the decisions and numbers of GCRA", () -> sequences(asked));
      check(
          "concurrent threads together get exactly what the limit allows",
          () -> neverOver(asked, connect));
      check("a limit of several tokens a second grants as many", () -> fractions(asked));
      check(
          "a cost above the burst is denied, without a wait, and takes nothing",
          () -> tooMuch(asked));
      check("waits are neither too short nor too long; denials cost no tokens", () -> waits(asked));
      check("a batch is all or nothing", () -> allOrNothing(asked));
    }
    boolean passed = checks.stream().noneMatch(one -> Boolean.FALSE.equals(one.passed));
    console.line(asJson ? json(passed) : text(passed));
    return passed ? Exit.DONE : Exit.NO;
  }

  private void check(String name, Law law) {
    try {
      checks.add(new Check(name, true, law.holds()));
    } catch (SkippedException e) {
      checks.add(new Check(name, null, String.valueOf(e.getMessage())));
    } catch (BrokenException | ExitException e) {
      checks.add(new Check(name, false, String.valueOf(e.getMessage())));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  private static void require(boolean holds, String found) {
    if (!holds) {
      throw new BrokenException(found);
    }
  }

  /** Returns a new id, an IP address, since the server's limit can require IP addresses. */
  private String id() {
    String id =
        "10.%s.%s.%s".formatted(random.nextInt(256), random.nextInt(256), random.nextInt(256));
    return used.add(id) ? id : id();
  }

  private String sequences(CertifyTarget asked) {
    Quota quota = asked.held(SLOW);
    if (quota.intervalNanos() < NANOS) {
      throw new SkippedException(
          "the limit refills more than one token a second, so the remaining tokens change during"
              + " the check");
    }
    sequences(asked, quota);
    Quota uneven = asked.held(UNEVEN);
    if (!uneven.equals(quota)) {
      sequences(asked, uneven);
    }
    return "";
  }

  private void sequences(CertifyTarget asked, Quota quota) {
    for (int i = 0; i < SEQUENCES; i++) {
      Limit model = Limit.of(quota, () -> 0);
      String id = id();
      long start = System.nanoTime();
      for (int step = 1; step <= STEPS; step++) {
        long cost =
            1 + random.nextLong(random.nextInt(4) == 0 ? quota.burst() : 1 + quota.burst() / 4);
        Decision expected = model.spend(id, cost);
        Answer found = asked.spend(id, cost, quota);
        requireSame(
            quota,
            "sequence %s, step %s, cost %s: found ".formatted(i + 1, step, cost),
            found,
            new Expected(
                expected.allowed(),
                expected.remaining(),
                expected.retryInNanos(),
                expected.resetInNanos()),
            start);
      }
    }
  }

  /** Replays the recorded sequences of spends that the limiter's burst and protocol allow. */
  private String recorded(CertifyTarget asked) {
    Recording recording = RecordedSteps.read();
    int replayed = 0;
    for (Run run : recording.runs()) {
      Quota quota = asked.held(Quota.burst(run.burst()).refill(1, SLOW_REFILL));
      if (quota.burst() != run.burst() || quota.intervalNanos() < NANOS) {
        continue;
      }
      String id = id();
      long start = System.nanoTime();
      for (Step step : run.steps()) {
        if (step.cost() > 0 || asked.hasCostZero()) {
          requireSame(
              quota,
              "burst %s, cost %s (line %s of the recording): found "
                  .formatted(run.burst(), step.cost(), step.line()),
              asked.spend(id, step.cost(), quota),
              new Expected(
                  step.allowed(),
                  step.remaining(),
                  step.retry() * quota.intervalNanos(),
                  step.reset() * quota.intervalNanos()),
              start);
          replayed++;
        }
      }
    }
    if (replayed == 0) {
      throw new SkippedException(
          "the limit's burst differs from the burst of each recorded sequence, or the limit refills"
              + " more than one token a second, so the remaining tokens change during the check");
    }
    return "%s of %s recorded steps".formatted(replayed, recording.acts());
  }

  private record Expected(boolean allowed, long remaining, long retryNanos, long resetNanos) {}

  private static void requireSame(
      Quota quota, String at, Answer found, Expected expected, long start) {
    requireNoRefill(quota, start);
    long passed = (System.nanoTime() - start) / NANOS + 1;
    require(
        found.allowed() == expected.allowed,
        (at + "%s, expected %s")
            .formatted(
                found.allowed() ? "allowed" : "denied", expected.allowed ? "allowed" : "denied"));
    if (found.remaining() != null) {
      require(
          found.remaining() == expected.remaining,
          (at + "%s remaining, expected %s").formatted(found.remaining(), expected.remaining));
    }
    if (!expected.allowed) {
      requireSeconds(
          at + "a wait of", Math.max(0, found.retrySeconds()), expected.retryNanos, passed);
    }
    if (found.resetSeconds() != null) {
      requireSeconds(at + "a reset in", found.resetSeconds(), expected.resetNanos, passed);
    }
  }

  /** Skips a check if a token can have been refilled during the check. */
  private static void requireNoRefill(Quota quota, long start) {
    if (System.nanoTime() - start >= quota.intervalNanos()) {
      throw new SkippedException(TOO_SLOW);
    }
  }

  private static void requireSeconds(String what, long found, long nanos, long passed) {
    long expected = seconds(nanos);
    require(
        found <= expected && found >= expected - passed,
        (what + " %s s, expected %s s").formatted(found, expected));
  }

  static long seconds(long nanos) {
    return nanos / NANOS + (nanos % NANOS > 0 ? 1 : 0);
  }

  private String neverOver(CertifyTarget asked, Supplier<CertifyTarget> connect)
      throws InterruptedException {
    Quota quota = asked.held(SLOW);
    if (quota.burst() > MOST_AT_ONCE) {
      throw new SkippedException("the burst is above " + MOST_AT_ONCE);
    }
    String id = id();
    int each = (int) (2 * quota.burst() / THREADS) + 2;
    long start = System.nanoTime();
    ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    long granted = 0;
    try {
      List<Future<Integer>> all = new ArrayList<>();
      for (int i = 0; i < THREADS; i++) {
        all.add(threads.submit(() -> spendMany(connect, id, each, quota)));
      }
      for (Future<Integer> one : all) {
        granted += one.get();
      }
    } catch (ExecutionException e) {
      throw e.getCause() instanceof RuntimeException cause ? cause : new IllegalStateException(e);
    } finally {
      threads.shutdownNow();
    }
    long most = quota.burst() + (System.nanoTime() - start) / quota.intervalNanos();
    require(granted <= most, "%s requests passed, expected at most %s".formatted(granted, most));
    require(
        granted >= quota.burst(),
        "%s requests passed, expected %s".formatted(granted, quota.burst()));
    return "";
  }

  /** Requests more than a limit of four tokens a second allows, for two seconds. */
  private String fractions(CertifyTarget asked) throws InterruptedException {
    if (!asked.held(FAST).equals(FAST)) {
      throw new SkippedException("the command cannot send limits with this protocol");
    }
    String id = id();
    long granted = 0;
    long start = System.nanoTime();
    require(asked.spend(id, FAST.burst(), FAST).allowed(), FIRST_DENIED);
    long spent = System.nanoTime();
    long sent = spent;
    while (sent - spent < FRACTIONS_NANOS) {
      TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
      long before = sent;
      sent = System.nanoTime();
      granted += asked.spend(id, 1, FAST).allowed() ? 1 : 0;
      long now = System.nanoTime();
      if (now - before > FAST.intervalNanos()) {
        throw new SkippedException(
            "the limiter answered so slowly that its bucket may have been full");
      }
      long most = (now - start) / FAST.intervalNanos();
      require(
          granted <= most,
          "after the burst, %s requests passed, expected at most %s".formatted(granted, most));
    }
    long least = (sent - spent) / FAST.intervalNanos() - 1;
    require(
        granted >= least,
        "after the burst, %s requests passed, expected at least %s".formatted(granted, least));
    return "";
  }

  private static int spendMany(Supplier<CertifyTarget> connect, String id, int times, Quota quota) {
    int granted = 0;
    try (CertifyTarget own = connect.get()) {
      for (int i = 0; i < times; i++) {
        granted += own.spend(id, 1, quota).allowed() ? 1 : 0;
      }
    }
    return granted;
  }

  private String tooMuch(CertifyTarget asked) {
    Quota quota = asked.held(SLOW);
    String id = id();
    try {
      Answer over = asked.spend(id, quota.burst() + 1, quota);
      require(!over.allowed(), "a cost above the burst passed");
      require(
          over.retrySeconds() <= 0,
          "a cost above the burst was denied with a wait of %s s, expected no wait"
              .formatted(over.retrySeconds()));
    } catch (InputException e) {
      throw new SkippedException("the limiter rejects this cost: " + e.getMessage());
    }
    require(
        asked.spend(id, quota.burst(), quota).allowed(),
        "after the denial of a cost above the burst, a cost equal to the burst was denied");
    return "";
  }

  private String waits(CertifyTarget asked) throws InterruptedException {
    Quota quota = asked.held(QUICK);
    String id = id();
    requireWait(asked, id, quota);
    // A bucket that is full keeps no further tokens while the client sends nothing.
    long idle = quota.offsetNanos();
    if (idle > LONGEST_WAIT_SECONDS * NANOS - quota.intervalNanos()) {
      return "the burst refills too slowly to be spent again";
    }
    TimeUnit.NANOSECONDS.sleep(idle + quota.intervalNanos());
    requireWait(asked, id, quota);
    return "";
  }

  /**
   * Spends all tokens of a bucket, and then one more token after the wait.
   *
   * <p>In less time than the refill of one token takes, a limiter can grant at most the burst. This
   * time includes the network's delays, since it begins before the first request is sent, and ends
   * after the last answer.
   */
  private static void requireWait(CertifyTarget asked, String id, Quota quota)
      throws InterruptedException {
    long start = System.nanoTime();
    Answer last = asked.spend(id, 1, quota);
    require(last.allowed(), "a request for a full bucket was denied");
    long granted = 1;
    Long left = last.remaining();
    if (left != null && left > 0) {
      require(
          left < quota.burst(),
          "found %s remaining after a spend, expected at most %s"
              .formatted(left, quota.burst() - 1));
      require(
          asked.spend(id, left, quota).allowed(),
          "a cost equal to the remaining tokens was denied");
      granted += left;
    }
    for (int i = 0; i < TRIES; i++) {
      if (i == TRIES - 1) {
        long later = start + Math.min(quota.intervalNanos(), NANOS) / 2;
        TimeUnit.NANOSECONDS.sleep(later - System.nanoTime());
      }
      last = asked.spend(id, 1, quota);
      granted += last.allowed() ? 1 : 0;
    }
    requireNoRefill(quota, start);
    require(
        granted <= quota.burst(),
        "%s tokens were granted before one token could be refilled, expected at most %s"
            .formatted(granted, quota.burst()));
    require(!last.allowed(), "a request passed although all tokens were spent");
    long wait = last.retrySeconds();
    require(wait > 0, "the denial names no wait, although the request would pass later");
    long full = quota.offsetNanos() / NANOS + 1;
    require(wait <= full, "a wait of %s s, expected at most %s s".formatted(wait, full));
    if (wait > LONGEST_WAIT_SECONDS) {
      throw new SkippedException(
          "the limiter sent a wait of more than %s s, too long for this check"
              .formatted(LONGEST_WAIT_SECONDS));
    }
    TimeUnit.SECONDS.sleep(wait);
    require(
        asked.spend(id, 1, quota).allowed(),
        "a request was denied after its wait of %s s".formatted(wait));
  }

  private String allOrNothing(CertifyTarget asked) {
    Quota quota = asked.held(SLOW);
    String spent = id();
    String fresh = id();
    long start = System.nanoTime();
    require(asked.spend(spent, quota.burst(), quota).allowed(), FIRST_DENIED);
    Boolean both = asked.spendBoth(fresh, spent, quota);
    if (both == null) {
      throw new SkippedException("the protocol has no batches");
    }
    requireNoRefill(quota, start);
    require(!both, "a batch passed although the second bucket was empty");
    require(
        asked.spend(fresh, quota.burst(), quota).allowed(),
        "a denied batch spent tokens of its first bucket");
    return "";
  }

  private String text(boolean passed) {
    StringBuilder text = new StringBuilder();
    for (Check one : checks) {
      text.append(
          "%-8s%s%s%n"
              .formatted(one.word(), one.name, one.detail.isEmpty() ? "" : ": " + one.detail));
    }
    return text + (passed ? "the limiter passes the checks" : "the limiter fails a check");
  }

  private String json(boolean passed) {
    byte[] report =
        Json.object(
            json ->
                json.put("target", shownTarget())
                    .put("passed", passed)
                    .putEach(
                        "checks",
                        checks,
                        (check, one) ->
                            one.put("name", check.name)
                                .put("outcome", check.word().toLowerCase(Locale.ROOT))
                                .put("detail", check.detail)));
    return new String(report, StandardCharsets.UTF_8);
  }

  /** Reads the target, the token and the certificates once, for the connections of all threads. */
  private Supplier<CertifyTarget> connect() {
    URI uri;
    try {
      uri = URI.create(target);
      if (target.startsWith("redis")) {
        RedisURI unused = RedisURI.create(uri); // throws if the database is not a number
      }
    } catch (IllegalArgumentException e) {
      throw wrongTarget();
    }
    String scheme = uri.getScheme() == null ? "" : uri.getScheme();
    if (uri.getHost() == null
        || uri.getPort() == 0
        || uri.getPort() > ServerClient.LARGEST_PORT
        || (uri.getPort() < 0 && scheme.startsWith("grpc"))
        || (!scheme.startsWith("redis") && (uri.getUserInfo() != null || uri.getQuery() != null))
        || uri.getFragment() != null) {
      throw wrongTarget();
    }
    if (scheme.equals("http") || scheme.equals("https")) {
      ServerClient server = client.client(target, console);
      return () -> new CertifyTarget.Http(server, limit);
    }
    String token = scheme.startsWith("redis") ? client.password() : client.token();
    Tls tls = client.tls();
    boolean hasPassword = String.valueOf(uri.getUserInfo()).contains(":");
    if ((token != null || hasPassword) && (scheme.equals("redis") || scheme.equals("grpc"))) {
      ServerClient.warnOfToken(uri, scheme + "s", console);
    }
    return switch (scheme) {
      case "redis", "rediss" -> () -> new CertifyTarget.Throttle(uri, token, tls);
      case "grpc", "grpcs" -> () -> new CertifyTarget.Envoy(uri, domain, token, tls);
      default -> throw wrongTarget();
    };
  }

  private String shownTarget() {
    return target.replaceFirst("(?s)^((?:[a-z]+://)?+[^:@]*):.*@", "$1:***@");
  }

  private InputException wrongTarget() {
    return new InputException(
        ("found the target %s, expected redis://HOST:PORT, grpc://HOST:PORT or http://HOST:PORT, or"
                + " rediss://, grpcs:// or https:// for TLS")
            .formatted(SafeText.quote(shownTarget())));
  }
}
