// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.production;

import dev.sluice.proof.BrokenPromise;
import dev.sluice.proof.Client;
import dev.sluice.proof.Client.Answers;
import dev.sluice.proof.Door;
import dev.sluice.proof.Folder;
import dev.sluice.proof.Keys;
import dev.sluice.proof.Programs;
import dev.sluice.proof.Report;
import dev.sluice.proof.Server;
import dev.sluice.proof.TlsIdentity;
import dev.sluice.proof.Trust;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.ToLongFunction;

/**
 * A drill with a long load of all protocols and operations, over TLS and with access tokens. The
 * server uses its own Redis. Every 10 s, the limit changes. Every 3 minutes, Redis is unreachable
 * for 10 s: the drill freezes and kills Redis alternately. Every 5 minutes, the certificate is
 * replaced. The promise: No response is lost or unexpected. No bucket grants more tokens than its
 * limit allows, and with each protocol at least one bucket grants nearly all allowed tokens. The
 * operations of {@link Client#acts} use a second limit, whose buckets always have exactly the
 * expected number of tokens. Memory, threads and file descriptors do not grow, and the number of
 * log lines is bounded.
 *
 * <p>The limits have the failure rule deny, so the server grants no token while Redis is
 * unreachable.
 */
final class ServerSoak implements ProductionReport.Drill {

  // the time in which one client per protocol sends two requests, so that 7 protocols send fewer
  // than 800 requests per second
  private static final int PER_DOOR_MILLIS = 18;
  private static final int RECONNECT_EVERY = 500;
  private static final int RELOAD_SECONDS = 10;
  private static final int OUTAGE_EVERY_SECONDS = 180;
  private static final int FIRST_OUTAGE_SECONDS = 60;
  private static final int OUTAGE_SECONDS = 10;
  private static final int NOTICED_SECONDS = 3;
  private static final int ROTATION_SECONDS = 300;
  private static final int FIRST_ROTATION_SECONDS = 90;
  private static final long MANY = 40;
  private static final long FEW = 20;
  // The store's time-out is long, so that a delay of a busy machine does not count as an outage.
  private static final String STORE_TIMEOUT = "2s";
  // the number of requests among which at most one may be undecided while Redis is reachable
  private static final int MOST_UNDECIDED = 1_000;

  /**
   * The share of the allowed tokens that, with each protocol, a bucket must grant in at least one
   * {@link Window}. On a quiet machine, a client requests three times as many tokens as the limit
   * allows.
   */
  private static final double LEAST_FULL = 0.9;

  private static final double MOST_GROWTH = 1.15;
  private static final long SLACK_MIB = 24;
  private static final long SLACK_COUNT = 8;
  private static final long KIB_PER_MIB = 1024;
  private static final double BYTES_PER_MIB = 1024.0 * 1024;
  private static final int MOST_LINES_PER_EVENT = 4;
  private static final int MOST_LINES_BESIDE = 50;

  private final int minutes;
  private final AtomicLong answers = new AtomicLong();
  private final AtomicLong acts = new AtomicLong();
  private final AtomicLong allowed = new AtomicLong();
  private final AtomicLong undecided = new AtomicLong();
  private final AtomicLong undecidedBeside = new AtomicLong();
  private final List<Sample> samples = new ArrayList<>();
  private volatile Window window = new Window(MANY);
  private volatile boolean over;
  private volatile boolean away;
  private volatile boolean mayBeAway;
  private volatile String failure = "";
  private int reloads;
  private volatile int outages; // only the thread that causes outages writes this field
  private int rotations;
  private final Map<String, Double> fullest = new TreeMap<>();
  private final List<Ledger> ledgers = new CopyOnWriteArrayList<>();

  ServerSoak(int minutes) {
    this.minutes = minutes;
  }

  /** The resources that the server process uses at one point in time. */
  private record Sample(long rssMib, double heapMib, long threads, long descriptors) {}

  @Override
  public String text() {
    return "%s minutes of mixed load over TLS with tokens over %s protocols, with reloads, outages, rotations"
        .formatted(minutes, Door.values().length);
  }

  @Override
  public String seen() throws Exception {
    try (Folder folder = Folder.make();
        LocalRedis redis = LocalRedis.start(RedisBinary.newest())) {
      TlsIdentity[] certificates = {TlsIdentity.make(folder), TlsIdentity.make(folder)};
      certificates[0].install(folder);
      try (Server server =
          Server.Launch.SMALL
              .withTls(folder, Trust.in(certificates))
              .withKeys(folder, Keys.fresh())
              .start(
                  "--store",
                  redis.uri() + "?timeout=" + STORE_TIMEOUT,
                  "--on-failure",
                  "deny",
                  "--limits",
                  folder.limits(MANY, MANY, "1s"))) {
        return seen(server, folder, redis, certificates);
      }
    }
  }

  private String seen(Server server, Folder folder, LocalRedis redis, TlsIdentity... certificates)
      throws Exception {
    List<Thread> load = new ArrayList<>();
    for (Door door : Door.values()) {
      Thread thread = new Thread(() -> ask(door, server), "soak-" + door);
      load.add(thread);
      thread.start();
    }
    window = new Window(MANY);
    long seconds = TimeUnit.MINUTES.toSeconds(minutes);
    long start = System.nanoTime();
    for (int second = 1; second <= seconds && failure.isEmpty(); second++) {
      long due = start + TimeUnit.SECONDS.toNanos(second);
      TimeUnit.NANOSECONDS.sleep(Math.max(0, due - System.nanoTime()));
      if (second % RELOAD_SECONDS == 0) {
        reload(server, folder);
      }
      int sinceOutage = (second - FIRST_OUTAGE_SECONDS) % OUTAGE_EVERY_SECONDS;
      if (second >= FIRST_OUTAGE_SECONDS) {
        outage(redis, sinceOutage);
      }
      if (second % ROTATION_SECONDS == FIRST_ROTATION_SECONDS) {
        certificates[++rotations % 2].install(folder);
      }
      if (second == seconds / 3 || second == seconds * 2 / 3 || second == seconds) {
        samples.add(sample(server));
      }
    }
    over = true;
    for (Thread thread : load) {
      thread.join();
    }
    BrokenPromise.unless(failure.isEmpty(), "%s", failure);
    closeWindow();
    return judged(server);
  }

  private void closeWindow() throws BrokenPromise {
    window.close().forEach((id, part) -> fullest.merge(id, part, Math::max));
  }

  private void reload(Server server, Folder folder) throws Exception {
    closeWindow();
    reloads++;
    long perSecond = reloads % 2 == 0 ? MANY : FEW;
    folder.limits(perSecond, perSecond, "1s");
    BrokenPromise.unlessStatus(200, server.ask("POST", "/v1/admin/reload", ""), "a reload");
    window = new Window(perSecond);
  }

  /** Starts an outage at second 0 of each cycle, and ends it at {@link #OUTAGE_SECONDS}. */
  private void outage(LocalRedis redis, int second) {
    boolean kills = outages % 2 == 0;
    switch (second) {
      case 0 -> {
        mayBeAway = true;
        int ended = outages; // only this thread writes the counter
        outages = ended + 1;
        if (outages % 2 == 0) {
          redis.kill();
        } else {
          redis.freeze();
        }
      }
      case NOTICED_SECONDS -> away = true;
      case OUTAGE_SECONDS -> {
        away = false;
        // The window records the loss of the buckets before Redis restarts, so that the first grant
        // after the restart counts for the new buckets.
        window.bucketsLost();
        if (kills) {
          redis.startAgain();
        } else {
          redis.thaw();
        }
      }
      case OUTAGE_SECONDS + NOTICED_SECONDS * 2 -> mayBeAway = false;
      default -> {} // nothing changes in this second
    }
  }

  private void ask(Door door, Server server) {
    String id = "id-" + door;
    Ledger ledger = new Ledger(door);
    ledgers.add(ledger);
    try {
      while (!over) {
        ask(door, server, id, ledger);
      }
    } catch (Throwable e) { // also a response that cannot be parsed
      failure = "%s lost a response: %s".formatted(door, e);
    }
  }

  /** Sends several requests on one connection. */
  private void ask(Door door, Server server, String id, Ledger ledger)
      throws IOException, InterruptedException {
    try (Client client = door.open(server)) {
      for (int i = 0; i < RECONNECT_EVERY && !over; i++) {
        Window now = window;
        boolean wasAway = away;
        boolean couldBeAway = mayBeAway;
        long sentNanos = System.nanoTime();
        Answers answer = client.ask(id, 1);
        now.add(id, answer.allowed(), sentNanos);
        answers.incrementAndGet();
        allowed.addAndGet(answer.allowed());
        undecided.addAndGet(answer.undecided());
        if (answer.goodbye() || answer.allowed() + answer.denied() + answer.undecided() != 1) {
          throw new IOException("unexpected response: " + answer);
        }
        if (wasAway && away && answer.allowed() > 0) {
          throw new IOException("a token was granted while the store was unreachable");
        }
        if (!couldBeAway && !mayBeAway) {
          undecidedBeside.addAndGet(answer.undecided());
        }
        act(client, ledger);
        TimeUnit.MILLISECONDS.sleep(PER_DOOR_MILLIS);
      }
    }
  }

  /**
   * Requests one operation on buckets of {@link Client.Act#LIMIT}. After each outage, the
   * operations use new buckets.
   */
  private void act(Client client, Ledger ledger) throws IOException {
    boolean wasAway = away;
    // The counter outages is read before mayBeAway, since an outage sets mayBeAway first and
    // outages second.
    int epoch = outages;
    boolean couldBeAway = mayBeAway;
    boolean decided = ledger.act(client, epoch, !couldBeAway);
    acts.incrementAndGet();
    if (wasAway && away && decided) {
      throw new IOException("an operation was allowed while the store was unreachable");
    }
    if (!couldBeAway && !mayBeAway && !decided) {
      undecidedBeside.incrementAndGet();
    }
  }

  private static Sample sample(Server server) throws Exception {
    String unused = Programs.run("jcmd", "" + server.pid(), "GC.run");
    double heap = server.metric("jvm_memory_used_bytes{area=\"heap\"") / BYTES_PER_MIB;
    return new Sample(
        server.status("VmRSS") / KIB_PER_MIB, heap, server.status("Threads"), server.descriptors());
  }

  private String judged(Server server) throws Exception {
    Sample third = samples.get(0);
    Sample end = samples.get(2);
    requireFlat("resident MiB", third.rssMib(), end.rssMib());
    long peak = server.peakMib();
    BrokenPromise.unless(
        Server.Launch.SMALL.allows(peak), "the server took %s MiB of memory", peak);
    requireFlat("MiB of live heap", Math.round(third.heapMib()), Math.round(end.heapMib()));
    requireAtMost("threads", third.threads(), end.threads(), third.threads() + SLACK_COUNT);
    requireAtMost(
        "descriptors", third.descriptors(), end.descriptors(), third.descriptors() + SLACK_COUNT);
    BrokenPromise.unless(
        undecidedBeside.get() * MOST_UNDECIDED <= answers.get() + acts.get(),
        "%s of %s requests were undecided while Redis was reachable",
        undecidedBeside,
        answers.get() + acts.get());
    for (Door door : Door.values()) {
      double part = fullest.getOrDefault("id-" + door, 0.0);
      BrokenPromise.unless(
          part >= LEAST_FULL,
          "%s: the fullest window granted %.0f %% of the tokens that its limit allows",
          door,
          part * 100);
    }
    long lines = server.logLines();
    long most =
        MOST_LINES_BESIDE + (long) MOST_LINES_PER_EVENT * (reloads + 5L * outages + rotations);
    BrokenPromise.unless(lines <= most, "found %s log lines, expected at most %s", lines, most);
    return Report.text(
        "%,d responses, 0 lost; %,d granted, %,d undecided (%s of them outside outages); "
            + "%,d operations with %s protocols, each with the expected count of its bucket; "
            + "%s reloads, %s outages, %s rotations; the fullest window of each protocol granted at least "
            + "%.0f %% of the tokens that its limit allows; at most %s MiB of memory; after a third, two thirds and at the end: RSS %s MiB, heap after "
            + "GC %s MiB, %s threads, %s descriptors; %s log lines",
        answers.get(),
        allowed.get(),
        undecided.get(),
        undecidedBeside,
        ledgers.stream().mapToLong(Ledger::compared).sum(),
        ledgers.size(),
        reloads,
        outages,
        rotations,
        Collections.min(fullest.values()) * 100,
        peak,
        shown(Sample::rssMib),
        shown(sample -> Math.round(sample.heapMib())),
        shown(Sample::threads),
        shown(Sample::descriptors),
        lines);
  }

  private String shown(ToLongFunction<Sample> value) {
    return String.join(", ", samples.stream().mapToLong(value).mapToObj(String::valueOf).toList());
  }

  private static void requireFlat(String what, long third, long end) throws BrokenPromise {
    requireAtMost(what, third, end, Math.round(third * MOST_GROWTH) + SLACK_MIB);
  }

  private static void requireAtMost(String what, long third, long end, long most)
      throws BrokenPromise {
    BrokenPromise.unless(
        end <= most,
        "found %s %s at the end, and %s after a third of the run; expected growth to at most %s",
        end,
        what,
        third,
        most);
  }

  /**
   * The period in which one limit is in force, and the number of tokens that each bucket granted in
   * this period. Only tokens of requests during which the limit was always in force are counted.
   * Thread-safe.
   */
  private static final class Window {

    private static final double NANOS_PER_SECOND = 1e9;

    private final long perSecond;
    private final long startNanos = System.nanoTime();
    private final Map<String, Integer> granted = new TreeMap<>();
    private int lostBuckets;
    private boolean closed;

    /**
     * Creates a window that starts now.
     *
     * @param perSecond the rate of the limit, which is also its burst
     */
    Window(long perSecond) {
      this.perSecond = perSecond;
    }

    synchronized void add(String id, int tokens, long sentNanos) {
      if (!closed && sentNanos - startNanos >= 0) {
        granted.merge(id, tokens, Integer::sum);
      }
    }

    /** Records that the store has lost its buckets, so each bucket is full again. */
    synchronized void bucketsLost() {
      lostBuckets++;
    }

    /**
     * Ends the window.
     *
     * @return for each bucket, the share of the allowed tokens that the bucket granted, from 0 to 1
     */
    synchronized Map<String, Double> close() throws BrokenPromise {
      closed = true;
      double seconds = (System.nanoTime() - startNanos) / NANOS_PER_SECOND;
      double most = perSecond * (1 + lostBuckets) + perSecond * seconds;
      Map<String, Double> parts = new TreeMap<>();
      for (Map.Entry<String, Integer> one : granted.entrySet()) {
        BrokenPromise.unless(
            one.getValue() <= most,
            "bucket %s gave out %s tokens in %.3f s, at most %.1f are allowed",
            one.getKey(),
            one.getValue(),
            seconds,
            most);
        parts.put(one.getKey(), one.getValue() / most);
      }
      return parts;
    }
  }
}
