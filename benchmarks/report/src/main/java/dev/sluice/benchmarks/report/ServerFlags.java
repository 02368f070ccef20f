// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The JVM flags of a server in a benchmark or in an attack. */
public final class ServerFlags {

  /** The memory that a {@linkplain #small small} server is allowed to use, in MiB. */
  public static final int SMALL_MIB = 256;

  /**
   * The environment variables of a small server. The TLS library allocates 9 KB per connection in
   * the C heap. Without {@code MALLOC_ARENA_MAX}, glibc would use 8 arenas per processor for
   * connections, and each arena wastes memory. A fixed {@code MALLOC_TRIM_THRESHOLD_} makes glibc
   * return freed memory.
   */
  public static final Map<String, String> SMALL_ENVIRONMENT =
      Map.of("MALLOC_ARENA_MAX", "2", "MALLOC_TRIM_THRESHOLD_", "131072");

  // Before Java 24, bin/sluice passes flags with which Netty counts its direct memory itself. From
  // Java 24 on, bin/sluice passes flags that allow native access and sun.misc.Unsafe.
  private static final int NATIVE_ACCESS_FLAGS_FROM = 24;

  private ServerFlags() {}

  /**
   * Returns the flags that the launcher passes to {@code sluice serve}, and further flags.
   *
   * @param more further flags for the JVM, such as the heap size
   * @return flags for the JVM
   */
  public static List<String> asLaunched(String... more) {
    List<String> flags =
        new ArrayList<>(
            List.of(
                "-XX:+UseSerialGC",
                "-Xms16m",
                "-Dio.netty.leakDetection.level=disabled",
                "-XX:+IgnoreUnrecognizedVMOptions",
                "-XX:TrimNativeHeapInterval=10000"));
    flags.addAll(
        Runtime.version().feature() < NATIVE_ACCESS_FLAGS_FROM
            ? List.of(
                "-Dio.netty.tryReflectionSetAccessible=true",
                "--add-opens=java.base/java.nio=ALL-UNNAMED")
            : List.of(
                "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow"));
    flags.addAll(List.of(more));
    return flags;
  }

  /**
   * Returns the flags of a server that is allowed to use {@link #SMALL_MIB} MiB, with or without
   * TLS. Use these flags together with {@link #SMALL_ENVIRONMENT}.
   *
   * @return flags for the JVM
   */
  public static List<String> small() {
    return asLaunched("-Xmx60m", "-XX:MaxDirectMemorySize=20m");
  }
}
