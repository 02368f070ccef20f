// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

/** Files that come with the server. Stateless. */
final class JarFiles {

  private JarFiles() {}

  /**
   * Reads a file.
   *
   * @param path as for {@link Class#getResourceAsStream}
   * @throws IllegalStateException if it is missing
   */
  static byte[] read(String path) {
    try (InputStream in = JarFiles.class.getResourceAsStream(path)) {
      if (in == null) {
        throw new IllegalStateException("the file " + path + " is missing in the server's jar");
      }
      return in.readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
