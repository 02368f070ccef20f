// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.server;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;

/**
 * A load of HTTP requests, sent by the program wrk with one thread, 32 connections, and one request
 * in flight on each connection.
 *
 * @param script the Lua script that creates the requests
 * @param what the kind of request, {@code spend} or {@code forward-auth}
 */
record WrkLoad(int port, Path script, String what) implements Load {

  private static final double MICROS = 1e6;

  @Override
  public Sent run(double seconds) throws IOException, InterruptedException {
    String printed =
        Program.run(
            Map.of("SLUICE_BENCH", what),
            "wrk",
            "-t1",
            "-c32",
            "-d" + Math.max(1, Math.round(seconds)) + "s",
            "-s",
            script.toString(),
            "http://127.0.0.1:" + port);
    String figure = "figure (?:\\d+ ){%d}(\\d+)";
    if (Load.number(printed, figure.formatted(5)) > 0) {
      throw new IOException("requests failed:\n" + printed);
    }
    return new Sent(
        (long) Load.number(printed, figure.formatted(0)),
        Load.number(printed, figure.formatted(1)) / MICROS,
        Load.number(printed, figure.formatted(2)),
        Load.number(printed, figure.formatted(3)),
        Load.number(printed, figure.formatted(4)));
  }
}
