// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.access;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.server.access.AccessPart.Watch;
import dev.sluice.server.access.AuditLog.Noted;
import dev.sluice.server.access.Tokens.Grant;
import dev.sluice.server.base.RefusedException;
import dev.sluice.store.BucketStore;
import dev.sluice.store.StoreException;
import dev.sluice.store.TimeSource;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Access control, shared by all protocols: decides which operations a caller may use. Without a
 * tokens file, every caller may use all operations; on a server that is open to a network, only
 * callers on loopback may use administrators' operations.
 *
 * <p>A change of the tokens takes effect with the next request, also on open connections.
 * Thread-safe; never blocks.
 */
public final class Access implements AutoCloseable {

  /** The header in which most callers send a token, as named in error messages. */
  static final String IN_AUTHORIZATION = "the header Authorization: Bearer TOKEN";

  private static final long MOST_ADDRESSES = 100_000;
  private static final Duration FULL = Duration.ofMinutes(1);
  private static final int IPV6_NETWORK_BYTES = 8;

  /** The rate limit for failed authentications from one client address. */
  private static final Quota FAILURES = Quota.per(30, Duration.ofMinutes(1));

  /** The limit on refusals per caller in the audit log; the metrics count every refusal. */
  private static final Quota NOTED = Quota.per(10, Duration.ofMinutes(1));

  private static final LimitName FAILURES_PER_ADDRESS =
      LimitName.builder(1, "FailedAuthenticationsPerAddress").id(IdFormat.string()).build();
  private static final LimitName REQUESTS_PER_TOKEN =
      LimitName.builder(2, "RequestsPerToken").id(IdFormat.string()).build();
  private static final LimitName REQUESTS_PER_ADDRESS =
      LimitName.builder(5, "RequestsPerAddress").id(IdFormat.string()).build();
  private static final LimitName NOTED_PER_ADDRESS =
      LimitName.builder(4, "NotedRefusalsPerAddress").id(IdFormat.string()).build();
  private static final LimitName NOTED_PER_CALLER =
      LimitName.builder(3, "NotedRefusalsPerCaller").id(IdFormat.string()).build();

  private final @Nullable CurrentLimits tokens;
  private final AuditLog audit;
  private final BucketStore addresses;
  private final Limiter ofAddresses;
  private final BucketStore grants;
  private final Limiter ofGrants;
  private final @Nullable Quota perAddress;
  private final BucketStore strangers;
  private final Limiter ofStrangers;
  private final Refusals refusals;
  private final boolean adminsAnywhere;

  private Access(
      @Nullable CurrentLimits tokens,
      boolean adminsAnywhere,
      AuditLog audit,
      @Nullable Quota perAddress,
      long mostAddresses,
      Refusals refusals) {
    this.tokens = tokens;
    this.audit = audit;
    // This class has three stores, since the number of buckets in a store is limited. Many client
    // addresses must not crowd out the buckets of known tokens, and requests without a token must
    // not crowd out the buckets of failed authentications.
    this.addresses = BucketStore.inMemory(TimeSource.system(), mostAddresses);
    this.ofAddresses = Limiter.of(addresses);
    this.grants = BucketStore.inMemory();
    this.ofGrants = Limiter.of(grants);
    this.perAddress = perAddress;
    this.strangers = BucketStore.inMemory(TimeSource.system(), mostAddresses);
    this.ofStrangers = Limiter.of(strangers);
    this.refusals = refusals;
    this.adminsAnywhere = adminsAnywhere;
  }

  /** Counters of refused requests. */
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
   * Returns the access control of a server without a tokens file.
   *
   * @param perAddress the limit on requests per client address, null for no limit
   * @param adminsAnywhere whether every client has the role {@code admin}, or only clients on
   *     loopback
   */
  public static Access open(
      AuditLog audit, MeterRegistry meters, @Nullable Quota perAddress, boolean adminsAnywhere) {
    return new Access(null, adminsAnywhere, audit, perAddress, MOST_ADDRESSES, Refusals.in(meters));
  }

  /**
   * Returns the access control of a server with a tokens file.
   *
   * @param tokens the current limits, loaded together with {@link Tokens}; read for each request
   * @param perAddress the limit on requests per client address, for clients without a known token
   *     or certificate; null for no limit
   */
  public static Access of(
      CurrentLimits tokens, AuditLog audit, MeterRegistry meters, @Nullable Quota perAddress) {
    return of(tokens, audit, meters, perAddress, MOST_ADDRESSES);
  }

  static Access of(
      CurrentLimits tokens,
      AuditLog audit,
      MeterRegistry meters,
      @Nullable Quota perAddress,
      long mostAddresses) {
    return new Access(tokens, true, audit, perAddress, mostAddresses, Refusals.in(meters));
  }

  /** Whether the server has no token file. */
  public boolean isOpen() {
    return tokens == null;
  }

  public AuditLog audit() {
    return audit;
  }

  @Override
  public void close() {
    addresses.close();
    grants.close();
    strangers.close();
  }

  /** Returns the tokens in force; null if there is no access control. */
  @Nullable Tokens known() {
    return tokens == null
        ? null
        : Objects.requireNonNull(tokens.get().companion(Tokens.class), "no tokens");
  }

  /**
   * Identifies a caller. A token takes precedence over a certificate.
   *
   * @param tokenHash the result of {@link Tokens#hash}, null without a token
   * @param certificateNames the names in the verified certificate, empty without a certificate
   * @param acts the requested operations that the audit log records
   * @return the caller; a caller without token and certificate has no roles
   * @throws RefusedException if the token or certificate is not known, or the caller sends too many
   *     requests
   */
  Caller caller(
      String door,
      @Nullable SocketAddress peer,
      byte @Nullable [] tokenHash,
      List<String> certificateNames,
      List<Noted> acts) {
    Tokens known = known();
    if (known == null) {
      return anybody(door, peer, () -> certificateNames).about(acts);
    }
    if (tokenHash != null) {
      Grant grant = known.ofHash(tokenHash);
      if (grant == null) {
        throw failed(door, peer, "the token is not known", acts);
      }
      return granted(grant, Caller.CallerKind.TOKEN, door, peer, acts);
    }
    Grant grant = known.ofCertificate(certificateNames);
    if (grant != null) {
      return granted(grant, Caller.CallerKind.CERTIFICATE, door, peer, acts);
    }
    if (!certificateNames.isEmpty()) {
      String why = "the tokens file has no entry for a name in the client's certificate";
      throw failed(door, peer, why, why + ": " + String.join(", ", certificateNames), acts);
    }
    admitStranger(peer);
    return stranger(door, peer).about(acts);
  }

  /** Returns the caller of a request to a server without a tokens file. */
  Caller anybody(String door, @Nullable SocketAddress peer, Supplier<List<String>> names) {
    return Caller.anybody(
        address(peer), names, strange(door, peer), adminsAnywhere || isLoopback(peer));
  }

  private static boolean isLoopback(@Nullable SocketAddress peer) {
    return peer instanceof InetSocketAddress socket
        && socket.getAddress() != null
        && socket.getAddress().isLoopbackAddress();
  }

  /** Whether each request must be checked even without a tokens file. */
  boolean looksAtStrangers() {
    return perAddress != null || !adminsAnywhere;
  }

  boolean isKnown(byte @Nullable [] tokenHash, List<String> certificateNames) {
    Tokens known = known();
    return known == null
        || (tokenHash == null
            ? known.ofCertificate(certificateNames) != null
            : known.ofHash(tokenHash) != null);
  }

  /** Charges the limit of an unknown client's address, or throws {@link RefusedException}. */
  void admitStranger(@Nullable SocketAddress peer) {
    Quota quota = perAddress;
    long waitSeconds = quota == null ? 0 : spent(ofStrangers, REQUESTS_PER_ADDRESS, quota, peer);
    if (waitSeconds > 0) {
      refusals.throttled.increment();
      throw RefusedException.tooManyRequests(
          "too many requests from this address without a known token; wait, or send a token",
          waitSeconds);
    }
  }

  Caller stranger(String door, @Nullable SocketAddress peer) {
    return Caller.unknown(address(peer), strange(door, peer));
  }

  private Watch strange(String door, @Nullable SocketAddress peer) {
    return new Watch(
        (caller, why) -> {
          if (caller.kind() == Caller.CallerKind.ANYBODY) {
            refusals.forbidden.increment();
            noteStranger(caller, door, peer, why);
          } else {
            missing(caller, door, peer, why);
          }
        },
        () -> admitStranger(peer));
  }

  private Caller granted(
      Grant grant,
      Caller.CallerKind kind,
      String door,
      @Nullable SocketAddress peer,
      List<Noted> acts) {
    admit(grant, kind);
    Watch watch =
        new Watch((caller, why) -> forbidden(caller, door, why), () -> admit(grant, kind));
    return Caller.of(grant, kind, address(peer), watch).about(acts);
  }

  private static String id(Caller.CallerKind kind, String name) {
    return kind + " " + name;
  }

  /** Counts a refusal, and records it unless the caller has too many refusals. */
  private void forbidden(Caller caller, String door, String why) {
    refusals.forbidden.increment();
    Transaction one = Transaction.of(NOTED_PER_CALLER, NOTED, id(caller.kind(), caller.name()));
    if (!ofGrants.spend(one).denied()) {
      noteRefused(caller, door, "authorize", why);
    }
  }

  /** Counts a request without a token; audits it unless its address sent too many of them. */
  private void missing(Caller caller, String door, @Nullable SocketAddress peer, String why) {
    refusals.unauthenticated.increment();
    noteStranger(caller, door, peer, why);
  }

  private void noteStranger(Caller caller, String door, @Nullable SocketAddress peer, String why) {
    if (!caller.acts().isEmpty() && spent(ofAddresses, NOTED_PER_ADDRESS, NOTED, peer) == 0) {
      audit.refused(caller, door, why);
    }
  }

  private void noteRefused(Caller caller, String door, String otherwise, String why) {
    audit.refused(
        caller.acts().isEmpty() ? caller.about(List.of(Noted.of(otherwise))) : caller, door, why);
  }

  /** Charges a request to a token's limit; a certificate with the same name has its own bucket. */
  private void admit(Grant grant, Caller.CallerKind kind) {
    Quota quota = grant.requests();
    if (quota == null) {
      return;
    }
    Decision decision =
        ofGrants.spend(Transaction.of(REQUESTS_PER_TOKEN, quota, id(kind, grant.name())));
    if (decision.denied()) {
      refusals.throttled.increment();
      throw RefusedException.tooManyRequests(
          "%s sends more requests than its line in the tokens file allows".formatted(grant.name()),
          decision.retryAfterSeconds());
    }
  }

  /** Returns a failed authentication's exception: a 429 after many failures from one address. */
  RefusedException failed(String door, @Nullable SocketAddress peer, String why, List<Noted> acts) {
    return failed(door, peer, why, why, acts);
  }

  /**
   * Returns the failure with the message {@code why}; the audit log records {@code noted} instead.
   */
  private RefusedException failed(
      String door, @Nullable SocketAddress peer, String why, String noted, List<Noted> acts) {
    refusals.unauthenticated.increment();
    long retryAfterSeconds = spent(ofAddresses, FAILURES_PER_ADDRESS, FAILURES, peer);
    if (retryAfterSeconds > 0) {
      refusals.throttled.increment();
      return RefusedException.tooManyRequests(
          "this address has sent too many unknown tokens", retryAfterSeconds);
    }
    noteRefused(Caller.unknown(address(peer), Watch.NONE).about(acts), door, "authenticate", noted);
    return RefusedException.unauthenticated(why);
  }

  /**
   * Charges one request to the bucket of an address. Returns 0 if the request is admitted, else the
   * seconds to wait. While the store of the addresses' buckets is full, an address without a bucket
   * must wait a minute.
   */
  private static long spent(
      Limiter limiter, LimitName limit, Quota quota, @Nullable SocketAddress peer) {
    try {
      Decision decision = limiter.spend(Transaction.of(limit, quota, network(peer)));
      return decision.denied() ? Math.max(1, decision.retryAfterSeconds()) : 0;
    } catch (StoreException e) {
      return FULL.toSeconds();
    }
  }

  /**
   * Requires that a caller has a permission.
   *
   * @param expected where the caller should send its token, for the error message
   * @throws RefusedException if the caller is unknown, or lacks the role
   */
  void require(Caller caller, Permission need, String expected) {
    if (need == Permission.NOTHING) {
      return;
    }
    if (caller.kind() == Caller.CallerKind.UNKNOWN) {
      String why = "the token is missing, expected " + expected;
      caller.tellRefused(why);
      throw RefusedException.unauthenticated(why);
    }
    caller.require(need);
  }

  static String address(@Nullable SocketAddress peer) {
    return peer instanceof InetSocketAddress socket && socket.getAddress() != null
        ? socket.getAddress().getHostAddress()
        : String.valueOf(peer);
  }

  /** Returns an IPv4 address, or an IPv6 address's /64 network, which usually is one client's. */
  private static String network(@Nullable SocketAddress peer) {
    if (peer instanceof InetSocketAddress socket
        && socket.getAddress() instanceof Inet6Address ip) {
      byte[] bytes = ip.getAddress();
      Arrays.fill(bytes, IPV6_NETWORK_BYTES, bytes.length, (byte) 0);
      try {
        return InetAddress.getByAddress(bytes).getHostAddress();
      } catch (UnknownHostException e) {
        throw new IllegalStateException(e); // 16 bytes are always an address
      }
    }
    return address(peer);
  }
}
