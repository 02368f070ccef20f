// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.attacks;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** A certificate for localhost that openssl made, and what trusts it. Closing deletes the files. */
final class TlsIdentity implements AutoCloseable {

  private final Path folder;
  private final SSLContext trusting;

  private TlsIdentity(Path folder, SSLContext trusting) {
    this.folder = folder;
    this.trusting = trusting;
  }

  static TlsIdentity make() throws IOException, InterruptedException, GeneralSecurityException {
    Path folder = Files.createTempDirectory("sluice-attacks");
    Process openssl =
        new ProcessBuilder(
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:P-256",
                "-nodes",
                "-days",
                "2",
                "-subj",
                "/CN=localhost",
                "-addext",
                "subjectAltName=DNS:localhost,IP:127.0.0.1",
                "-keyout",
                folder + "/tls.key",
                "-out",
                folder + "/tls.crt")
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    if (openssl.waitFor() != 0) {
      throw new IOException("openssl ended with " + openssl.exitValue());
    }
    KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
    trusted.load(null, null);
    try (InputStream in = Files.newInputStream(folder.resolve("tls.crt"))) {
      trusted.setCertificateEntry(
          "server", CertificateFactory.getInstance("X.509").generateCertificate(in));
    }
    TrustManagerFactory managers =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    managers.init(trusted);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, managers.getTrustManagers(), null);
    return new TlsIdentity(folder, context);
  }

  /** The options of a server with this certificate. */
  String[] options() {
    return new String[] {
      "--tls-certificate", folder.resolve("tls.crt").toString(),
      "--tls-key", folder.resolve("tls.key").toString()
    };
  }

  SSLContext trusting() {
    return trusting;
  }

  @Override
  public void close() throws IOException {
    for (String name : new String[] {"tls.key", "tls.crt"}) {
      Files.deleteIfExists(folder.resolve(name));
    }
    Files.delete(folder);
  }
}
