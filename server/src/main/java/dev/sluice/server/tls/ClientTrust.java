// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.tls;

import io.netty.handler.ssl.OpenSslCertificateException;
import java.io.IOException;
import java.net.Socket;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertPathBuilderException;
import java.security.cert.CertPathValidatorException;
import java.security.cert.CertificateException;
import java.security.cert.CertificateExpiredException;
import java.security.cert.CertificateNotYetValidException;
import java.security.cert.X509Certificate;
import java.util.Arrays;
import java.util.List;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * Decides as the JDK does which client certificates are trusted, and gives the native library a
 * reason for a refusal. Without a reason, the library would send "internal error", and the client
 * would suspect a fault of the server. Thread-safe.
 */
final class ClientTrust extends X509ExtendedTrustManager {

  // OpenSSL's codes (x509_vfy.h) for the alerts unknown_ca and unsupported_certificate.
  private static final int UNKNOWN_AUTHORITY = 20;
  private static final int ANOTHER_PURPOSE = 26;

  private final X509ExtendedTrustManager jdk;

  private ClientTrust(X509ExtendedTrustManager jdk) {
    this.jdk = jdk;
  }

  static ClientTrust in(List<X509Certificate> authorities) throws SSLException {
    try {
      KeyStore trusted = KeyStore.getInstance("PKCS12");
      trusted.load(null, null);
      for (X509Certificate authority : authorities) {
        trusted.setCertificateEntry("authority" + trusted.size(), authority);
      }
      TrustManagerFactory factory = TrustManagerFactory.getInstance("PKIX");
      factory.init(trusted);
      return Arrays.stream(factory.getTrustManagers())
          .filter(X509ExtendedTrustManager.class::isInstance)
          .map(X509ExtendedTrustManager.class::cast)
          .findFirst()
          .map(ClientTrust::new)
          .orElseThrow(() -> new SSLException("the JDK has no PKIX trust manager"));
    } catch (GeneralSecurityException | IOException e) {
      throw new SSLException("the authorities of the clients cannot be used", e);
    }
  }

  /** A check by the JDK. */
  private interface Check {
    void run() throws CertificateException;
  }

  private static void explained(Check check) throws CertificateException {
    try {
      check.run();
    } catch (CertificateException e) {
      int reason = reason(e);
      throw reason == 0 ? e : new OpenSslCertificateException(e.getMessage(), e, reason);
    }
  }

  /**
   * Returns OpenSSL's code for a refusal; 0 if the native library finds the reason in the exception
   * itself, such as an expired certificate.
   */
  private static int reason(CertificateException failure) {
    boolean isPlain = true;
    for (Throwable one = failure; one != null; one = one.getCause()) {
      if (one instanceof CertPathBuilderException) {
        return UNKNOWN_AUTHORITY;
      }
      isPlain &=
          !(one instanceof CertPathValidatorException
              || one instanceof CertificateExpiredException
              || one instanceof CertificateNotYetValidException);
    }
    return isPlain ? ANOTHER_PURPOSE : 0;
  }

  @Override
  public void checkClientTrusted(X509Certificate[] chain, String type) throws CertificateException {
    explained(() -> jdk.checkClientTrusted(chain, type));
  }

  @Override
  public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket)
      throws CertificateException {
    explained(() -> jdk.checkClientTrusted(chain, type, socket));
  }

  @Override
  public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine)
      throws CertificateException {
    explained(() -> jdk.checkClientTrusted(chain, type, engine));
  }

  @Override
  public void checkServerTrusted(X509Certificate[] chain, String type) throws CertificateException {
    jdk.checkServerTrusted(chain, type);
  }

  @Override
  public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket)
      throws CertificateException {
    jdk.checkServerTrusted(chain, type, socket);
  }

  @Override
  public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine)
      throws CertificateException {
    jdk.checkServerTrusted(chain, type, engine);
  }

  @Override
  public X509Certificate[] getAcceptedIssuers() {
    return jdk.getAcceptedIssuers();
  }
}
