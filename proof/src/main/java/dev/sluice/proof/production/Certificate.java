// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.production;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.GeneralSecurityException;
import java.security.Key;
import java.security.KeyStore;
import java.security.SecureRandom;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.Base64;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** A certificate for localhost that signs itself, and its key: made by keytool. Immutable. */
record Certificate(X509Certificate leaf, Key key) {

  private static final String PASSWORD = "changeit";
  private static final int PEM_LINE = 64;

  /** Makes one that began yesterday and ends in so many seconds. */
  static Certificate endingIn(long seconds, Folder folder)
      throws IOException, InterruptedException, GeneralSecurityException {
    Path store = Path.of(folder.file("made.p12"));
    Files.deleteIfExists(store);
    String unused =
        Programs.run(
            Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
            "-genkeypair",
            "-keystore",
            store.toString(),
            "-storepass",
            PASSWORD,
            "-alias",
            "server",
            "-keyalg",
            "EC",
            "-dname",
            "CN=localhost",
            "-ext",
            "SAN=dns:localhost,ip:127.0.0.1",
            "-startdate",
            "-1d+%sS".formatted(seconds),
            "-validity",
            "1");
    KeyStore made = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(store)) {
      made.load(in, PASSWORD.toCharArray());
    }
    return new Certificate(
        (X509Certificate) made.getCertificate("server"),
        made.getKey("server", PASSWORD.toCharArray()));
  }

  Instant end() {
    return leaf.getNotAfter().toInstant();
  }

  /** Puts both files in the place of those that are there. */
  void install(Folder folder) throws IOException, GeneralSecurityException {
    write(folder, "tls.key", "PRIVATE KEY", key.getEncoded());
    write(folder, "tls.crt", "CERTIFICATE", leaf.getEncoded());
  }

  private static void write(Folder folder, String name, String type, byte[] der)
      throws IOException {
    String lines =
        Base64.getMimeEncoder(PEM_LINE, "\n".getBytes(StandardCharsets.US_ASCII))
            .encodeToString(der);
    Path fresh = Path.of(folder.file(name + ".new"));
    Files.writeString(
        fresh, "-----BEGIN %s-----\n%s\n-----END %s-----\n".formatted(type, lines, type));
    Files.move(fresh, Path.of(folder.file(name)), StandardCopyOption.ATOMIC_MOVE);
  }

  /** A client that trusts these certificates while they are valid, and resumes no session. */
  static SSLContext trusting(Certificate... certificates)
      throws GeneralSecurityException, IOException {
    KeyStore trusted = KeyStore.getInstance("PKCS12");
    trusted.load(null, null);
    for (Certificate one : certificates) {
      trusted.setCertificateEntry("server" + trusted.size(), one.leaf());
    }
    TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
    trust.init(trusted);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, trust.getTrustManagers(), new SecureRandom());
    return context;
  }
}
