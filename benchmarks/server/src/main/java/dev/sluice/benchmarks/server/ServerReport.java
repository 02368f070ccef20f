// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.server;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.protobuf.CodedOutputStream;
import dev.sluice.benchmarks.report.Goal;
import dev.sluice.benchmarks.report.Subject;
import dev.sluice.benchmarks.server.Load.Round;
import dev.sluice.benchmarks.server.Program.Usage;
import dev.sluice.envoy.RateLimitDescriptor;
import dev.sluice.envoy.RateLimitDescriptor.Entry;
import dev.sluice.envoy.RateLimitRequest;
import dev.sluice.testkit.servers.LocalRedis;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The command {@code ./sluice bench server}. Compares each protocol of the server with an
 * alternative: the Redis protocol with Redis itself, and HTTP and gRPC with a server that makes no
 * decisions. The limits of the benchmark allow all requests. The subjects of a comparison first run
 * until their rates are stable. The subjects are measured in turn, in several rounds, and a figure
 * is the median of the rounds. The servers have the same heap size as in the Debian package.
 */
public final class ServerReport {

  private static final int ROUNDS = 3;
  private static final double DEFAULT_SECONDS = 3;
  private static final int LONGEST_WARM_UP = 10; // the most rounds of a warm-up
  // The number of rounds with about the same rate after which a subject has warmed up.
  private static final int ALIKE = 3;
  private static final double ABOUT = 0.1;
  private static final long MOST_RESIDENT_MIB = 256;
  private static final List<Integer> PIPELINES = List.of(1, 16, 64);
  private static final int HEADLINE_PIPELINE = 16;
  private static final String HALF_LOAD = "gRPC at half of the peak";
  private static final String FROM_THE_START = HALF_LOAD + ", right after the start";
  private static final String LIMIT = "Requests";
  private static final String SLUICE = "sluice";
  private static final String EMPTY = "empty handler";
  private static final String GET = "redis GET";
  private static final String LUA = "redis, GCRA in Lua";

  private final double seconds;
  private final boolean full;
  private final List<Goal> goals = new ArrayList<>();

  private ServerReport(double seconds, boolean full) {
    this.seconds = seconds;
    this.full = full;
  }

  /**
   * Prints a table and the goals.
   *
   * @param args the seconds for each figure, by default 3, and {@code --full} for comparisons that
   *     are not in docs/benchmarks.md
   * @throws IOException if a program cannot be started, or its requests fail
   * @throws InterruptedException if the thread is interrupted
   */
  public static void main(String[] args) throws IOException, InterruptedException {
    List<String> missing =
        Stream.of("redis-server", "redis-benchmark", "wrk", "h2load")
            .filter(name -> !Program.has(name))
            .toList();
    if (!missing.isEmpty()) {
      System.err.printf(
          "sluice bench server: found no %s; install the packages redis, wrk and nghttp2-client%n",
          String.join(", ", missing));
      System.exit(3);
    }
    Path scratch = Files.createTempDirectory("sluice-bench-server");
    try {
      List<String> words = new ArrayList<>(List.of(args));
      boolean full = words.remove("--full");
      double seconds = words.isEmpty() ? DEFAULT_SECONDS : Double.parseDouble(words.get(0));
      new ServerReport(seconds, full).run(scratch);
    } finally {
      try (Stream<Path> files = Files.list(scratch)) {
        for (Path file : files.toList()) {
          Files.delete(file);
        }
      }
      Files.delete(scratch);
    }
  }

  private void run(Path scratch) throws IOException, InterruptedException {
    Path names = scratch.resolve("names.yml");
    Files.writeString(names, "names:\n  - {number: 9001, name: %s, id: string}\n".formatted(LIMIT));
    Path limits = scratch.resolve("limits.yml");
    Files.writeString(limits, LIMIT + ": {burst: 1000000000, count: 1000000000, period: 1s}\n");
    Path requests = resource("requests.lua", scratch);
    Path script = resource("gcra.lua", scratch);
    Path message = message(scratch);
    try (Program sluice = sluice(names, limits);
        Program empty = Program.start("listening on ", EmptyServer.class.getName(), List.of());
        LocalRedis redis = LocalRedis.start(Path.of("redis-server"))) {
      long redisPid =
          (long) Load.number(String.valueOf(redis.command("INFO", "server")), "process_id:(\\d+)");
      System.out.printf(Locale.ROOT, "idle, MiB: sluice %d%n%n", Usage.residentMib(sluice.pid()));
      System.out.println(
          "| what | who | answers/s | p50 / p99 / p99.9 µs | processor µs an answer | spread |");
      System.out.println("|---|---|---|---|---|---|");
      int resp = sluice.port(1);
      int grpc = sluice.port(2);
      String sha = String.valueOf(redis.command("SCRIPT", "LOAD", Files.readString(script)));
      for (int pipeline : full ? PIPELINES : List.of(HEADLINE_PIPELINE)) {
        respScene(pipeline, resp, sluice.pid(), redis.port(), redisPid, sha);
      }
      for (String what : List.of("spend", "forward-auth")) {
        scene(
            "HTTP /v1/" + what,
            List.of(
                subject(what, SLUICE, sluice.pid(), new WrkLoad(sluice.port(0), requests, what)),
                subject(what, EMPTY, empty.pid(), new WrkLoad(empty.port(0), requests, what))),
            0.95);
      }
      Map<String, Round> peak =
          scene(
              "gRPC ShouldRateLimit",
              List.of(
                  subject("", SLUICE, sluice.pid(), new GrpcLoad(grpc, message, 0, scratch)),
                  subject(
                      "", EMPTY, empty.pid(), new GrpcLoad(empty.port(0), message, 0, scratch))),
              0.9);
      if (full) {
        halfLoad(figure(peak, SLUICE).perSecond(), sluice, empty, message, scratch);
      }
      long resident = Usage.residentMib(sluice.pid());
      System.out.printf(Locale.ROOT, "%nmemory of sluice after the load: %d MiB%n%n", resident);
      goals.add(new Goal("memory after the load, MiB", resident, MOST_RESIDENT_MIB, false));
      goals.forEach(goal -> System.out.println(goal.line()));
    }
  }

  /** Measures latencies at half of the maximum rate. */
  private void halfLoad(double peak, Program sluice, Program empty, Path message, Path scratch)
      throws IOException, InterruptedException {
    long half = (long) (peak / 2);
    Map<String, Round> calm =
        scene(
            HALF_LOAD,
            List.of(
                subject(
                    "", SLUICE, sluice.pid(), new GrpcLoad(sluice.port(2), message, half, scratch)),
                subject(
                    "", EMPTY, empty.pid(), new GrpcLoad(empty.port(0), message, half, scratch))),
            0);
    goals.add(
        new Goal(
            HALF_LOAD + ": p99.9 in milliseconds (Envoy's time-out is 20)",
            figure(calm, SLUICE).p999Micros() / 1_000,
            20,
            false));
    Round first;
    try (Program fresh = sluice(scratch.resolve("names.yml"), scratch.resolve("limits.yml"))) {
      first =
          new Load.On(fresh.pid(), new GrpcLoad(fresh.port(2), message, half, scratch))
              .measure(seconds);
    }
    System.out.printf("| %s | %s | %s | one round |%n", FROM_THE_START, SLUICE, first.cells());
    goals.add(
        new Goal(
            FROM_THE_START + ": p99.9 in milliseconds (Envoy's time-out is 20)",
            first.p999Micros() / 1_000,
            20,
            false));
  }

  private static Program sluice(Path names, Path limits) throws IOException {
    return Program.start(
        "listening on ",
        "dev.sluice.cli.Main",
        List.of(
            "serve",
            "--names",
            names.toString(),
            "--limits",
            limits.toString(),
            "--http",
            "127.0.0.1:0",
            "--resp",
            "127.0.0.1:0",
            "--grpc",
            "127.0.0.1:0"));
  }

  private void respScene(int pipeline, int resp, long sluice, int redis, long redisPid, String sha)
      throws IOException, InterruptedException {
    String scene = "Redis protocol, -P " + pipeline;
    List<String> throttle =
        List.of("CL.THROTTLE", "key:__rand_int__", "1000000", "1000000", "8640000");
    List<String> lua = List.of("EVALSHA", sha, "1", "key:__rand_int__", "8640000", "8640000000000");
    List<String> get = List.of("GET", "key:__rand_int__");
    Map<String, Round> row =
        scene(
            scene,
            List.of(
                subject(scene, SLUICE, sluice, new RedisBenchmarkLoad(resp, pipeline, throttle)),
                subject(scene, GET, redisPid, new RedisBenchmarkLoad(redis, pipeline, get)),
                subject(scene, LUA, redisPid, new RedisBenchmarkLoad(redis, pipeline, lua))),
            0);
    double ours = figure(row, SLUICE).perSecond();
    if (pipeline < PIPELINES.get(2)) {
      goals.add(
          new Goal(
              scene + ": rate vs. " + GET,
              ours / figure(row, GET).perSecond(),
              pipeline == 1 ? 0.9 : 1.0,
              true));
    }
    if (pipeline == PIPELINES.get(1)) {
      goals.add(
          new Goal(scene + ": rate vs. " + LUA, ours / figure(row, LUA).perSecond(), 6, true));
    }
  }

  /**
   * Measures the subjects of a comparison in turn, prints a row for each subject, and adds the
   * comparison's goal, if any.
   */
  @CanIgnoreReturnValue
  private Map<String, Round> scene(String scene, List<Subject<Load.On>> subjects, double timesEmpty)
      throws IOException, InterruptedException {
    Map<String, List<Round>> rounds = new LinkedHashMap<>();
    for (Subject<Load.On> subject : subjects) {
      warmUp(subject);
    }
    for (int round = 0; round < ROUNDS; round++) {
      for (Subject<Load.On> subject : subjects) {
        rounds
            .computeIfAbsent(subject.name(), name -> new ArrayList<>())
            .add(subject.work().measure(seconds));
      }
    }
    Map<String, Round> medians = new LinkedHashMap<>();
    rounds.forEach(
        (name, figures) -> {
          Round median = Round.median(figures);
          medians.put(name, median);
          System.out.printf(
              Locale.ROOT,
              "| %s | %s | %s | ±%.0f %% |%n",
              scene,
              name,
              median.cells(),
              Round.of(figures, Round::perSecond).spread() * 50);
        });
    if (timesEmpty > 0) {
      goals.add(
          new Goal(
              scene + ": rate vs. the " + EMPTY,
              figure(medians, SLUICE).perSecond() / figure(medians, EMPTY).perSecond(),
              timesEmpty,
              true));
    }
    return medians;
  }

  /**
   * Puts load on a subject until its rate is stable. While the JIT compiler works, for several
   * seconds, the rate rises to several times its first value.
   */
  private void warmUp(Subject<Load.On> subject) throws IOException, InterruptedException {
    List<Double> rates = new ArrayList<>();
    for (int round = 0; round < LONGEST_WARM_UP; round++) {
      rates.add(subject.work().measure(seconds).perSecond());
      List<Double> last = rates.subList(Math.max(0, rates.size() - ALIKE), rates.size());
      double least = last.stream().mapToDouble(rate -> rate).min().orElse(0);
      double most = last.stream().mapToDouble(rate -> rate).max().orElse(0);
      if (last.size() == ALIKE && most - least <= ABOUT * most) {
        return;
      }
    }
  }

  private static Subject<Load.On> subject(String scene, String name, long pid, Load load) {
    return new Subject<>(scene, name, new Load.On(pid, load));
  }

  private static Round figure(Map<String, Round> figures, String subject) {
    Round figure = figures.get(subject);
    if (figure == null) {
      throw new IllegalStateException("no figure of " + subject);
    }
    return figure;
  }

  /** Writes a file with one gRPC request for Sluice's limit. */
  private static Path message(Path folder) throws IOException {
    RateLimitRequest request =
        RateLimitRequest.newBuilder()
            .setDomain("bench")
            .addDescriptors(
                RateLimitDescriptor.newBuilder()
                    .addEntries(Entry.newBuilder().setKey(LIMIT).setValue("user-4711")))
            .build();
    Path file = folder.resolve("message.bin");
    try (OutputStream out = Files.newOutputStream(file);
        DataOutputStream frame = new DataOutputStream(out)) {
      frame.writeByte(0); // not compressed
      frame.writeInt(request.getSerializedSize());
      CodedOutputStream coded = CodedOutputStream.newInstance(frame);
      request.writeTo(coded);
      coded.flush();
    }
    return file;
  }

  private static Path resource(String name, Path folder) throws IOException {
    Path file = folder.resolve(name);
    try (InputStream in = ServerReport.class.getResourceAsStream(name)) {
      if (in == null) {
        throw new IOException("the class path does not contain the resource " + name);
      }
      Files.copy(in, file);
    }
    return file;
  }
}
