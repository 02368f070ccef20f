package dev.sluice.redis;

import dev.sluice.AsyncLimiter;
import dev.sluice.Decision;
import dev.sluice.FailureRule;
import dev.sluice.Insides;
import dev.sluice.Lease;
import dev.sluice.Limiter;
import dev.sluice.LimiterObserver;
import dev.sluice.Reservation;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.redis.Reference.Granted;
import dev.sluice.redis.World.Actor;
import dev.sluice.store.StoreException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A process of a world: a real {@link Limiter} on a real {@link RedisStore}, whose callers do what
 * the plan says, and what is required of every answer that they get.
 */
final class SimulatedProcess {

  static final long TIMEOUT_NANOS = 500_000_000;

  private static final long LATEST_END_NANOS = TIMEOUT_NANOS / 10 * 11;
  private static final long DENIALS_NANOS = 1_100_000_000;
  private static final long DRIFT_NANOS = DENIALS_NANOS / 1_000_000 * Fleet.MOST_DRIFT_PPM;
  private static final int ASKED = 12; // buckets, some on each server
  private static final long START_NANOS = 1_000_000_000_000L; // of the process
  private static final int LEASED_TOKENS = 3;
  private static final int MOST_OPENINGS_A_MINUTE = 20;
  private static final Set<String> GIVING_BACK =
      Set.of("refund", "reset", "cancel", "blocking cancel", "close the lease");
  private static final LimitName A = LimitName.builder(1, "A").id(IdFormat.string()).build();
  private static final LimitName B = LimitName.builder(2, "B").id(IdFormat.string()).build();
  private static final LimitName Z = LimitName.builder(3, "Z").id(IdFormat.string()).build();
  private static final Catalogue CATALOGUE = Catalogue.of(A, B, Z);
  private static final Limits[] LIMITS = {
    limits(10, 10, 3, 100), limits(10, 20, 6, 50), limits(5, 10, 4, 200), limits(20, 5, 3, 30)
  };

  private final World world;
  private final Fleet fleet;
  private final boolean hasFaults;
  private final int onFailure;
  private final boolean limitsChange;
  private final boolean mixesOrders;
  private final long driftNanos; // by which a denial from memory may be too old
  private final BreakerWatch breakers;
  private final Reference reference;
  private final int index;
  private final SimulatedTiming timing;
  private final SimulatedNetwork network;
  private final int plainLimits;
  private final CurrentLimits limits;
  private final Map<String, Leased> leases = new LinkedHashMap<>();
  private final RedisStore store;
  private final Limiter limiter;
  private final AsyncLimiter async;
  private final List<Reservation> neverClosed = new ArrayList<>();
  private final Set<String> asked = new HashSet<>(); // bucket keys
  private final List<Long> openings = new ArrayList<>();
  private int operations;
  private boolean closing;
  private int outstanding;
  private int givingBack; // calls under way
  private long begunGivingBack;
  private long nextBlocks;
  private @Nullable Throwable observerThrows;
  private int observed;
  private int observedDenied;

  SimulatedProcess(int index, Plan plan, World world, Fleet fleet, Reference reference, Dice dice) {
    this.index = index;
    this.world = world;
    this.fleet = fleet;
    this.hasFaults = plan.steps().stream().anyMatch(step -> step.kind().isFault());
    this.onFailure = plan.setting("onFailure");
    this.limitsChange =
        plan.setting("limitsDiffer") > 0
            || plan.has(Step.Kind.LIMITS)
            || plan.has(Step.Kind.OVERRIDES);
    this.mixesOrders = plan.setting("overtaking") > 0;
    this.driftNanos = plan.setting("clocksDiffer") > 0 ? DRIFT_NANOS : 0;
    this.breakers = new BreakerWatch(world, plan.has(Step.Kind.MOVE_SLOTS));
    this.reference = reference;
    this.timing = new SimulatedTiming(world, dice.fork(1), "p" + index);
    this.network =
        new SimulatedNetwork(
            world,
            fleet,
            dice.fork(2),
            index,
            1_000L * plan.setting("latencyMicros"),
            plan.setting("overtaking") > 0);
    this.plainLimits = plan.setting("limitsDiffer") * index % LIMITS.length;
    this.limits = new CurrentLimits(LIMITS[plainLimits]);
    this.store =
        RedisStore.builder(plan.topology().uri)
            .observer(new Watching())
            .open(timing, network, () -> {});
    FailureRule rule =
        switch (onFailure) {
          case 1 -> FailureRule.allow();
          case 2 -> FailureRule.deny();
          case 3 -> FailureRule.local(plan.setting("processes"));
          default -> FailureRule.fail();
        };
    this.limiter =
        Limiter.builder(limits, store)
            .onFailure(rule)
            .time(() -> START_NANOS + world.now())
            .observer(new LimiterObserver() {})
            .build();
    this.async = limiter.async();
  }

  private static Limits limits(int burstOfA, int millisOfA, int burstOfB, int millisOfB) {
    return Limits.builder(CATALOGUE)
        .limit("A", Quota.of(burstOfA, 1, Duration.ofMillis(millisOfA)))
        .limit("B", Quota.of(burstOfB, 1, Duration.ofMillis(millisOfB)))
        .limit("Z", Quota.of(1, 1, Duration.ofHours(1)))
        .build();
  }

  /** What may go wrong for who watches, and is told of what the store thinks of its servers. */
  private final class Watching implements RedisObserver {

    @Override
    public void called(String server, Result result, int batches, int charges, long elapsed) {
      requireRight(breakers.called(server, result, elapsed));
      throwIfPlanned();
    }

    @Override
    public void refused(String server, Refusal why) {
      throwIfPlanned();
    }

    @Override
    public void changed(String server, State state, String reason) {
      world.log(() -> "p" + index + " finds " + server + " " + state + ": " + reason);
      requireRight(breakers.changed(server, state));
      SimulatedServer at = fleet.named(server.split(":", 2)[0]);
      if (state == State.GIVEN_UP) {
        opened(server, reason);
      } else if (at != null && at.refusesCalls()) {
        world.violated(
            () ->
                World.text("breaker: p%d asks %s again, which refuses every call", index, server));
      }
    }

    private void requireRight(@Nullable String wrong) {
      if (wrong != null) {
        world.violated(() -> "p" + index + ", " + wrong);
      }
    }

    private void throwIfPlanned() {
      Throwable thrown = observerThrows;
      observerThrows = null;
      if (thrown instanceof Error error) {
        throw error;
      } else if (thrown instanceof RuntimeException exception) {
        throw exception;
      }
    }
  }

  private void opened(String server, String reason) {
    openings.add(world.now());
    long minute = world.now() - 60_000_000_000L;
    long lately = openings.stream().filter(moment -> moment > minute).count();
    if (lately > MOST_OPENINGS_A_MINUTE) {
      world.violated(
          () -> World.text("breaker: p%d gave servers up %d times within a minute", index, lately));
    }
    SimulatedServer at = fleet.named(server.split(":", 2)[0]);
    boolean inTrouble =
        at == null
            || !at.isUp()
            || world.now() - at.lastTrouble() < 2 * TIMEOUT_NANOS
            || network.hadTroubleWith(at, 2 * TIMEOUT_NANOS);
    if (!inTrouble) {
      world.violated(
          () ->
              World.text(
                  "breaker: p%d gave %s up, with which nothing is wrong (%s)",
                  index, server, reason));
    }
  }

  // The plan

  private String id(int number) {
    if (number < 3) {
      return "s" + number; // everybody's
    }
    if (number > 5) {
      return "l" + (number - 6); // what is leased
    }
    return number < 5 ? "p" + index + "-" + number : "f" + index + "-" + operations; // one's own
  }

  private static String limit(int number) {
    return number == 0 ? "A" : number == 1 ? "B" : "Z";
  }

  private Transaction transaction(int limit, int id, int cost) {
    return limiter.transaction(limit(limit), id(id)).withCost(cost);
  }

  void run(Step step) {
    operations++;
    switch (step.kind()) {
      case SPEND -> spend(transaction(step.number(0), step.number(1), step.number(2)));
      case SPEND_BLOCKING ->
          spendBlocking(transaction(step.number(0), step.number(1), step.number(2)));
      case CHECK -> check(transaction(step.number(0), step.number(1), step.number(2)), false);
      case REFUND -> refund(transaction(step.number(0), step.number(1), step.number(2)));
      case RESET -> reset(transaction(step.number(0), step.number(1), 1));
      case BATCH -> batch(some(step.number(0), step.number(1), step.number(2)));
      case DENIED_BATCH -> batch(denied(step.number(1)));
      case DRAIN -> spend(limiter.transaction("Z", "e" + step.number(0)));
      case OBSERVE -> check(limiter.transaction("A", "o0").withCost(5), true);
      case RESERVE ->
          reserve(
              List.of(transaction(step.number(0), step.number(1), step.number(2))), step.number(3));
      case RESERVE_TOGETHER -> {
        for (int i = 0; i < step.number(2); i++) {
          reserve(List.of(transaction(step.number(0), step.number(1), 1)), step.number(3), i);
        }
      }
      case RESERVE_BATCH -> {
        List<Transaction> some = some(step.number(0), step.number(1), step.number(2));
        reserve(some, held -> cancelSome(held, t -> !t.name().equals(A)), step.number(3));
      }
      case RESERVE_BLOCKING -> {
        Transaction one = transaction(step.number(0), step.number(1), step.number(2));
        reserve(List.of(one), held -> cancelSome(held, t -> true), step.number(3));
      }
      case LIMITS -> limits.replace(LIMITS[step.number(0)]);
      case OVERRIDES -> override("s" + step.number(0), step.number(1));
      case LEASE -> spendLeased(limit(step.number(0)), "l" + step.number(1), step.number(2));
      case LEASE_CLOSE -> closeLease(limit(step.number(0)), "l" + step.number(1));
      case BLOCK -> nextBlocks = step.number(0) * 1_000_000L;
      case OBSERVER_THROWS ->
          observerThrows =
              step.number(0) == 0
                  ? new IllegalStateException("an observer's")
                  : new NoClassDefFoundError("an observer's");
      case CONNECT_SLOWLY -> network.connectSlowly(step.number(0) * 1_000_000L);
      case CONNECT_ERROR -> network.failToConnectWithError();
      default -> throw new IllegalArgumentException("not a step of a process: " + step);
    }
  }

  /** As a refresh does that reads the overrides from a table. */
  private void override(String id, int burst) {
    Limits now = limits.get();
    LimitOverride override =
        new LimitOverride(A, id, Quota.of(Math.max(burst, 1), 1, Duration.ofMillis(10)), "");
    limits.replace(burst == 0 ? LIMITS[plainLimits] : now.withOverrides(List.of(override)));
  }

  /** A lease, and what the reference knows of the tokens that it holds. */
  private static final class Leased {
    private final Transaction token;
    private final Lease lease;
    private @Nullable Granted taken;

    Leased(Transaction token, Lease lease) {
      this.token = token;
      this.lease = lease;
    }
  }

  private void spendLeased(String limit, String id, int tokens) {
    if (!world.blocking(() -> waitForTokens(limit, id, tokens))) {
      world.log(() -> "p" + index + " leaves the lease of " + id + " to the caller that waits");
    }
  }

  private void waitForTokens(String limit, String id, int tokens) {
    Leased leased =
        leases.computeIfAbsent(
            limit + " " + id,
            name ->
                new Leased(
                    limiter.transaction(limit, id),
                    Insides.lease(
                        limiter, limit, id, LEASED_TOKENS, () -> START_NANOS + world.now())));
    for (int i = 0; i < tokens; i++) {
      Operation operation = new Operation("lease", List.of(limiter.transaction(limit, id)));
      Transaction transaction = operation.transactions.get(0);
      Quota quota = transaction.quota();
      long began = world.now();
      try {
        boolean spent = leased.lease.trySpend();
        operation.end(spent ? "allowed" : "denied");
        Granted fresh = reference.takenSince(index, transaction.bucketKey(), began);
        leased.taken = fresh == null ? leased.taken : fresh;
        Granted taken = leased.taken;
        if (spent && taken != null && quota != null) {
          reference.handedOut(operation.name, taken, quota.intervalNanos(), fresh != null);
        }
      } catch (StoreException e) {
        operation.failed(e);
      } catch (Throwable e) {
        operation.end("threw");
        world.violated(() -> operation.name + " threw " + e);
      }
    }
  }

  private void closeLease(String limit, String id) {
    Leased leased = leases.get(limit + " " + id);
    if (leased != null) {
      closeLease(leased);
    }
  }

  private void closeLease(Leased leased) {
    boolean unused =
        world.blocking(
            () -> {
              Operation operation = new Operation("close the lease", List.of(leased.token));
              try {
                leased.lease.close();
                operation.end("done");
              } catch (StoreException e) {
                operation.failed(e);
              }
            });
  }

  SimulatedNetwork network() {
    return network;
  }

  private List<Transaction> some(int first, int many, int cost) {
    List<Transaction> some = new ArrayList<>();
    for (int i = 0; i < many; i++) {
      some.add(transaction(i % 2, (first + i) % 6, cost));
    }
    return some;
  }

  /** A bucket that others look at, and one that is empty for an hour. */
  private List<Transaction> denied(int partner) {
    return List.of(
        limiter.transaction("A", "o0").withCost(5), limiter.transaction("Z", "e" + partner));
  }

  // What is asked, and what must hold for the answer

  /** One thing that a caller asked for. */
  private final class Operation {
    private final String name;
    private final List<Transaction> transactions;
    private final long start = world.now();
    private final Map<Transaction, Granted> granted = new LinkedHashMap<>();
    private final boolean unwritten;
    private final boolean overServers;
    private final boolean givesBack;
    private final long begun; // calls of this process that give back
    private final boolean besideOthers;
    private boolean ended;
    private boolean disturbed;

    Operation(String verb, List<Transaction> transactions) {
      this.overServers = transactions.size() > 1 && fleet.topology.masters() > 1;
      this.givesBack = overServers || GIVING_BACK.contains(verb);
      this.besideOthers = givingBack > 0;
      if (givesBack) {
        givingBack++;
        begunGivingBack++;
      }
      this.begun = begunGivingBack;
      this.name =
          World.text(
              "p%d.%d %s %s",
              index,
              operations,
              verb,
              transactions.stream().map(t -> t.bucketKey() + " x" + t.cost()).toList());
      this.transactions = transactions;
      this.unwritten =
          transactions.stream().allMatch(t -> isFresh(t) && !reference.everWritten(t.bucketKey()));
      outstanding++;
      transactions.forEach(transaction -> asked.add(transaction.bucketKey()));
      world.log(() -> name);
      int calls = verb.equals("lease") ? 3 : 1; // it may give back, ask for less, and ask again
      long latest = start + calls * LATEST_END_NANOS;
      world.at(
          latest,
          new Actor("deadline"),
          () -> {
            if (!ended) {
              world.violated(
                  () -> name + " has not ended after " + ((latest - start) / 1_000_000) + " ms");
            }
          });
    }

    void end(String how) {
      ended = true;
      disturbed = overlaps();
      outstanding--;
      if (overServers) { // what it took in vain is on its way back
        world.after(afewMessages(), new Actor("observer"), () -> givingBack--);
      } else if (givesBack) {
        givingBack--;
      }
      world.log(() -> name + ": " + how);
      if (nextBlocks > 0) {
        long nanos = nextBlocks;
        nextBlocks = 0;
        world.log(() -> name + ": its continuation blocks");
        world.block(nanos);
      }
    }

    /** Whether another call of this process that gives back was under way at the same time. */
    boolean overlaps() {
      return besideOthers || begunGivingBack > begun;
    }

    void ended(@Nullable Object value, @Nullable Throwable failure) {
      if (failure == null) {
        end(String.valueOf(value));
      } else {
        failed(failure);
      }
    }

    void failed(Throwable failure) {
      Throwable cause = failure;
      while (cause instanceof CompletionException && cause.getCause() != null) {
        cause = cause.getCause();
      }
      Throwable why = cause;
      end("failed, " + why.getMessage());
      if (!(why instanceof StoreException || why instanceof CancellationException)) {
        world.violated(() -> name + " ended with " + why + ", and no StoreException");
        return;
      }
      if (!hasFaults && !closing && why instanceof StoreException) {
        world.violated(() -> name + " failed, with nothing wrong: " + why.getMessage());
      }
      if (String.valueOf(why.getMessage()).contains("nothing was charged")
          && unwritten
          && transactions.size() == 1) {
        String promise = name + " was told \"" + why.getMessage() + "\"";
        String key = transactions.get(0).bucketKey();
        if (reference.everWritten(key)) {
          world.violated(() -> promise + ", but its bucket was written");
        }
        reference.promised(promise, key);
      }
    }

    void decided(Decision decision, boolean spends) {
      end(decision.toString());
      if (decision.degraded()) {
        requireRule(decision);
        return;
      }
      List<Decision> parts = decision.parts();
      requireStatement(Statements.wrong(decision, parts), decision);
      for (Decision part : parts) {
        Transaction transaction = part.transaction();
        Quota quota = transaction == null ? null : transaction.quota();
        if (transaction == null || quota == null) {
          continue;
        }
        boolean unspent = spends && decision.denied() && part.allowed();
        requireStatement(Statements.wrong(part, quota, transaction.cost(), unspent), part);
        if (transaction.cost() == 0) {
          continue;
        }
        if (decision.allowed() && part.allowed() && spends) {
          Granted one =
              reference.granted(
                  name,
                  transaction.bucketKey(),
                  quota.incrementNanos(transaction.cost()),
                  nanos(part.decidedAt()),
                  nanos(part.tat()));
          if (one != null) {
            granted.put(transaction, one);
          }
        } else if (part.denied()) {
          requireTrue(part, transaction);
          requireForgiven(part, transaction, quota, spends && parts.size() == 1);
        } else if (spends && !hasFaults) {
          requireGivenBack(part, transaction, quota.incrementNanos(transaction.cost()));
        }
      }
      if (!spends || decision.denied()) {
        requireNoTrace(transactions, spends);
      }
    }

    private void requireStatement(@Nullable String wrong, Decision about) {
      if (wrong != null) {
        world.violated(() -> name + " " + wrong + ": " + about);
      }
    }

    /** What a failure rule decided on, it decided as it says. */
    private void requireRule(Decision decision) {
      boolean right =
          switch (onFailure) {
            case 0 -> false;
            case 1 -> decision.allowed();
            case 2 -> decision.denied();
            default -> true;
          };
      if (!right || !(hasFaults || closing)) {
        world.violated(() -> name + " was not decided on as it should be: " + decision);
      }
    }

    /** What a server took for a batch that another one denied is back a few messages later. */
    private void requireGivenBack(Decision part, Transaction transaction, long takenNanos) {
      Granted taken =
          reference.takenInVain(
              index,
              transaction.bucketKey(),
              takenNanos,
              nanos(part.decidedAt()),
              nanos(part.tat()) + takenNanos);
      if (taken != null) {
        world.after(
            afewMessages(),
            new Actor("observer"),
            () -> {
              if (!overlaps() && !limitsChange) {
                reference.requireGivenBack(name + ", denied,", taken, start);
              }
            });
      }
    }

    /** A debt stands only where this process has forgiven it once. */
    private void requireForgiven(
        Decision part, Transaction transaction, Quota quota, boolean mayForgive) {
      if (!mayForgive || hasFaults || part.resetInNanos() <= quota.offsetNanos()) {
        return;
      }
      world.after(
          afewMessages(),
          new Actor("observer"),
          () -> {
            if (!reference.wasForgiven(
                index, transaction.bucketKey(), quota.offsetNanos(), nanos(part.decidedAt()))) {
              world.violated(() -> name + " found a debt that was not forgiven: " + part);
            }
          });
    }

    /** A denial must be what the bucket said at some moment of the call. */
    private void requireTrue(Decision part, Transaction transaction) {
      Quota quota = transaction.quota();
      String key = transaction.bucketKey();
      if (quota == null || fleet.clocksWereStepped() || fleet.failedOverLately()) {
        return;
      }
      long since = start - driftNanos;
      if (key.contains(":o") && !hasFaults && !mixesOrders) {
        since -= 8 * network.latencyNanos() + 1_000_000; // a round trip, and what its ends take
      } else if (reference.wasLoosened(key, index, start - DENIALS_NANOS)) {
        since -= DENIALS_NANOS; // another process' refund is seen a little later
      }
      if (!reference.denied(
          key, quota.incrementNanos(transaction.cost()), quota.offsetNanos(), since)) {
        world.violated(
            () ->
                World.text(
                    "%s was denied on %s, which had room all the time (%s)", name, key, part));
      }
    }

    private void requireNoTrace(List<Transaction> of, boolean spends) {
      boolean onOneServer = of.size() == 1;
      for (Transaction transaction : of) {
        String key = transaction.bucketKey();
        if (unwritten && onOneServer && reference.everWritten(key)) {
          world.violated(
              () -> name + (spends ? " was denied" : "") + " and left a trace on " + key);
        }
      }
    }
  }

  private long afewMessages() {
    return 12 * network.latencyNanos() + 2_000_000;
  }

  private static long nanos(Instant instant) {
    return instant.getEpochSecond() * 1_000_000_000L + instant.getNano();
  }

  private static boolean isFresh(Transaction transaction) {
    return Reference.isFresh(transaction.bucketKey());
  }

  private boolean isOwn(Transaction transaction) {
    return transaction.id().startsWith("p");
  }

  private <T> @Nullable CompletionStage<T> call(
      Operation operation, Supplier<CompletionStage<T>> call) {
    try {
      return call.get();
    } catch (Throwable e) {
      operation.end("threw");
      world.violated(() -> operation.name + ": async() threw " + e + " instead of failing");
      return null;
    }
  }

  /** Asks, and goes on with the answer; a failure is the operation's. */
  private <T> void whenAnswered(
      Operation operation, Supplier<CompletionStage<T>> asked, Consumer<T> then) {
    CompletionStage<T> stage = call(operation, asked);
    if (stage != null) {
      var unused =
          stage.whenComplete(
              (answer, failure) -> {
                if (failure == null) {
                  then.accept(answer);
                } else {
                  operation.failed(failure);
                }
              });
    }
  }

  private void spend(Transaction transaction) {
    Operation operation = new Operation("spend", List.of(transaction));
    decide(operation, () -> async.spend(List.of(transaction)), true, transaction);
  }

  private void batch(List<Transaction> transactions) {
    Operation operation = new Operation("spend", transactions);
    decide(operation, () -> async.spend(transactions), true, null);
  }

  private void decide(
      Operation operation,
      Supplier<CompletionStage<Decision>> asked,
      boolean spends,
      @Nullable Transaction alone) {
    whenAnswered(
        operation,
        asked,
        decision -> {
          operation.decided(decision, spends);
          if (alone != null && decision.denied() && isOwn(alone) && !decision.degraded()) {
            obey(operation, alone, decision);
          }
        });
  }

  /** A client that waits as it was told to is let in, if nobody took anything meanwhile. */
  private void obey(Operation denied, Transaction transaction, Decision decision) {
    SimulatedServer server = reference.serverOf(transaction.bucketKey());
    if (server == null || decision.retryIn().toMillis() > 5_000 || fleet.clocksWereStepped()) {
      return;
    }
    if (reference.tatNanos(transaction.bucketKey()) != nanos(decision.tat())) {
      return; // another call of this process was decided on since
    }
    long version = reference.version(transaction.bucketKey());
    long due = nanos(decision.decidedAt()) + decision.retryInNanos();
    world.at(
        server.clock.whenItShows(due) + 1_000 + driftNanos,
        new Actor("p" + index + ".patient"),
        () -> {
          if (reference.version(transaction.bucketKey()) != version
              || fleet.clocksWereStepped()
              || fleet.failedOverLately()) {
            return;
          }
          Operation again = new Operation("check after the wait", List.of(transaction));
          whenAnswered(
              again,
              () -> async.check(List.of(transaction)),
              answer -> {
                again.end(answer.toString());
                if (answer.denied()
                    && !answer.degraded()
                    && !fleet.clocksWereStepped()
                    && reference.version(transaction.bucketKey()) == version) {
                  world.violated(
                      () ->
                          World.text(
                              "%s was told to wait %s, did, and is denied again: %s",
                              denied.name, decision.retryIn(), answer));
                }
              });
        });
  }

  private void check(Transaction transaction, boolean counts) {
    Operation operation = new Operation("check", List.of(transaction));
    whenAnswered(
        operation,
        () -> async.check(List.of(transaction)),
        decision -> {
          if (counts && !decision.degraded()) {
            observed++;
            observedDenied += decision.denied() ? 1 : 0;
          }
          operation.decided(decision, false);
        });
  }

  private void spendBlocking(Transaction transaction) {
    if (!world.blocking(() -> waitForSpend(transaction))) {
      spend(transaction);
    }
  }

  private void waitForSpend(Transaction transaction) {
    Operation operation = new Operation("blocking spend", List.of(transaction));
    try {
      operation.decided(limiter.spend(List.of(transaction)), true);
    } catch (StoreException e) {
      operation.failed(e);
    } catch (Throwable e) {
      operation.end("threw");
      world.violated(() -> operation.name + " threw " + e);
    }
  }

  private void refund(Transaction transaction) {
    Operation operation = new Operation("refund", List.of(transaction));
    CompletionStage<Decision> stage = call(operation, () -> async.refund(List.of(transaction)));
    if (stage != null) {
      ended(operation, stage);
    }
  }

  private void reset(Transaction transaction) {
    Operation operation = new Operation("reset", List.of(transaction));
    CompletionStage<Void> stage = call(operation, () -> async.reset(List.of(transaction)));
    if (stage != null) {
      ended(operation, stage);
    }
  }

  private static void ended(Operation operation, CompletionStage<?> stage) {
    var unused = stage.whenComplete(operation::ended);
  }

  /** What a caller holds: a reservation, and how it came to it. */
  private record Held(Operation made, Reservation reservation) {}

  private void reserve(List<Transaction> transactions, int millis) {
    reserve(transactions, held -> cancel(held, transactions), millis);
  }

  /** One of several, which end in an order of their own if the plan mixes orders at all. */
  private void reserve(List<Transaction> transactions, int millis, int number) {
    long shuffled = (operations * 7 + number * 5) % 11 * (network.latencyNanos() / 4);
    reserve(
        transactions,
        held ->
            world.after(
                mixesOrders ? shuffled : 0,
                new Actor("p" + index + ".holder"),
                () -> cancel(held, transactions)),
        millis);
  }

  private void reserve(List<Transaction> transactions, Consumer<Held> cancel, int millis) {
    Operation operation = new Operation("reserve", transactions);
    whenAnswered(
        operation,
        () -> async.reserve(transactions),
        reservation -> {
          operation.decided(reservation.decision(), true);
          if (millis == -1) {
            reservation.close();
          } else if (millis == -2) {
            neverClosed.add(reservation);
          } else {
            world.after(
                millis * 1_000_000L,
                new Actor("p" + index + ".holder"),
                () -> cancel.accept(new Held(operation, reservation)));
          }
        });
  }

  private void cancel(Held held, List<Transaction> transactions) {
    Operation operation = new Operation("cancel", transactions);
    held.made.granted.values().forEach(reference::cancelled);
    CompletionStage<Void> stage = call(operation, held.reservation::cancelAsync);
    if (stage != null) {
      ended(operation, stage);
      var unused =
          stage.thenAccept(
              done -> requireGivenBack(held.made, operation, held.made.granted.values()));
    }
    held.reservation.close(); // as a try block does
  }

  /** A cancellation that nothing disturbed gives back all that was not refilled. */
  private void requireGivenBack(Operation made, Operation cancel, Collection<Granted> granted) {
    if (!hasFaults && !limitsChange && !made.disturbed && !cancel.disturbed) {
      granted.forEach(one -> reference.requireGivenBack(cancel.name, one, cancel.start));
    }
  }

  /** A caller that waits, and gives back a part of what it holds. */
  private void cancelSome(Held held, Predicate<Transaction> which) {
    if (!world.blocking(() -> waitForCancel(held, which))) {
      held.reservation.close();
    }
  }

  private void waitForCancel(Held held, Predicate<Transaction> which) {
    Operation operation =
        new Operation("blocking cancel", held.made.transactions.stream().filter(which).toList());
    List<Granted> cancelled = new ArrayList<>();
    held.made.granted.forEach(
        (transaction, granted) -> {
          if (which.test(transaction)) {
            reference.cancelled(granted);
            cancelled.add(granted);
          }
        });
    try {
      held.reservation.cancel(which);
      operation.end("done");
      requireGivenBack(held.made, operation, cancelled);
    } catch (StoreException e) {
      operation.failed(e);
    } catch (Throwable e) {
      operation.end("threw");
      world.violated(() -> operation.name + " threw " + e);
    }
  }

  // At the end

  /** Asks each server for something, which must be there by now. */
  void requireRecovered() {
    askEach(
        "spend after all faults",
        1,
        (operation, decision, failure) -> {
          String answer = String.valueOf(failure == null ? decision : failure.getMessage());
          operation.end(answer);
          if (failure != null || decision.degraded()) {
            world.violated(
                () -> operation.name + " is not decided on, though all faults are over: " + answer);
          }
        });
  }

  /** Asks now and then, as traffic does: a silent connection is found by calls that time out. */
  void askAround() {
    askEach("ask", 0, Operation::ended);
  }

  /** What comes of a call. */
  private interface Outcome {
    void of(Operation operation, Decision decision, @Nullable Throwable failure);
  }

  private void askEach(String verb, int cost, Outcome outcome) {
    for (int i = 0; i < ASKED; i++) {
      operations++;
      Transaction transaction = limiter.transaction("A", "r" + index + "-" + i).withCost(cost);
      Operation operation = new Operation(verb, List.of(transaction));
      CompletionStage<Decision> stage = call(operation, () -> async.spend(List.of(transaction)));
      if (stage != null) {
        var unused =
            stage.whenComplete((decision, failure) -> outcome.of(operation, decision, failure));
      }
    }
  }

  /** Nothing that was asked for is left, in any queue, map, counter or timer. */
  void requireIdle() {
    require(outstanding == 0, () -> "waits for " + outstanding + " calls");
    for (String key : asked) {
      require(store.isIdle(key), () -> "has something under way to the server of " + key);
    }
    int open = Insides.openStretches(limiter);
    require(open == 0, () -> "follows " + open + " reservations that nobody holds");
    int inFlight = Insides.inFlight(limiter);
    require(inFlight == 0, () -> "takes " + inFlight + " refunds to be in flight");
    boolean asksSentinel = fleet.topology == Fleet.Topology.SENTINEL; // and goes on asking
    require(
        timing.pending() <= (asksSentinel ? 2 : 0), () -> "has " + timing.pending() + " timers");
  }

  private void require(boolean right, Supplier<String> otherwise) {
    if (!right) {
      world.violated(() -> "at the end p" + index + " still " + otherwise.get());
    }
  }

  /** Closes the store while calls are under way: they end as well. */
  void closeStore() {
    closing = true;
    askEach("spend before closing", 1, Operation::ended);
    store.close();
  }

  void requireClosed() {
    require(outstanding == 0, () -> "waits for " + outstanding + " calls of a closed store");
    require(timing.pending() == 0, () -> "has " + timing.pending() + " timers of a closed store");
  }

  void close() {
    neverClosed.forEach(Reservation::close);
    leases.values().forEach(this::closeLease);
    neverClosed.clear();
  }

  int observed() {
    return observed;
  }

  int observedDenied() {
    return observedDenied;
  }
}
