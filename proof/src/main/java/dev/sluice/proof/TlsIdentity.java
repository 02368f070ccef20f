// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.Key;
import java.security.KeyStore;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.Base64;
import java.util.concurrent.TimeUnit;

/** A self-signed certificate for localhost with its private key, made by the program keytool. */
public record TlsIdentity(X509Certificate certificate, Key key) {

  private static final String PASSWORD = "changeit";
  private static final int PEM_LINE = 64;

  /** Makes a certificate that is valid for a day. */
  public static TlsIdentity make(Folder folder)
      throws IOException, InterruptedException, GeneralSecurityException {
    return endingIn(TimeUnit.DAYS.toSeconds(1), folder);
  }

  /**
   * Makes a certificate that has been valid since yesterday and expires in {@code seconds} seconds.
   */
  public static TlsIdentity endingIn(long seconds, Folder folder)
      throws IOException, InterruptedException, GeneralSecurityException {
    Path store = Path.of(folder.file("made.p12"));
    Files.deleteIfExists(store);
    String keytool = Path.of(System.getProperty("java.home"), "bin", "keytool").toString();
    String options =
        ("-genkeypair -storepass %s -alias server -keyalg EC -groupname secp256r1 -dname CN=localhost"
                + " -ext SAN=dns:localhost,ip:127.0.0.1 -startdate -1d+%sS -validity 1 -keystore")
            .formatted(PASSWORD, seconds);
    String unused = Programs.run((keytool + " " + options + " " + store).split(" ", -1));
    KeyStore made = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(store)) {
      made.load(in, PASSWORD.toCharArray());
    }
    return new TlsIdentity(
        (X509Certificate) made.getCertificate("server"),
        made.getKey("server", PASSWORD.toCharArray()));
  }

  public Instant end() {
    return certificate.getNotAfter().toInstant();
  }

  /**
   * Writes the certificate file and the key file. {@link Folder#tls} returns the server options for
   * the certificate file and the key file.
   */
  public void install(Folder folder) throws IOException, GeneralSecurityException {
    folder.write("tls.key", pem("PRIVATE KEY", key.getEncoded()));
    folder.write("tls.crt", pem("CERTIFICATE", certificate.getEncoded()));
  }

  private static String pem(String type, byte[] der) {
    String lines =
        Base64.getMimeEncoder(PEM_LINE, "\n".getBytes(StandardCharsets.US_ASCII))
            .encodeToString(der);
    return "-----BEGIN %s-----\n%s\n-----END %s-----\n".formatted(type, lines, type);
  }
}
