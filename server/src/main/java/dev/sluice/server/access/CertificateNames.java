// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.access;

import java.security.cert.Certificate;
import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import javax.naming.InvalidNameException;
import javax.naming.ldap.LdapName;
import javax.naming.ldap.Rdn;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/** The names in the certificate of a client, which the TLS layer has verified. Stateless. */
final class CertificateNames {

  private static final int DNS = 2;
  private static final int URI = 6;

  private CertificateNames() {}

  /**
   * URIs first, then DNS names; the common name only where there is neither, and only one: an
   * authority that checks the others may let the applicant choose it. None without a certificate.
   */
  static List<String> of(@Nullable SSLSession session) {
    if (session == null) {
      return List.of();
    }
    try {
      Certificate[] chain = session.getPeerCertificates();
      return chain.length > 0 && chain[0] instanceof X509Certificate first
          ? names(first)
          : List.of();
    } catch (SSLPeerUnverifiedException e) {
      return List.of(); // the client has shown none
    }
  }

  static List<String> names(X509Certificate certificate) {
    List<String> names = new ArrayList<>();
    addAlternatives(certificate, URI, names);
    addAlternatives(certificate, DNS, names);
    return names.isEmpty()
        ? commonName(certificate.getSubjectX500Principal().getName())
        : List.copyOf(names);
  }

  private static void addAlternatives(X509Certificate certificate, int kind, List<String> names) {
    Collection<List<?>> alternatives;
    try {
      alternatives = certificate.getSubjectAlternativeNames();
    } catch (CertificateParsingException e) {
      return; // a name that cannot be read grants nothing
    }
    if (alternatives == null) {
      return;
    }
    for (List<?> alternative : alternatives) {
      if (alternative.get(0).equals(kind) && alternative.get(1) instanceof String name) {
        names.add(name);
      }
    }
  }

  private static List<String> commonName(String subject) {
    List<String> names = new ArrayList<>();
    try {
      for (Rdn part : new LdapName(subject).getRdns()) {
        if (part.getType().equalsIgnoreCase("CN") && part.getValue() instanceof String name) {
          names.add(name);
        }
      }
    } catch (InvalidNameException e) {
      // As above.
    }
    boolean isUri = names.size() == 1 && names.get(0).contains("://"); // what only a URI may say
    return names.size() == 1 && !isUri ? List.copyOf(names) : List.of();
  }
}
