// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.attacks;

import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;
import javax.net.ssl.TrustManagerFactory;

/** A certificate for localhost that openssl made, and what trusts it. Closing deletes the files. */
final class TlsIdentity implements AutoCloseable {

  private final Path folder;
  private final SSLContext trusting;
  private final Map<String, SslContext> engines;

  private TlsIdentity(Path folder, SSLContext trusting, Map<String, SslContext> engines) {
    this.folder = folder;
    this.trusting = trusting;
    this.engines = engines;
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
    X509Certificate certificate;
    try (InputStream in = Files.newInputStream(folder.resolve("tls.crt"))) {
      certificate =
          (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(in);
    }
    trusted.setCertificateEntry("server", certificate);
    TrustManagerFactory managers =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    managers.init(trusted);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, managers.getTrustManagers(), null);
    Map<String, SslContext> engines = new HashMap<>();
    for (String protocol : List.of(Wire.HTTP1, Wire.HTTP2, "")) {
      engines.put(protocol, context(certificate, protocol));
    }
    return new TlsIdentity(folder, context, engines);
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

  /**
   * Makes the client's side of a handshake that has not begun. Uses the native library where it is
   * available: it takes a tenth of the time, and an attacker does thousands of handshakes.
   *
   * @param protocol what the handshake asks for (ALPN); empty for a protocol without a name
   */
  SSLEngine engine(String protocol) {
    SslContext context = Objects.requireNonNull(engines.get(protocol), protocol);
    return context.newEngine(UnpooledByteBufAllocator.DEFAULT, "localhost", -1);
  }

  private static SslContext context(X509Certificate trusted, String protocol) throws SSLException {
    SslContextBuilder client = SslContextBuilder.forClient().trustManager(trusted);
    return protocol.isEmpty()
        ? client.build()
        : client
            .applicationProtocolConfig(
                new ApplicationProtocolConfig(
                    ApplicationProtocolConfig.Protocol.ALPN,
                    ApplicationProtocolConfig.SelectorFailureBehavior.NO_ADVERTISE,
                    ApplicationProtocolConfig.SelectedListenerFailureBehavior.ACCEPT,
                    protocol))
            .build();
  }

  @Override
  public void close() throws IOException {
    for (String name : new String[] {"tls.key", "tls.crt"}) {
      Files.deleteIfExists(folder.resolve(name));
    }
    Files.delete(folder);
  }
}
