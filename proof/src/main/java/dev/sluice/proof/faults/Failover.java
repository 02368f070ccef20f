// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.faults;

import dev.sluice.proof.BrokenPromise;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.LocalSentinel;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/*
 * Sentinel promotes the replica, and then checks once a second whether the replica is a master.
 * Only after this check does Sentinel tell clients the address of the new master. This class
 * therefore measures how long clients call the old master after the promotion, and after Sentinel
 * has told the new address. After the promotion, the new master can grant the same tokens as the
 * old master. The promise covers only the time after Sentinel has told the new address.
 */

/**
 * The measurements of a planned failover under load. The times are measured at the servers, not at
 * the clients.
 *
 * @param afterPromotionMillis how long the old master still received calls after the promotion
 * @param afterNameMillis how long the old master still received calls after Sentinel had reported
 *     the new master
 */
record Failover(long afterPromotionMillis, long afterNameMillis) {

  private static final Pattern SCRIPT_CALLS = Pattern.compile("cmdstat_evalsha:calls=(\\d+)");
  private static final int LOADED_CALLS = 500;
  private static final long LOADED_WITHIN_NANOS = TimeUnit.SECONDS.toNanos(60);
  private static final long WATCHED_NANOS = TimeUnit.SECONDS.toNanos(4);
  private static final int LOOK_EVERY_MILLIS = 5;

  static Failover of(LocalSentinel group) throws InterruptedException, BrokenPromise {
    awaitOrBreak(() -> scriptCalls(group.first()) > LOADED_CALLS, "the load did not begin");
    group.failOver();
    awaitOrBreak(() -> isMaster(group.second()), "the replica was not promoted");
    long promoted = System.nanoTime();
    long named = 0;
    long last = promoted;
    long calls = scriptCalls(group.first());
    for (long now = promoted; now - promoted < WATCHED_NANOS; now = System.nanoTime()) {
      if (named == 0 && isNamed(group)) {
        named = now;
      }
      long callsNow = scriptCalls(group.first());
      if (callsNow != calls) {
        calls = callsNow;
        last = System.nanoTime();
      }
      TimeUnit.MILLISECONDS.sleep(LOOK_EVERY_MILLIS);
    }
    if (named == 0 || scriptCalls(group.second()) == 0) {
      throw new BrokenPromise("no client calls the new master");
    }
    return new Failover(millis(last - promoted), millis(Math.max(last - named, 0)));
  }

  private static long millis(long nanos) {
    return TimeUnit.NANOSECONDS.toMillis(nanos);
  }

  private static void awaitOrBreak(BooleanSupplier condition, String otherwise)
      throws InterruptedException, BrokenPromise {
    long start = System.nanoTime();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - start > LOADED_WITHIN_NANOS) {
        throw new BrokenPromise(otherwise);
      }
      TimeUnit.MILLISECONDS.sleep(LOOK_EVERY_MILLIS);
    }
  }

  private static boolean isMaster(LocalRedis server) {
    try {
      return server.command("ROLE") instanceof List<?> role && role.get(0).equals("master");
    } catch (IllegalStateException e) {
      return false; // Redis closes this connection when Sentinel promotes the server
    }
  }

  private static boolean isNamed(LocalSentinel group) {
    Object address = group.sentinel().command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster");
    return address instanceof List<?> parts
        && parts.get(1).equals(String.valueOf(group.second().port()));
  }

  private static long scriptCalls(LocalRedis server) {
    Matcher calls = SCRIPT_CALLS.matcher(String.valueOf(server.command("INFO", "commandstats")));
    return calls.find() ? Long.parseLong(calls.group(1)) : 0;
  }
}
