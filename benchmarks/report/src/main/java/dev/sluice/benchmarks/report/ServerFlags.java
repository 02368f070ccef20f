// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.report;

import java.util.ArrayList;
import java.util.List;

/** The flags of the JVM under a server that is measured or attacked. Stateless. */
public final class ServerFlags {

  /** What a {@linkplain #small small} server may hold of the machine's memory, in MiB. */
  public static final int SMALL_MIB = 256;

  /** The same over TLS, whose library keeps its connections beside the heap: 9 KB each. */
  public static final int SMALL_TLS_MIB = 288;

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
   * Returns the flags of a server on a machine that has {@link #SMALL_MIB} for it, or {@link
   * #SMALL_TLS_MIB} over TLS.
   *
   * @return flags for the JVM
   */
  public static List<String> small() {
    return asLaunched("-Xmx72m", "-XX:MaxDirectMemorySize=24m");
  }
}
