// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.remote.RemoteStore;
import dev.sluice.store.BucketStore;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletionStage;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/**
 * A store for several processes that keeps buckets in Redis or Valkey. A script inside the server
 * decides on charges, with the server's clock, in one round trip.
 *
 * <pre>{@code
 * try (BucketStore store = RedisStore.open("redis://localhost:6379/0")) {
 *   Limiter limiter = Limiter.of(limits, store);
 *   …
 * }
 * }</pre>
 *
 * <p>A batch whose keys are on one server is atomic. A batch over several servers is also charged
 * all or nothing. While a batch over several servers is being decided, concurrent callers can be
 * denied for lack of tokens that are refunded a moment later. A batch over several servers never
 * lets callers exceed the limit. Concurrent callers share calls to the server. A charge is sent at
 * most once: if the response is lost, the charge fails, although the server may have charged the
 * buckets.
 *
 * <p>Opening the store connects and runs the script once, up to {@code connectTimeout}. If a server
 * is unreachable, the store is opened nevertheless, and its charges fail. Every charge ends at the
 * latest after the time-out. A caller that no longer needs the result cancels the future of {@link
 * #chargeAsync}, so that a batch that was not sent yet is not charged. Actions chained to a future
 * of {@code chargeAsync} run on threads that are allowed to block. Thread-safe. {@link #charge} and
 * {@link #ping} block for a round trip, and throw on the store's own threads, where they would
 * deadlock. {@link #chargeAsync} never blocks.
 */
public final class RedisStore implements BucketStore {

  private final RemoteStore remote;
  private final BiFunction<Integer, Duration, Optional<List<String>>> scan;
  private final @Nullable Presence presence;

  /**
   * Makes a store.
   *
   * @param scan lists keys within a given time, up to a given number; empty if the keys cannot be
   *     listed
   * @param presence the list of processes that use the store; null if there is none
   */
  RedisStore(
      RemoteStore remote,
      BiFunction<Integer, Duration, Optional<List<String>>> scan,
      @Nullable Presence presence) {
    this.remote = remote;
    this.scan = scan;
    this.presence = presence;
  }

  /**
   * Opens a store.
   *
   * @param address {@code redis://host:port/db}, {@code rediss://} for TLS, {@code
   *     redis-sentinel://h:p,h:p/db#master}, {@code redis-cluster://h:p,h:p} or {@code
   *     redis-ring://h:p,h:p}; with {@code user:password@} and with options, see {@link
   *     RedisStoreBuilder}
   * @return the store
   * @throws IllegalArgumentException if the address is invalid; the message says why and does not
   *     contain the password
   */
  public static RedisStore open(String address) {
    return builder(address).open();
  }

  /**
   * Returns a builder, to set further options.
   *
   * @param address the address, in the form that {@link #open} describes
   * @return a builder with the settings of the address
   * @throws IllegalArgumentException if the address is invalid; the message does not contain the
   *     password
   */
  public static RedisStoreBuilder builder(String address) {
    return new RedisStoreBuilder(StoreUri.parse(address));
  }

  @Override
  public List<Reading> charge(List<Charge> charges) {
    return remote.charge(charges);
  }

  @Override
  public List<Reading> charge(List<Charge> charges, Tentative tentative) {
    return remote.charge(charges, tentative);
  }

  @Override
  public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges) {
    return remote.chargeAsync(charges);
  }

  @Override
  public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges, Tentative tentative) {
    return remote.chargeAsync(charges, tentative);
  }

  @Override
  public BucketStore forOneCall() {
    return remote.forOneCall();
  }

  @Override
  public OptionalLong nowNanos() {
    return remote.nowNanos();
  }

  @Override
  public long clockSkewNanos() {
    return remote.clockSkewNanos();
  }

  @Override
  public void ping() {
    remote.ping();
  }

  /** Returns keys that {@code SCAN} finds, on separate connections. */
  @Override
  public Optional<List<String>> someKeys(int most, Duration longest) {
    return scan.apply(most, longest);
  }

  /**
   * Returns the list of processes; empty if the clients' clocks decide, since a Redis that is used
   * with client clocks is often shared with Boulder.
   */
  @Override
  public Optional<Presence> presence() {
    return Optional.ofNullable(presence);
  }

  /**
   * Waits up to the time-out for refunds in flight and for batches in flight over several servers,
   * then closes the connections, which fails the requests that are still in flight. If one of the
   * store's own threads calls this method, another thread closes the store, since the store's
   * threads must not wait for their own work.
   */
  @Override
  public void close() {
    remote.close();
  }

  /** Returns whether the server of a bucket has no request in flight and no pending refund. */
  boolean isIdle(String bucketKey) {
    return remote.isIdle(bucketKey);
  }

  @Override
  public String toString() {
    return remote.toString();
  }
}
