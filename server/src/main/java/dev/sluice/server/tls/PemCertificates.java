// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.tls;

import java.io.ByteArrayInputStream;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Certificates as PEM, in the order of their file. Stateless. */
public final class PemCertificates {

  private PemCertificates() {}

  /**
   * Reads all certificates of a file.
   *
   * @param pem the content of the file
   * @return at least one certificate
   * @throws CertificateException if there is none, or one is damaged, with what to do
   */
  public static List<X509Certificate> read(byte[] pem) throws CertificateException {
    List<X509Certificate> found;
    try {
      found =
          CertificateFactory.getInstance("X.509")
              .generateCertificates(new ByteArrayInputStream(pem))
              .stream()
              .map((Certificate one) -> (X509Certificate) one)
              .toList();
    } catch (CertificateException e) {
      throw unreadable(e); // its message says no more
    }
    if (found.isEmpty()) {
      throw unreadable(null);
    }
    return found;
  }

  private static CertificateException unreadable(@Nullable CertificateException cause) {
    return new CertificateException(
        "no readable certificate; write PEM that starts with -----BEGIN CERTIFICATE-----", cause);
  }
}
