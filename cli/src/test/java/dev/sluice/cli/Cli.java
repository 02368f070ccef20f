// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;

/** What one command did: its exit code, and what it wrote. */
record Cli(int code, String out, String err) {

  static Cli run(String... args) {
    return runWith(new byte[0], args);
  }

  static Cli runWith(byte[] in, String... args) {
    return runWith(new ByteArrayInputStream(in), args);
  }

  static Cli runWith(InputStream in, String... args) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    ByteArrayOutputStream err = new ByteArrayOutputStream();
    int code = Main.run(in, out, err, args);
    return new Cli(
        code, out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8));
  }
}
