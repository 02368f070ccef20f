// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.internal.async.Stages;
import dev.sluice.remote.StoreContext;
import dev.sluice.remote.Topology;
import dev.sluice.store.BucketStore.Presence;
import dev.sluice.store.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;

/**
 * The list of processes that use a store, in one key of Redis. The value has a line for each
 * process: the time at which the process leaves the list, in milliseconds since the epoch, and its
 * name. The Redis key that contains the list of processes expires at the time in the line that was
 * written last. A line with a time more than a minute ahead is wrong, for example because the
 * server's clock was set back, and is removed. Reading and writing the list needs only commands
 * that the bucket script also needs, so the ACL for the buckets is sufficient.
 */
final class Roll implements Presence {

  /** A bucket key that no bucket uses, since no limit has the number 0. */
  private static final String KEY = "0:servers";

  private static final Duration LONGEST = Duration.ofMinutes(1);

  static final String SOURCE =
      """
      local time = redis.call('TIME')
      local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
      local lasts = tonumber(ARGV[2])
      local lines, names = {}, {}
      for line in string.gmatch(redis.call('GET', KEYS[1]) or '', '[^\\n]+') do
        local ends, name = string.match(line, '^(%d+) (.*)$')
        ends = tonumber(ends)
        if ends and ends > now and ends <= now + LONGEST and name ~= ARGV[1] then
          lines[#lines + 1] = line
          names[#names + 1] = name
        end
      end
      if lasts > 0 then
        lines[#lines + 1] = string.format('%d %s', now + lasts, ARGV[1])
        names[#names + 1] = ARGV[1]
        redis.call('SET', KEYS[1], table.concat(lines, '\\n'), 'PX', lasts)
      elseif #lines > 0 then
        redis.call('SET', KEYS[1], table.concat(lines, '\\n'), 'KEEPTTL')
      else
        redis.call('DEL', KEYS[1])
      end
      return names
      """
          .replace("LONGEST", String.valueOf(LONGEST.toMillis()));

  private final String store;
  private final Servers servers;
  private final StoreContext context;

  Roll(String store, Servers servers, StoreContext context) {
    this.store = store;
    this.servers = servers;
    this.context = context;
  }

  /** The servers of a store, each of which can keep the list of processes. */
  interface Servers extends Topology {

    /**
     * Adds a process to the list of processes on every server that keeps such a list.
     *
     * @return the names of the processes on the lists of all servers that responded; fails if no
     *     server responded
     */
    CompletionStage<List<String>> announce(byte[] key, String process, Duration time);
  }

  @Override
  public List<String> announce(String process, Duration time) {
    if (process.indexOf('\n') >= 0) {
      throw new IllegalArgumentException("found a line break in the name of a process: " + process);
    }
    if (time.compareTo(LONGEST) > 0) {
      throw new IllegalArgumentException(
          "found the time %s, expected at most %s".formatted(time, LONGEST));
    }
    try {
      return context
          .timing()
          .await(
              servers.announce(context.key(KEY), process, time).toCompletableFuture(),
              2 * context.timeoutNanos());
    } catch (ExecutionException e) {
      Throwable cause = Stages.cause(e.getCause() == null ? e : e.getCause());
      throw cause instanceof TimeoutException
          ? timedOut(cause)
          : new StoreException(
              "%s: the list of processes cannot be read: %s"
                  .formatted(store, ServerFault.of(cause).words()),
              cause);
    } catch (TimeoutException e) {
      throw timedOut(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new StoreException("interrupted while waiting for " + store, e);
    }
  }

  private StoreException timedOut(Throwable cause) {
    return new StoreException("timed out on " + store, cause);
  }
}
