// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limiter;
import dev.sluice.server.net.HostPort;
import dev.sluice.server.service.ServerConfig;
import dev.sluice.server.service.ServerConfig.Control;
import dev.sluice.server.service.ServerConfig.Doors;
import dev.sluice.server.service.ServerConfig.Http;
import dev.sluice.server.service.ServerConfig.Sources;
import dev.sluice.server.service.ServerConfig.Storage;
import dev.sluice.server.service.ServerConfig.Telemetry;
import dev.sluice.server.service.Service;
import dev.sluice.server.service.StoreAccess;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import dev.sluice.yaml.LimitFiles;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a dry run of a reload finds in a store that can list its buckets. */
@Tag("slow")
class DryRunOnRedisTest {

  private static final String LIMITS =
      "CallsPerId: {id: string, burst: 20, count: 20, period: 1h}\n";

  /** The first calls of a JVM take long. */
  private static final String STORE = "?prefix=shop:&timeout=10s&connectTimeout=10s";

  @TempDir private Path folder;

  private String dryRun(LocalRedis redis, String after) throws IOException {
    Path limits = Files.writeString(folder.resolve("limits.yml"), LIMITS);
    try (Service service =
            Service.start(
                new ServerConfig(
                    Doors.of(Http.on(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))),
                    Sources.of(new ServerConfig.Files(limits, null, null, null)),
                    Storage.in(StoreAccess.of(redis.uri() + STORE)),
                    Control.NONE,
                    Telemetry.NONE));
        End end = new End(service)) {
      Files.writeString(limits, after);
      String url = "http://" + HostPort.format(service.addresses().get(0));
      // After a rollback, the server does not apply the files by itself.
      assertThat(Cli.run("reload", "--server", url).code()).isEqualTo(Exit.DONE);
      assertThat(Cli.run("rollback", "--server", url).code()).isEqualTo(Exit.DONE);
      return Cli.run("reload", "--dry-run", "--server", url).err();
    }
  }

  @Test
  void idsThatWouldBeDenied_areCounted_andNamed() throws IOException {
    try (LocalRedis redis = LocalRedis.start(RedisBinary.bundled())) {
      Path limits = Files.writeString(folder.resolve("limits.yml"), LIMITS);
      try (BucketStore store =
          StoreAccess.Stores.openForOneAct(StoreAccess.of(redis.uri() + STORE))) {
        Limiter limiter = Limiter.of(LimitFiles.builder().defaults(limits).build().load(), store);
        for (int i = 0; i < 300; i++) {
          assertThat(limiter.spend("CallsPerId", "id" + i, i < 3 ? 20 : i < 7 ? 15 : 1).allowed())
              .isTrue();
        }
      }
      redis.command("SET", "shop:another program", "x");
      assertThat(dryRun(redis, LIMITS.replace("burst: 20", "burst: 10")))
          .contains("of 300 buckets read from the store, 3 deny now, and 7 would, newly ")
          .contains("CallsPerId of id3", "CallsPerId of id6")
          .doesNotContain("CallsPerId of id2,", "CallsPerId of id7");
      assertThat(dryRun(redis, LIMITS.replace("burst: 20", "burst: 40")))
          .contains("of 300 buckets read from the store, 3 deny now, and 0 would");
    }
  }
}
