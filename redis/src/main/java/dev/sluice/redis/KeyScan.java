// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.redis.StoreUri.Host;
import dev.sluice.redis.StoreUri.Kind;
import dev.sluice.store.StoreException;
import io.lettuce.core.KeyScanCursor;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScanArgs;
import io.lettuce.core.ScanCursor;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Reads keys of a store with {@code SCAN}, on separate connections. Use a new {@code KeyScan} for
 * each scan. Blocks; not thread-safe.
 */
final class KeyScan {

  /**
   * The number of keys that a server scans in one step. While a step of the scan runs, the server
   * makes no decisions.
   */
  private static final int STEP = 500;

  private static final Pattern SPECIAL = Pattern.compile("[*?\\[\\]^\\\\-]");

  private final StoreUri uri;
  private final Keys keys;
  private final Clients clients;
  private final int most;
  private final long longestNanos;
  private final ScanArgs step;
  private final long startNanos = System.nanoTime();
  private final Set<String> found = new LinkedHashSet<>();

  private KeyScan(StoreUri uri, RedisOptions options, int most, Duration longest) {
    this.uri = uri;
    this.keys = options.keys();
    this.clients = new Clients(uri, options);
    this.most = most;
    this.longestNanos = longest.toNanos();
    String prefix = SPECIAL.matcher(keys.prefix()).replaceAll("\\\\$0");
    this.step = new ScanArgs().match((prefix + "*").getBytes(StandardCharsets.UTF_8)).limit(STEP);
  }

  /**
   * Returns keys of a store.
   *
   * @throws StoreException if a server does not respond or does not allow {@code SCAN}
   */
  static List<String> keys(StoreUri uri, RedisOptions options, int most, Duration longest) {
    KeyScan scan = new KeyScan(uri, options, most, longest);
    try {
      if (uri.kind() == Kind.CLUSTER) {
        scan.cluster();
      } else {
        scan.servers();
      }
    } catch (RedisException e) {
      throw new StoreException(
          "%s: the keys cannot be listed: %s".formatted(uri, ServerFault.of(e).words()), e);
    } finally {
      scan.clients.close();
    }
    return List.copyOf(scan.found);
  }

  private void cluster() {
    RedisClusterClient client = clients.clusterClient();
    try (StatefulRedisClusterConnection<byte[], byte[]> open =
        client.connect(ByteArrayCodec.INSTANCE)) {
      scan(open.sync()::scan);
    } finally {
      Clients.close(client);
    }
  }

  private void servers() {
    List<RedisURI> servers = new ArrayList<>();
    if (uri.kind() == Kind.SENTINEL) {
      servers.add(clients.sentinel(0));
    } else {
      for (Host host : uri.hosts()) {
        servers.add(clients.server(host));
      }
    }
    RedisClient client = clients.client();
    try {
      for (RedisURI server : servers) {
        try (StatefulRedisConnection<byte[], byte[]> open =
            client.connect(ByteArrayCodec.INSTANCE, server)) {
          scan(open.sync()::scan);
        }
      }
    } finally {
      Clients.close(client);
    }
  }

  private interface Scan {
    KeyScanCursor<byte[]> next(ScanCursor from, ScanArgs step);
  }

  private void scan(Scan scan) {
    ScanCursor cursor = ScanCursor.INITIAL;
    while (!cursor.isFinished()
        && found.size() < most
        && System.nanoTime() - startNanos < longestNanos) {
      KeyScanCursor<byte[]> next = scan.next(cursor, step);
      for (byte[] key : next.getKeys()) {
        String text = keys.text(key);
        if (text != null && found.size() < most) {
          found.add(text);
        }
      }
      cursor = next;
    }
  }
}
