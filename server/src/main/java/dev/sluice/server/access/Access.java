// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.access;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.server.RefusedException;
import dev.sluice.server.access.AuditLog.Noted;
import dev.sluice.store.BucketStore;
import dev.sluice.store.TimeSource;
import dev.sluice.yaml.LimitFiles;
import dev.sluice.yaml.LimitFilesWatcher;
import dev.sluice.yaml.Problem;
import dev.sluice.yaml.ReloadListener;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decides who may do what: the one place, which every door asks. Without a file of tokens everybody
 * may do everything.
 *
 * <p>The file is watched: a good change holds for the next request, also of connections that are
 * open; a bad one changes nothing, and is logged with every mistake. Thread-safe; only {@link #of},
 * {@link #reload} and {@link #close} block.
 */
public final class Access implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(Access.class);
  private static final Duration LOOK_EVERY = Duration.ofSeconds(1);
  private static final long MOST_CLIENTS = 100_000;
  private static final int IPV6_NETWORK_BYTES = 8;

  /** How many refused authentications an address may cause. */
  private static final Quota FAILURES = Quota.of(30, 30, Duration.ofMinutes(1));

  private static final LimitName FAILURES_PER_ADDRESS =
      LimitName.builder(1, "FailedAuthenticationsPerAddress").id(IdFormat.string()).build();
  private static final LimitName REQUESTS_PER_TOKEN =
      LimitName.builder(2, "RequestsPerToken").id(IdFormat.string()).build();

  private final @Nullable CurrentLimits tokens;
  private final @Nullable LimitFilesWatcher watcher;
  private final AuditLog audit;
  private final BucketStore buckets;
  private final Limiter own;
  private final Refusals refusals;

  private Access(
      @Nullable CurrentLimits tokens,
      @Nullable LimitFilesWatcher watcher,
      AuditLog audit,
      TimeSource time,
      Refusals refusals) {
    this.tokens = tokens;
    this.watcher = watcher;
    this.audit = audit;
    this.buckets = BucketStore.inMemory(time, MOST_CLIENTS);
    this.own = Limiter.of(buckets);
    this.refusals = refusals;
  }

  /** Counters of requests that were refused. */
  private record Refusals(Counter unauthenticated, Counter forbidden, Counter throttled) {

    static Refusals in(MeterRegistry meters) {
      return new Refusals(
          counter("unauthenticated", meters),
          counter("forbidden", meters),
          counter("throttled", meters));
    }

    private static Counter counter(String reason, MeterRegistry meters) {
      return Counter.builder("sluice.access.refused")
          .description("Requests that access control has refused")
          .tag("reason", reason)
          .register(meters);
    }
  }

  /**
   * Returns the access to a server without access control.
   *
   * @param audit takes what callers do
   * @param meters takes the meters
   * @return access for everybody
   */
  public static Access open(AuditLog audit, MeterRegistry meters) {
    return new Access(null, null, audit, TimeSource.system(), Refusals.in(meters));
  }

  /**
   * Reads a file of tokens, and watches it.
   *
   * @param file the file
   * @param audit takes what callers do
   * @param meters takes the meters
   * @return access for those that the file names
   * @throws dev.sluice.yaml.LimitFilesException if the file has mistakes
   */
  public static Access of(Path file, AuditLog audit, MeterRegistry meters) {
    LimitFiles files = files(file);
    CurrentLimits tokens = new CurrentLimits(files.load());
    LimitFilesWatcher watcher = files.watch(tokens, LOOK_EVERY, new ReloadLog(file, audit));
    return new Access(tokens, watcher, audit, TimeSource.system(), Refusals.in(meters));
  }

  private static LimitFiles files(Path file) {
    return LimitFiles.builder().companion(file, new TokensFile()).build();
  }

  /**
   * Lists the mistakes of a file of tokens, for a check without a server.
   *
   * @param file the file
   * @return the mistakes, none for a good file
   */
  public static List<Problem> lint(Path file) {
    return files(file).lint();
  }

  /**
   * Whether everybody may do everything.
   *
   * @return true without a file of tokens
   */
  public boolean isOpen() {
    return tokens == null;
  }

  /**
   * Returns where to note what callers do.
   *
   * @return the audit log
   */
  public AuditLog audit() {
    return audit;
  }

  /**
   * Reads the file of tokens at once.
   *
   * @return false if it has mistakes, which are logged; the tokens from before stay
   */
  public boolean reload() {
    return watcher == null || watcher.reloadNow();
  }

  /** Stops watching the file. */
  @Override
  public void close() {
    if (watcher != null) {
      watcher.close();
    }
    buckets.close();
  }

  /** What changes whenever the tokens do; null where there are none. */
  @Nullable Limits generation() {
    return tokens == null ? null : tokens.get();
  }

  /**
   * Finds out who a caller is. A token counts before a certificate.
   *
   * @param door the door, for the audit log
   * @param peer where the connection comes from
   * @param tokenHash of {@link Tokens#hash}, null without a token
   * @param certificateNames of the verified certificate, none without one
   * @return the caller; one without roles if it has shown nothing
   * @throws RefusedException if it has shown something that the server does not know
   */
  Caller caller(
      String door,
      @Nullable SocketAddress peer,
      byte @Nullable [] tokenHash,
      List<String> certificateNames) {
    String address = address(peer);
    Limits now = generation();
    Tokens known = now == null ? null : now.companion(Tokens.class);
    if (known == null) {
      return Caller.anybody(address);
    }
    if (tokenHash != null) {
      Grant grant = known.ofHash(tokenHash);
      if (grant == null) {
        throw failed(door, peer, "the token is not known");
      }
      admit(grant);
      return Caller.of(grant, Caller.Kind.TOKEN, address);
    }
    Grant grant = known.ofCertificate(certificateNames);
    if (grant != null) {
      admit(grant);
      return Caller.of(grant, Caller.Kind.CERTIFICATE, address);
    }
    if (!certificateNames.isEmpty()) {
      throw failed(
          door, peer, "the tokens file has no entry for a name in the client's certificate");
    }
    return Caller.unknown(address);
  }

  /** Holds a token to its requests. */
  private void admit(Grant grant) {
    Quota quota = grant.requests();
    if (quota == null) {
      return;
    }
    Decision decision = own.spend(Transaction.of(REQUESTS_PER_TOKEN, quota, grant.name()));
    if (decision.denied()) {
      refusals.throttled.increment();
      throw RefusedException.tooManyRequests(
          "%s sends more requests than its line in the tokens file allows".formatted(grant.name()),
          decision.retryAfterSeconds());
    }
  }

  /**
   * Returns how to refuse a failed authentication. An address that causes too many is told so, and
   * no longer fills the audit log; a good token passes even then.
   */
  RefusedException failed(String door, @Nullable SocketAddress peer, String why) {
    refusals.unauthenticated.increment();
    Decision decision = own.spend(Transaction.of(FAILURES_PER_ADDRESS, FAILURES, network(peer)));
    if (decision.denied()) {
      refusals.throttled.increment();
      return RefusedException.tooManyRequests(
          "this address has sent too many tokens that are not known", decision.retryAfterSeconds());
    }
    audit.note(Caller.unknown(address(peer)), door, Noted.of("authenticate"), "refused", why);
    return RefusedException.unauthenticated(why);
  }

  /**
   * Requires what an endpoint or a command needs.
   *
   * @param caller who asks
   * @param need what it needs
   * @throws RefusedException if the caller is unknown, or lacks the role
   */
  void require(Caller caller, Need need) {
    if (need == Need.NOTHING || caller.kind() == Caller.Kind.ANYBODY) {
      return;
    }
    if (caller.kind() == Caller.Kind.UNKNOWN) {
      refusals.unauthenticated.increment();
      throw RefusedException.unauthenticated(
          "found no token, expected the header Authorization: Bearer TOKEN");
    }
    if (!caller.meets(need)) {
      refusals.forbidden.increment();
    }
    caller.require(need);
  }

  static String address(@Nullable SocketAddress peer) {
    return peer instanceof InetSocketAddress socket && socket.getAddress() != null
        ? socket.getAddress().getHostAddress()
        : String.valueOf(peer);
  }

  /** A whole /64 for IPv6: a client with one address of it has all. */
  private static String network(@Nullable SocketAddress peer) {
    if (peer instanceof InetSocketAddress socket
        && socket.getAddress() instanceof Inet6Address ip) {
      byte[] bytes = ip.getAddress();
      Arrays.fill(bytes, IPV6_NETWORK_BYTES, bytes.length, (byte) 0);
      try {
        return InetAddress.getByAddress(bytes).getHostAddress();
      } catch (UnknownHostException e) {
        throw new IllegalStateException(e); // 16 bytes are an address
      }
    }
    return address(peer);
  }

  /** Notes each reload of the tokens. */
  private static final class ReloadLog implements ReloadListener {

    private final Path file;
    private final AuditLog audit;
    private boolean first = true; // the watcher reads once more when it starts

    ReloadLog(Path file, AuditLog audit) {
      this.file = file;
      this.audit = audit;
    }

    @Override
    public void loaded(Instant at, Limits limits, List<Problem> warnings) {
      if (!first) {
        log.info("tokens loaded from {}", file);
        audit.noteServer("reload of the tokens", "done", "");
      }
      first = false;
    }

    @Override
    public void failed(Instant at, List<Problem> problems) {
      String list = problems.stream().map(Problem::toString).collect(Collectors.joining("; "));
      log.error("tokens not loaded, the old ones still hold: {}", list);
      audit.noteServer("reload of the tokens", "refused", list);
    }

    @Override
    public void broke(Instant at, Throwable failure) {
      log.error("could not look at the tokens in {}: {}", file, failure.toString());
    }
  }
}
