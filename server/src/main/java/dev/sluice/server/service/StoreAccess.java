// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import dev.sluice.redis.RedisStore;
import dev.sluice.redis.RedisStoreBuilder;
import dev.sluice.text.PercentEncoding;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The address of a store, and the passwords that it needs if they do not stand in it. Immutable;
 * {@link #toString} shows no password.
 */
public final class StoreAccess {

  /** Scheme, user (and perhaps password) before the "@", and the rest. */
  private static final Pattern WITH_USER = Pattern.compile("([a-zA-Z-]+://)([^/?#]*)@(.*)");

  private static final Pattern SENTINEL_USER = Pattern.compile("[?&]sentinelUser=([^&#]*)");
  private static final String DEFAULT_USER = "default";

  private final String address;
  private final @Nullable String password;
  private final @Nullable String sentinelPassword;

  private StoreAccess(
      String address, @Nullable String password, @Nullable String sentinelPassword) {
    this.address = address;
    this.password = password;
    this.sentinelPassword = sentinelPassword;
  }

  /**
   * Returns an address without passwords besides it.
   *
   * @param address {@code memory}, or the URI of a {@link RedisStore}
   * @return the address
   */
  public static StoreAccess of(String address) {
    return new StoreAccess(address, null, null);
  }

  /**
   * Returns a copy with the password of the store. The user stands in the address, {@code
   * redis://app@host}; without one it is {@code default}.
   *
   * @param newPassword the password; null for that in the address, or none
   * @return a copy
   */
  public StoreAccess withPassword(@Nullable String newPassword) {
    return new StoreAccess(address, newPassword, sentinelPassword);
  }

  /**
   * Returns a copy with the password of the Sentinels. Their user is the option {@code
   * sentinelUser} of the address; without it, {@code default}.
   *
   * @param newPassword the password; null for that in the address, or none
   * @return a copy
   */
  public StoreAccess withSentinelPassword(@Nullable String newPassword) {
    return new StoreAccess(address, password, newPassword);
  }

  /**
   * Whether the buckets live in this process.
   *
   * @return false for every other store
   */
  public boolean isMemory() {
    return address.equals(Stores.MEMORY);
  }

  /**
   * Whether Sentinels are asked for the store.
   *
   * @return false for every other store
   */
  public boolean isSentinel() {
    return address.startsWith("redis-sentinel:");
  }

  String address() {
    return address;
  }

  RedisStoreBuilder builder() {
    RedisStoreBuilder builder;
    if (password == null) {
      builder = RedisStore.builder(address);
    } else {
      Matcher withUser = WITH_USER.matcher(address);
      boolean there = withUser.matches();
      builder = RedisStore.builder(there ? withUser.group(1) + withUser.group(3) : address);
      builder.credentials(there ? user(withUser.group(2)) : DEFAULT_USER, password);
    }
    if (sentinelPassword != null) {
      if (address.contains("sentinelPassword=")) {
        throw twice();
      }
      Matcher user = SENTINEL_USER.matcher(address);
      builder
          .sentinelUser(user.find() ? PercentEncoding.decode(user.group(1)) : DEFAULT_USER)
          .sentinelPassword(sentinelPassword);
    }
    return builder;
  }

  private static String user(String userInfo) {
    int colon = userInfo.indexOf(':');
    if (colon >= 0 && colon < userInfo.length() - 1) {
      throw twice();
    }
    return PercentEncoding.decode(colon < 0 ? userInfo : userInfo.substring(0, colon));
  }

  private static IllegalArgumentException twice() {
    return new IllegalArgumentException(
        "found a password in the address and one besides it, expected one of the two");
  }

  /** Without user, passwords and options. */
  @Override
  public String toString() {
    return Stores.shown(address);
  }
}
