// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;

/**
 * An authority and what it vouches for, made by the JDK's own keytool, as files in PEM. Not
 * thread-safe.
 */
final class Certificates {

  private static final String PASSWORD = "changeit";

  private final Path folder;
  private final String authority;

  /**
   * Makes an authority.
   *
   * @param folder where its files are kept, as are those of all certificates
   */
  Certificates(Path folder, String authority) {
    this.folder = folder;
    this.authority = authority;
    keytool(authority, "-genkeypair -keyalg EC -dname CN=" + authority + " -ext bc:c");
    keytool(authority, "-exportcert -rfc -file " + pem());
  }

  private Path file(String name) {
    return folder.resolve(name);
  }

  /** Its own certificate. */
  Path pem() {
    return file(authority + ".pem");
  }

  /** Makes a certificate and its key, {@code name.pem} and {@code name.key}. */
  void issue(String name, String subjectAlternativeName) {
    keytool(name, "-genkeypair -keyalg EC -dname CN=" + name);
    keytool(name, "-certreq -file " + file(name + ".csr"));
    keytool(
        authority,
        "-gencert -rfc -infile %s -outfile %s -ext san=%s"
            .formatted(file(name + ".csr"), pem(name), subjectAlternativeName));
    try {
      KeyStore store = KeyStore.getInstance(file(name + ".p12").toFile(), PASSWORD.toCharArray());
      byte[] key = store.getKey(name, PASSWORD.toCharArray()).getEncoded();
      Files.writeString(
          key(name),
          "-----BEGIN PRIVATE KEY-----\n"
              + Base64.getMimeEncoder(64, "\n".getBytes(StandardCharsets.US_ASCII))
                  .encodeToString(key)
              + "\n-----END PRIVATE KEY-----\n");
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException(e);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  Path pem(String name) {
    return file(name + ".pem");
  }

  Path key(String name) {
    return file(name + ".key");
  }

  private void keytool(String alias, String command) {
    List<String> words =
        new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "keytool") + ""));
    words.addAll(List.of(command.split(" ")));
    words.addAll(
        List.of("-alias", alias, "-keystore", file(alias + ".p12") + "", "-storepass", PASSWORD));
    try {
      Path log = file(alias + ".log");
      int code =
          new ProcessBuilder(words)
              .redirectErrorStream(true)
              .redirectOutput(log.toFile())
              .start()
              .waitFor();
      if (code != 0) {
        throw new IllegalStateException(words + ": " + Files.readString(log));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }
}
