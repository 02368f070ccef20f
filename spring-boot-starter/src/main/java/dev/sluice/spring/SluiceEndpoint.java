// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.SafeText;
import dev.sluice.internal.text.Suggestion;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.IpAddress;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.Selector.Match;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;

/** Shows the limits and one bucket. This endpoint blocks if the store blocks. */
@Endpoint(id = "sluice")
class SluiceEndpoint {

  private static final String SUPPLIED = "supplied by the application";
  private static final Quota ANY = Quota.per(1, Duration.ofSeconds(1));
  private static final int MOST_NAMES = 100;

  private final Limiter limiter;
  private final SuppliedQuotas quotas;
  private final int ipv6Prefix;

  /** Makes an endpoint for limits whose filter groups IPv6 addresses by their first bits. */
  SluiceEndpoint(Limiter limiter, SuppliedQuotas quotas, int ipv6Prefix) {
    this.limiter = limiter;
    this.quotas = quotas;
    this.ipv6Prefix = ipv6Prefix;
  }

  Limiter limiter() {
    return limiter;
  }

  /** Returns all configured limits, and the limits whose quotas the application supplies. */
  @ReadOperation
  Map<String, Object> limits() {
    Limits limits = limiter.limits().get();
    Map<String, Map<String, Object>> shown = new LinkedHashMap<>();
    for (LimitName name : limits.configured()) {
      Map<String, Object> limit = new LinkedHashMap<>();
      limit.put("id", name.id().name());
      putQuotas(limits.defaultsFor(name), limit);
      limit.put("coverage", limits.coverage(name).name());
      limit.put("overrides", limits.overridesOf(name).size());
      shown.put(name.name(), limit);
    }
    for (Transaction latest : quotas.latest()) {
      LimitName name = latest.name();
      shown
          .computeIfAbsent(
              name.name(), limit -> new LinkedHashMap<>(Map.of("id", name.id().name())))
          .put("quota", SUPPLIED);
    }
    return Map.of("limits", shown);
  }

  /**
   * Returns the state of one bucket, without spending from it.
   *
   * @param path the limit's name, and the id, which can contain slashes
   */
  @ReadOperation
  WebEndpointResponse<Map<String, Object>> bucket(
      @Selector(match = Match.ALL_REMAINING) String[] path) {
    String unknown = unknown(path);
    if (unknown != null) {
      return notFound(unknown);
    }
    try {
      Transaction bucket = bucketOf(path);
      Transaction latest = quotas.latest(bucket);
      if (latest == null && bucket.supplied()) {
        return notFound(
            "this process has not seen the id %s of %s, whose quotas the application supplies"
                .formatted(bucket.id(), bucket.name()));
      }
      Decision decision = limiter.check((latest == null ? bucket : latest).withCost(0));
      Map<String, Object> shown = new LinkedHashMap<>();
      shown.put("limit", path[0]);
      shown.put("id", id(path));
      Transaction transaction = decision.transaction();
      putQuota(transaction == null ? null : transaction.quota(), shown);
      if (!decision.quotas().isEmpty()) {
        shown.put("quotas", decision.quotas().stream().map(SluiceEndpoint::shown).toList());
      }
      if (latest != null) {
        shown.put("quota", SUPPLIED);
      }
      shown.put("limited", decision.limited());
      if (decision.degraded()) {
        shown.put("decidedBy", decision.decidedBy().word());
      }
      if (decision.limited() && decision.decidedBy().knowsBucket()) {
        shown.put("remaining", decision.remaining());
        shown.put("resetIn", decision.resetIn().toString());
      }
      String note = note(bucket);
      if (note != null) {
        shown.put("note", note);
      }
      return new WebEndpointResponse<>(shown);
    } catch (InvalidRequestException e) {
      return bad(e);
    }
  }

  /**
   * Returns a note for an IPv6 address that is not the lowest of its group, since the filter counts
   * the address in another bucket; null for any other id.
   */
  @Nullable String note(Transaction bucket) {
    if (!bucket.name().id().equals(IdFormat.ipAddress())) {
      return null;
    }
    IpAddress address = IpAddress.parse(bucket.id());
    if (address == null || address.isIpv4() || ipv6Prefix < 1 || ipv6Prefix > 128) {
      return null;
    }
    IpAddress counted = address.prefix(ipv6Prefix);
    return counted.equals(address)
        ? null
        : "this is not the bucket of \"id: ip\", which counts %s as %s".formatted(address, counted);
  }

  /**
   * Returns a transaction on a bucket. If only the application knows the quota of the bucket, the
   * transaction has an arbitrary quota.
   */
  private Transaction bucketOf(String[] path) {
    Transaction any = any(path);
    Limits limits = limiter.limits().get();
    if (limits.catalogue().find(path[0]) == null) {
      return any;
    }
    Transaction own = limiter.transaction(path[0], id(path));
    return own.coverage().isMissing() && quotas.latest(path[0]) != null ? any : own;
  }

  private Transaction any(String[] path) {
    return Transaction.of(Objects.requireNonNull(name(path[0])), ANY, id(path));
  }

  /**
   * Returns a limit that is configured or whose quotas the application supplies; null for any other
   * limit.
   */
  private @Nullable LimitName name(String limit) {
    LimitName known = limiter.limits().get().catalogue().find(limit);
    Transaction supplied = quotas.latest(limit);
    return known == null && supplied != null ? supplied.name() : known;
  }

  /**
   * Returns a transaction that resets the bucket of each quota. If no quota is known, the
   * transaction has an arbitrary quota.
   */
  Transaction resetOf(String[] path) {
    Transaction bucket = bucketOf(path);
    Transaction latest = quotas.latest(bucket);
    Transaction known = latest == null ? bucket : latest;
    return (known.quota() == null ? any(path) : known).resetOnly();
  }

  /** Returns what is wrong with a path that names no bucket; null if the path names a bucket. */
  @Nullable String unknown(String[] path) {
    LimitName name = name(path[0]);
    if (name == null) {
      List<String> names =
          Stream.concat(
                  limiter.limits().get().configured().stream(),
                  quotas.latest().stream().map(Transaction::name))
              .map(LimitName::name)
              .distinct()
              .sorted()
              .toList();
      return "no limit has the name %s, expected one of %s%s%s"
          .formatted(
              SafeText.quote(path[0]),
              names.stream().limit(MOST_NAMES).collect(Collectors.joining(", ")),
              names.size() > MOST_NAMES ? " and %s more".formatted(names.size() - MOST_NAMES) : "",
              Suggestion.didYouMean(path[0], names));
    }
    return path.length > 1
        ? null
        : "found no id after %s, expected one of the form %s".formatted(name, name.id().name());
  }

  static String id(String[] path) {
    return String.join("/", Arrays.copyOfRange(path, 1, path.length));
  }

  static WebEndpointResponse<Map<String, Object>> notFound(String message) {
    return error(message, WebEndpointResponse.STATUS_NOT_FOUND);
  }

  static WebEndpointResponse<Map<String, Object>> bad(InvalidRequestException failure) {
    return error(String.valueOf(failure.getMessage()), WebEndpointResponse.STATUS_BAD_REQUEST);
  }

  /**
   * Returns an error response instead of throwing an exception, which the application's advices
   * could handle.
   */
  private static WebEndpointResponse<Map<String, Object>> error(String message, int status) {
    return new WebEndpointResponse<>(Map.of("error", message), status);
  }

  private static void putQuotas(List<Quota> quotas, Map<String, Object> shown) {
    putQuota(quotas.isEmpty() ? null : quotas.get(0), shown);
    if (quotas.size() > 1) {
      List<Map<String, Object>> each = new ArrayList<>();
      for (Quota quota : quotas) {
        Map<String, Object> one = new LinkedHashMap<>();
        putQuota(quota, one);
        each.add(one);
      }
      shown.put("quotas", each);
    }
  }

  private static Map<String, Object> shown(Decision ofOneQuota) {
    Map<String, Object> shown = new LinkedHashMap<>();
    Transaction transaction = ofOneQuota.transaction();
    putQuota(transaction == null ? null : transaction.quota(), shown);
    shown.put("remaining", ofOneQuota.remaining());
    shown.put("resetIn", ofOneQuota.resetIn().toString());
    return shown;
  }

  private static void putQuota(@Nullable Quota quota, Map<String, Object> shown) {
    if (quota != null) {
      shown.put("burst", quota.burst());
      shown.put("count", quota.count());
      shown.put("period", quota.period().toString());
    }
  }

  /** An endpoint that can also reset buckets, if {@code sluice.endpoint.reset} allows it. */
  @Endpoint(id = "sluice")
  static final class Resetting extends SluiceEndpoint {

    Resetting(Limiter limiter, SuppliedQuotas quotas, int ipv6Prefix) {
      super(limiter, quotas, ipv6Prefix);
    }

    @DeleteOperation
    WebEndpointResponse<Map<String, Object>> reset(
        @Selector(match = Match.ALL_REMAINING) String[] path) {
      String unknown = unknown(path);
      if (unknown != null) {
        return notFound(unknown);
      }
      try {
        Transaction reset = resetOf(path);
        limiter().reset(reset);
        String note = note(reset);
        return note == null
            ? new WebEndpointResponse<>(WebEndpointResponse.STATUS_NO_CONTENT)
            : new WebEndpointResponse<>(Map.of("note", note));
      } catch (InvalidRequestException e) {
        return bad(e);
      }
    }
  }
}
