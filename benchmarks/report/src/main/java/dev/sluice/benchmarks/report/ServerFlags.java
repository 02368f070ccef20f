// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The flags of the JVM under a server that is measured or attacked. Stateless. */
public final class ServerFlags {

  /** What a {@linkplain #small small} server may hold of the machine's memory, in MiB. */
  public static final int SMALL_MIB = 256;

  /**
   * The environment of such a server. The library for TLS keeps 9 KB for each connection in the C
   * heap, and glibc would spread them over 8 arenas for each processor, with gaps in each.
   */
  public static final Map<String, String> SMALL_ENVIRONMENT = Map.of("MALLOC_ARENA_MAX", "2");

  private static final int OWN_COUNT_UNTIL = 24; // as in the launcher

  private ServerFlags() {}

  /**
   * Returns what the launcher gives to {@code sluice serve}, and more.
   *
   * @param more such as the size of the heap
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
        Runtime.version().feature() < OWN_COUNT_UNTIL
            ? List.of(
                "-Dio.netty.tryReflectionSetAccessible=true",
                "--add-opens=java.base/java.nio=ALL-UNNAMED")
            : List.of(
                "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow"));
    flags.addAll(List.of(more));
    return flags;
  }

  /**
   * Returns the flags of a server on a machine that has {@link #SMALL_MIB} for it, with or without
   * TLS. {@link #SMALL_ENVIRONMENT} belongs to it.
   *
   * @return flags for the JVM
   */
  public static List<String> small() {
    return asLaunched("-Xmx60m", "-XX:MaxDirectMemorySize=20m");
  }
}
