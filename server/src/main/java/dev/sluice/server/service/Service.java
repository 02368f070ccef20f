// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.FailureRule;
import dev.sluice.Limiter;
import dev.sluice.LimiterObserver;
import dev.sluice.internal.async.Fleet;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.InvalidRequestException.UnknownLimitException;
import dev.sluice.micrometer.StoreMetrics;
import dev.sluice.server.access.Access;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.admin.RuntimeLimits;
import dev.sluice.server.admin.RuntimeLimits.KeepException;
import dev.sluice.server.base.Generations;
import dev.sluice.server.base.Generations.Kind;
import dev.sluice.server.base.JsonLines;
import dev.sluice.server.base.Periodic;
import dev.sluice.server.base.RefusedException.NotReadyException;
import dev.sluice.server.http.HttpPart.BuildInfo;
import dev.sluice.server.http.HttpPart.MetricsPart;
import dev.sluice.server.http.HttpPart.ServerState;
import dev.sluice.server.http.HttpPart.StatsPart;
import dev.sluice.server.net.ConnectionBudget;
import dev.sluice.server.net.Part;
import dev.sluice.server.otlp.Otlp;
import dev.sluice.server.otlp.Otlp.OtlpSettings;
import dev.sluice.server.reservation.Reservations;
import dev.sluice.server.reservation.TokenKey;
import dev.sluice.server.rls.OpenCalls;
import dev.sluice.server.service.Door.GrpcDoor;
import dev.sluice.server.service.Door.HttpDoor;
import dev.sluice.server.service.Door.OpenDoors;
import dev.sluice.server.service.Door.RespDoor;
import dev.sluice.server.service.ReloadLog.GenerationMeters;
import dev.sluice.server.service.ReloadLog.NamedByRules;
import dev.sluice.server.service.ServerConfig.ConfigException;
import dev.sluice.server.service.ServerConfig.DenialLogFile;
import dev.sluice.server.service.ServerConfig.Snapshot;
import dev.sluice.server.service.ServerConfig.Storage;
import dev.sluice.server.service.Service.ShutdownStack;
import dev.sluice.server.service.StoreAccess.NumberedServers;
import dev.sluice.server.service.StoreAccess.Stores;
import dev.sluice.server.stats.DenialLog;
import dev.sluice.server.stats.Denials;
import dev.sluice.server.stats.RateHistory;
import dev.sluice.server.stats.TopDenied;
import dev.sluice.server.tls.TlsFiles;
import dev.sluice.server.tls.TlsFiles.EndOfCertificate;
import dev.sluice.server.tls.TlsIdentity;
import dev.sluice.server.tls.TlsIdentity.Tls;
import dev.sluice.store.BucketStore;
import dev.sluice.store.StoreException;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.file.FileSystemException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A running server with all its parts: limits, overrides, buckets, meters and ports.
 *
 * <p>Parts are closed in the reverse order of their start, even if the start fails. Thread-safe.
 * {@link #start} blocks until the last port is open; {@link #close} blocks until the last response
 * was sent.
 */
public final class Service implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(Service.class);

  private final ShutdownStack started;
  private final OpenDoors doors;
  private final Runnable ping;
  private final Generations generations;
  private final AuditLog audit;
  private final ConnectionBudget traffic;

  private Service(
      ShutdownStack started,
      OpenDoors doors,
      Runnable ping,
      Generations generations,
      AuditLog audit,
      ConnectionBudget traffic) {
    this.started = started;
    this.doors = doors;
    this.ping = ping;
    this.generations = generations;
    this.audit = audit;
    this.traffic = traffic;
  }

  /**
   * Starts a service, without waiting for a store or a database on a network.
   *
   * @throws ConfigException if a setting cannot be used, such as the store's address or the
   *     snapshot
   * @throws dev.sluice.yaml.LimitFilesException if the limit files have mistakes
   * @throws UnknownLimitException if the settings require limits with unknown names; the message
   *     has a line for each name
   * @throws dev.sluice.limit.InvalidRequestException.MissingDefaultException if a required limit
   *     has no default
   * @throws dev.sluice.server.net.HostPort.AddressException if a port cannot be opened
   */
  public static Service start(ServerConfig config) {
    ShutdownStack started = new ShutdownStack();
    try {
      return start(config, started);
    } catch (Throwable e) {
      started.close();
      throw e;
    }
  }

  private static Service start(ServerConfig config, ShutdownStack started) {
    config.requireFilesApart();
    LoadedFiles files = LoadedFiles.load(config);
    CurrentLimits base = files.of(Kind.LIMITS);
    Generations generations = new Generations();
    PrometheusMeterRegistry meters = MetricsPart.newRegistry();
    boolean isOpen = config.control().tokens() == null;
    String storeKind = config.storage().store().kind();
    BucketStore.Observer watch = new StoreMetrics(meters, storeKind);
    Fleet fleet = new Fleet(config.storage().localAtLeast());
    OutageLog outages =
        new OutageLog(
            config.storage(), fleet, isOpen ? new NumberedServers(watch, storeKind) : watch);
    started.add(outages::close);
    BucketStore store = openStore(config.storage(), meters, outages, started);
    requireCounting(config.storage(), store);
    started.add(fleet::close);
    ScheduledExecutorService looks = Periodic.scheduler("sluice-fleet");
    started.add(looks::shutdown); // an interrupted look would leave this server's name in the store
    TableOverrides table = new TableOverrides(config.sources().table(), base);
    RuntimeLimits runtime = runtime(config, table, store);
    started.add(runtime::close);
    generations.readBeside(runtime);
    CurrentLimits limits = runtime.limits();
    MetricsPart metrics = new MetricsPart(meters, limits, store);
    NamedByRules named = new NamedByRules(files.of(Kind.LIMITS));
    ReloadLog reloads =
        new ReloadLog(
            metrics.metrics(),
            table.isPresent() ? null : config.sources().files().overrides(),
            loaded -> {
              named.accept(loaded);
              table.baseChanged();
            });
    reloads.tellLoaded(files.limitsLoadedAt(Instant.now()));
    table.start(metrics.metrics(), meters);
    started.add(table::close);
    GenerationMeters.register(generations, meters);
    TlsFiles tlsFiles = config.doors().tls();
    Tls tls = tlsFiles == null ? null : tls(tlsFiles, files.of(Kind.CERTIFICATES), meters, started);
    Access access = AccessSetup.access(config, files, meters, started);
    files.watch(generations, access.audit(), reloads, metrics.metrics()::filesBroke, started);
    Stream.of(Kind.TOKENS, Kind.CERTIFICATES)
        .filter(kind -> generations.of(kind).isPresent())
        .forEach(kind -> GenerationMeters.register(generations, kind, meters));
    AtomicBoolean reached = new AtomicBoolean();
    Runnable ping =
        () -> {
          store.ping();
          reached.set(true);
        };
    Runnable reachedOnce =
        config.storage().readyWithoutStore() ? () -> {} : onceReached(ping, reached);
    Runnable reachable =
        new RecentCheck(
            () -> {
              ping.run();
              table.requireReady();
            },
            System::nanoTime);
    boolean decidesAlone = decidesAlone(config.storage());
    if (config.storage().readyWithoutStore() && !decidesAlone) {
      log.warn(
          "--ready-without-store has no effect, since a failure rule is fail or deny: the server is not ready while the store does not answer; set --on-failure to allow or local:N");
    }
    Runnable ready =
        decidesAlone
            ? () -> {
              reachedOnce.run();
              table.requireReady();
            }
            : reachable;
    TopDenied topDenied = config.telemetry().topDenied() ? new TopDenied() : null;
    Denials denials =
        Denials.to(AccessSetup.denialLog(config, meters, started), config.telemetry().topDenied());
    List<LimiterObserver> observers = new ArrayList<>(List.of(metrics.metrics()));
    if (topDenied != null) {
      observers.add(topDenied);
      forgetIds(topDenied, denials, looks);
    }
    if (!denials.isOff()) {
      observers.add(denials);
    }
    if (!config.storage().store().isMemory()) {
      observers.add(outages);
    }
    Limiter limiter = limiter(config, limits, store, fleet, LimiterObserver.all(observers));
    Reservations reservations =
        new Reservations(limiter, store, config.storage().tokenKey(), metrics.metrics());
    started.add(reservations::close);
    RateHistory history = RateHistory.start(meters);
    started.add(history::close);
    ConnectionBudget traffic = ConnectionBudget.usual();
    Gauge.builder("sluice.connections", traffic, ConnectionBudget::connections)
        .description("Connections of clients on all ports")
        .register(meters);
    Gauge.builder("sluice.connections.max", traffic, ConnectionBudget::maxConnections)
        .description("The most connections of clients on all ports")
        .register(meters);
    Door.DoorContext room =
        new Door.DoorContext(
            limiter,
            store,
            reservations,
            meters,
            ready,
            traffic,
            access,
            runtime,
            generations,
            tls,
            denials,
            new OpenCalls(meters),
            traces(config, meters, started));
    OpenDoors doors = new OpenDoors();
    started.add(doors::close);
    ServerState state =
        new ServerState(
            history,
            meters,
            traffic,
            doors::shown,
            store,
            shown(config.storage().store(), isOpen),
            reachable,
            hostName(),
            runtime,
            () -> tls == null ? null : tls.certificateEnd(),
            limit -> outages.words(config.storage().ruleOf(limit)),
            fleet::names);
    for (Door door : doors(config.doors(), metrics, new StatsPart(state, topDenied))) {
      doors.open(door, room);
    }
    store
        .presence()
        .ifPresent(
            list -> {
              Gauge.builder("sluice.servers", fleet, Fleet::size)
                  .description("Servers that share each limit with local:auto; 0 until counted")
                  .register(meters);
              Gauge.builder("sluice.servers.age.seconds", fleet, Fleet::ageSeconds)
                  .description("Time since the servers in the store were last counted")
                  .register(meters);
              fleet.enter(list, hostName() + ":" + doors.addresses().get(0).getPort());
              Runnable look =
                  Periodic.task(
                      LoggerFactory.getLogger(Fleet.class),
                      "announcing this server in the store",
                      fleet::look);
              var unused = looks.scheduleWithFixedDelay(look, 0, 1, TimeUnit.SECONDS);
            });
    return new Service(started, doors, ping, generations, access.audit(), traffic);
  }

  private static void forgetIds(
      TopDenied topDenied, Denials denials, ScheduledExecutorService looks) {
    Runnable forget =
        Periodic.task(
            LoggerFactory.getLogger(Denials.class),
            "forgetting denied ids",
            () -> {
              topDenied.forget();
              denials.forget();
            });
    long seconds = TopDenied.FORGET_EVERY.toSeconds();
    var unused = looks.scheduleAtFixedRate(forget, seconds, seconds, TimeUnit.SECONDS);
  }

  /**
   * Returns a check that passes after the store has answered once. Until the store has answered
   * once, its address can be wrong; with a wrong address, each server would enforce the limits
   * alone.
   */
  private static Runnable onceReached(Runnable ping, AtomicBoolean reached) {
    Runnable recent = new RecentCheck(ping, System::nanoTime);
    return () -> {
      if (!reached.get()) {
        try {
          recent.run();
        } catch (StoreException e) {
          throw new NotReadyException(
              "the store has not answered since the start; --ready-without-store does not wait for it",
              e);
        }
      }
    };
  }

  /**
   * Whether each failure rule allows requests or decides locally. If a failure rule is {@code fail}
   * or {@code deny}, the server reports during an outage that it is not ready.
   */
  private static boolean decidesAlone(ServerConfig.Storage storage) {
    return Stream.concat(
            Stream.of(storage.onFailure()), storage.onFailureByLimit().values().stream())
        .noneMatch(rule -> rule.equals(FailureRule.fail()) || rule.equals(FailureRule.deny()));
  }

  /** Starts OpenTelemetry if configured; otherwise its classes are not loaded. */
  private static Part traces(
      ServerConfig config, PrometheusMeterRegistry meters, ShutdownStack started) {
    OtlpSettings settings = config.telemetry().otlp();
    if (settings == null) {
      return server -> {};
    }
    Otlp otlp = Otlp.start(settings, BuildInfo.version(), meters);
    started.add(otlp::close);
    return otlp.traces();
  }

  private static String hostName() {
    try {
      return InetAddress.getLocalHost().getHostName();
    } catch (UnknownHostException e) {
      return "an unnamed host";
    }
  }

  private static Tls tls(
      TlsFiles files, CurrentLimits loaded, MeterRegistry meters, ShutdownStack started) {
    Supplier<TlsIdentity> current =
        () -> Objects.requireNonNull(loaded.get().companion(TlsIdentity.class), "no certificate");
    Gauge.builder(
            "sluice.tls.certificate.end.timestamp.seconds",
            current,
            identity -> identity.get().end().getEpochSecond())
        .description("End of the certificate in use, in seconds since the Unix epoch")
        .register(meters);
    Logger certificates = LoggerFactory.getLogger(EndOfCertificate.class);
    started.add(
        EndOfCertificate.watch(
                files,
                current,
                look -> Periodic.task(certificates, "checking the end of the certificate", look))
            ::close);
    return new Tls(current);
  }

  private static RuntimeLimits runtime(
      ServerConfig config, TableOverrides table, BucketStore store) {
    try {
      return table.runtime(config.control().overrideStore(), store);
    } catch (KeepException e) {
      throw new ConfigException("override-store", String.valueOf(e.getMessage()), e);
    }
  }

  /** Returns a {@link Door} for each port of the server; the HTTP port is the first. */
  private static List<Door> doors(
      ServerConfig.Doors settings, MetricsPart metrics, StatsPart stats) {
    List<Door> doors = new ArrayList<>();
    doors.add(new HttpDoor(settings.http(), settings.rls(), metrics, stats));
    if (settings.resp() != null) {
      doors.add(new RespDoor(settings.resp()));
    }
    if (settings.grpc() != null) {
      doors.add(new GrpcDoor(settings.grpc(), settings.rls()));
    }
    return doors;
  }

  /** Returns the store's address; only its scheme if every client can read the statistics. */
  private static String shown(StoreAccess store, boolean isOpen) {
    String address = store.toString();
    int schemeEnd = address.indexOf("://");
    return isOpen && schemeEnd > 0 ? address.substring(0, schemeEnd) : address;
  }

  private static BucketStore openStore(
      Storage storage,
      PrometheusMeterRegistry meters,
      BucketStore.Observer watch,
      ShutdownStack started) {
    Snapshot snapshot = storage.snapshot();
    if (snapshot != null) {
      KeptBuckets kept = KeptBuckets.open(snapshot.file(), snapshot.every(), meters);
      started.add(kept.store()::close);
      started.add(kept::close);
      return kept.store();
    }
    try {
      BucketStore store =
          storage.store().isMemory() ? BucketStore.inMemory() : Stores.open(storage.store(), watch);
      started.add(store::close);
      return store;
    } catch (IllegalArgumentException e) {
      throw new ConfigException("store", String.valueOf(e.getMessage()), e);
    }
  }

  /** Refuses a store that cannot count servers, if a failure rule needs their number. */
  private static void requireCounting(Storage storage, BucketStore store) {
    if (store.presence().isEmpty()
        && Stream.concat(
                Stream.of(storage.onFailure()), storage.onFailureByLimit().values().stream())
            .anyMatch(FailureRule::isAuto)) {
      throw new ConfigException(
          "on-failure",
          "local:auto needs a shared store that uses its own clock, found the store %s; give the number of servers instead, such as local:4"
              .formatted(storage.store().described()));
    }
  }

  private static Limiter limiter(
      ServerConfig config,
      CurrentLimits limits,
      BucketStore store,
      Fleet fleet,
      LimiterObserver observer) {
    Storage storage = config.storage();
    Limiter.Builder limiter =
        Limiter.builder(limits, store)
            .observer(observer)
            .onFailure(storage.onFailure())
            .processes(fleet::size)
            .missingDefault(config.sources().onMissing());
    storage.onFailureByLimit().forEach(limiter::onFailure);
    return limiter.build();
  }

  /** Returns the addresses with their actual port numbers, in the order HTTP, Redis, gRPC. */
  public List<InetSocketAddress> addresses() {
    return doors.addresses();
  }

  /**
   * Reads all files, applies each kind of file without mistakes; returns whether all were applied.
   */
  @CanIgnoreReturnValue
  public boolean reload() {
    boolean applied = generations.reload();
    audit.noteServer("reload", applied ? "done" : "refused", "by a signal");
    return applied;
  }

  /** Pings the store. Blocks for one round trip to the store. */
  public void ping() {
    ping.run();
  }

  /** Describes the shutdown: requests answered during {@link #close}, and connections cut. */
  public String farewell() {
    return traffic.farewell();
  }

  /** Stops the server without losing a request: first the ports, then the other parts. */
  @Override
  public void close() {
    started.close();
  }

  /**
   * A stack of the server's started parts. Closing the stack stops the parts in the reverse order
   * of their start, even if a part fails to stop. An interrupt ends the wait for the current part,
   * and is cleared before the next part, since no part can write a snapshot on an interrupted
   * thread. Thread-safe.
   */
  static final class ShutdownStack implements AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(ShutdownStack.class);

    private final Deque<Runnable> ends = new ArrayDeque<>();

    synchronized void add(Runnable end) {
      ends.push(end);
    }

    @Override
    public synchronized void close() {
      boolean interrupted = false;
      while (!ends.isEmpty()) {
        try {
          ends.pop().run();
        } catch (Throwable e) { // an Error too, so that the last snapshot is still written
          log.error("a part of the server failed to stop; the other parts are stopped anyway", e);
        }
        interrupted |= Thread.interrupted();
      }
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Starts access control, the audit log and the log of denials. */
  private static final class AccessSetup {

    private AccessSetup() {}

    /** Opens the audit log and access control, and adds both to the stack of started parts. */
    static Access access(
        ServerConfig config, LoadedFiles files, MeterRegistry meters, ShutdownStack started) {
      ServerConfig.Control settings = config.control();
      AuditLog audit = audit(settings.auditLog(), meters);
      started.add(audit::close);
      Access access =
          settings.tokens() == null
              ? Access.open(
                  audit,
                  meters,
                  settings.requestsPerAddress(),
                  config.doors().adminsAnywhere(settings))
              : Access.of(files.of(Kind.TOKENS), audit, meters, settings.requestsPerAddress());
      started.add(access::close);
      return access;
    }

    private static AuditLog audit(@Nullable String target, MeterRegistry meters) {
      return target == null
          ? AuditLog.none()
          : AuditLog.to(lines("audit-log", target, AuditLog.KIND, meters));
    }

    /** Starts the denial log; returns null if the server has none. */
    static @Nullable DenialLog denialLog(
        ServerConfig config, MeterRegistry meters, ShutdownStack started) {
      DenialLogFile file = config.telemetry().denialLog();
      if (file == null) {
        return null;
      }
      TokenKey key = config.storage().tokenKey().derived("denial log");
      DenialLog log =
          DenialLog.start(
              lines("denial-log", file.target(), DenialLog.KIND, meters),
              file.showsIds() ? id -> id : key::hash);
      started.add(log::close);
      return log;
    }

    private static JsonLines lines(
        String setting, String target, JsonLines.LogKind kind, MeterRegistry meters) {
      if (target.equals("-")) {
        return JsonLines.of(System.err, kind, meters);
      }
      try {
        return JsonLines.of(Path.of(target), kind, meters);
      } catch (IOException e) {
        throw new ConfigException(
            setting,
            "%s: cannot be written (%s); name a file in a folder where the server may write"
                .formatted(target, reason(e)),
            e);
      }
    }

    /** Returns why a file cannot be written; some messages of the JDK are just a path. */
    private static String reason(IOException e) {
      return e instanceof FileSystemException ? e.toString() : String.valueOf(e.getMessage());
    }
  }

  /**
   * Runs a check at most twice a second. Concurrent callers share one run of the check. A caller
   * that comes less than 0.5 s after the end of a run gets the outcome of this run. Thread-safe;
   * blocks until the check ends.
   */
  static final class RecentCheck implements Runnable {

    static final long RECENT_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    private final Runnable check;
    private final LongSupplier nanoTime;
    private final AtomicReference<@Nullable CompletableFuture<Checked>> last =
        new AtomicReference<>();

    /** The time and the outcome of a readiness check. */
    private record Checked(long at, @Nullable RuntimeException failure) {}

    RecentCheck(Runnable check, LongSupplier nanoTime) {
      this.check = check;
      this.nanoTime = nanoTime;
    }

    @Override
    public void run() {
      CompletableFuture<Checked> known = last.get();
      if (known == null || isOld(known)) {
        CompletableFuture<Checked> mine = new CompletableFuture<>();
        CompletableFuture<Checked> now = last.compareAndExchange(known, mine);
        if (now == known) {
          mine.complete(outcome());
          known = mine;
        } else {
          known = now;
        }
      }
      RuntimeException failure = known == null ? null : known.join().failure();
      if (failure != null) {
        throw failure;
      }
    }

    private boolean isOld(CompletableFuture<Checked> known) {
      return known.isDone() && nanoTime.getAsLong() - known.join().at() >= RECENT_NANOS;
    }

    private Checked outcome() {
      try {
        check.run();
        return new Checked(nanoTime.getAsLong(), null);
      } catch (RuntimeException e) {
        return new Checked(nanoTime.getAsLong(), e);
      } catch (Error e) { // otherwise callers that wait for the outcome would wait for ever
        IllegalStateException failure = new IllegalStateException(e);
        return new Checked(nanoTime.getAsLong(), failure);
      }
    }
  }
}
