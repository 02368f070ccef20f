// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.tls;

import com.linecorp.armeria.common.TlsKeyPair;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.X509Certificate;
import java.util.Base64;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/** Certificates for tests: files as operators have them, and clients that trust them. */
public final class Pem {

  /** Making a key is slow; these are enough for all tests. */
  public static final TlsKeyPair SERVER = TlsKeyPair.ofSelfSigned("localhost");

  /** The certificate that replaces it. */
  public static final TlsKeyPair NEXT = TlsKeyPair.ofSelfSigned("localhost");

  /** A client, which is its own authority. */
  public static final TlsKeyPair CLIENT = TlsKeyPair.ofSelfSigned("client-7");

  private Pem() {}

  /** Writes tls.crt and tls.key. */
  public static void write(TlsKeyPair pair, Path folder) throws IOException {
    writeKey(pair, folder);
    writeCertificate(pair, folder);
  }

  /** Writes tls.crt alone. */
  public static void writeCertificate(TlsKeyPair pair, Path folder) throws IOException {
    Files.writeString(folder.resolve("tls.crt"), certificate(pair));
  }

  /** Writes tls.key alone. */
  public static void writeKey(TlsKeyPair pair, Path folder) throws IOException {
    Files.writeString(
        folder.resolve("tls.key"), pem("PRIVATE KEY", pair.privateKey().getEncoded()));
  }

  /** The certificate as text. */
  public static String certificate(TlsKeyPair pair) {
    try {
      return pem("CERTIFICATE", leaf(pair).getEncoded());
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException(e);
    }
  }

  static String pem(String type, byte[] der) {
    byte[] newline = {'\n'};
    return "-----BEGIN %s-----\n%s\n-----END %s-----\n"
        .formatted(
            type,
            new String(Base64.getMimeEncoder(64, newline).encode(der), StandardCharsets.US_ASCII),
            type);
  }

  /** The certificate without its chain. */
  public static X509Certificate leaf(TlsKeyPair pair) {
    return pair.certificateChain().get(0);
  }

  /** A client that trusts the given servers, and shows a certificate unless that is null. */
  public static SSLContext client(@Nullable TlsKeyPair shown, TlsKeyPair... servers) {
    try {
      KeyStore trusted = KeyStore.getInstance("PKCS12");
      trusted.load(null, null);
      for (TlsKeyPair server : servers) {
        trusted.setCertificateEntry("server" + trusted.size(), leaf(server));
      }
      TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
      trust.init(trusted);
      KeyManagerFactory keys = KeyManagerFactory.getInstance("PKIX");
      KeyStore own = KeyStore.getInstance("PKCS12");
      own.load(null, null);
      if (shown != null) {
        own.setKeyEntry(
            "client", shown.privateKey(), new char[0], new X509Certificate[] {leaf(shown)});
      }
      keys.init(own, new char[0]);
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
      return context;
    } catch (GeneralSecurityException | IOException e) {
      throw new IllegalStateException(e);
    }
  }
}
