// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Random;

/**
 * Writes a log in the combined format with known properties: the number of lines, the number of
 * clients, and the share of the requests that the first client sends.
 */
final class AccessLogGenerator {

  private static final int DAY = 86_400;

  private AccessLogGenerator() {}

  /**
   * Writes a log.
   *
   * @param args the file, the number of lines, the number of clients, and the share of the first
   *     client in percent
   */
  public static void main(String[] args) throws IOException {
    long lines = Long.parseLong(args[1]);
    int clients = Integer.parseInt(args[2]);
    int share = Integer.parseInt(args[3]);
    Random random = new Random(1);
    try (OutputStream out =
        new BufferedOutputStream(Files.newOutputStream(Path.of(args[0])), 1 << 16)) {
      for (long i = 0; i < lines; i++) {
        long second = i * DAY / lines;
        int client =
            lines == clients ? (int) i : random.nextInt(100) < share ? 0 : random.nextInt(clients);
        String line =
            String.format(
                Locale.ROOT,
                "10.%d.%d.%d - - [26/Nov/2026:%02d:%02d:%02d +0100] \"GET /items/%d?page=%d HTTP/1.1\" 200"
                    + " %d \"https://example.com/\" \"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36\"\n",
                client >> 16,
                client >> 8 & 255,
                client & 255,
                second / 3600,
                second / 60 % 60,
                second % 60,
                random.nextInt(10_000),
                random.nextInt(10),
                random.nextInt(100_000));
        out.write(line.getBytes(StandardCharsets.US_ASCII));
      }
    }
  }
}
