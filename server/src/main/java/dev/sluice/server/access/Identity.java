// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.access;

import dev.sluice.server.access.AuditLog.Noted;
import dev.sluice.server.access.Tokens.Grant;
import dev.sluice.server.base.RefusedException;
import java.net.SocketAddress;
import java.security.cert.Certificate;
import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.function.Supplier;
import javax.naming.InvalidNameException;
import javax.naming.ldap.LdapName;
import javax.naming.ldap.Rdn;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/** A long-lived connection's client; its token is looked up per request. Not thread-safe. */
public final class Identity {

  private final Access access;
  private final SocketAddress peer;
  private final Supplier<@Nullable SSLSession> tls;
  private final Caller anybody;
  private byte @Nullable [] tokenHash;
  private @Nullable List<String> certificateNames;

  /** Makes the identity of a connection whose client has not sent a token yet. */
  public Identity(Access access, SocketAddress peer, Supplier<@Nullable SSLSession> tls) {
    this.access = access;
    this.peer = peer;
    this.tls = tls;
    this.anybody = access.anybody("resp", peer, List::of);
  }

  /** Returns the client of a server without access control. */
  public Caller anybody() {
    return anybody;
  }

  /** Whether the server has no access control. */
  public boolean isOpen() {
    return access.isOpen();
  }

  public AuditLog audit() {
    return access.audit();
  }

  /**
   * Checks a token. A known token becomes the connection's token for its next requests. If the
   * token is unknown, the connection keeps its previous token.
   *
   * @param user the user name from the client: a token's name or "default"; null if the client has
   *     sent no name
   * @return false if the token is unknown, or its name is not {@code user}
   * @throws RefusedException if the client's address has sent too many unknown tokens
   */
  public boolean authenticate(@Nullable String user, String token) {
    byte[] hash = Tokens.hash(token);
    Tokens known = access.known();
    Grant grant = known == null ? null : known.ofHash(hash);
    boolean isNamed =
        grant != null && (user == null || user.equals("default") || user.equals(grant.name()));
    if (!isNamed) {
      RefusedException refused =
          access.failed(
              "resp", peer, "the token is not known, or does not match the user name", List.of());
      if (refused.retryAfterSeconds() > 0) {
        throw refused;
      }
      return false;
    }
    tokenHash = hash;
    return true;
  }

  /** Whether a token or a certificate is known, or the server has no access control. */
  public boolean isKnown() {
    return access.isKnown(tokenHash, tokenHash == null ? certificateNames() : List.of());
  }

  /** Charges one request to the limit for an unknown client's address. */
  public void admitStranger() {
    access.admitStranger(peer);
  }

  /** Forgets the connection's token, for the command RESET. */
  public void forget() {
    tokenHash = null;
  }

  /**
   * Identifies the caller of the next request, and counts this request. A request that needs no
   * permission is counted only if the connection has a known token.
   */
  public Caller caller(Permission need, List<Noted> acts) {
    return need == Permission.NOTHING && (tokenHash == null || !isKnown())
        ? access.stranger("resp", peer)
        : access.caller("resp", peer, tokenHash, certificateNames(), acts);
  }

  /** Counts a request that needs no permission, if {@link #caller} has not counted it. */
  public void countWithoutToken() {
    if (!isKnown()) {
      access.admitStranger(peer);
    } else if (tokenHash == null) {
      var unused = access.caller("resp", peer, null, certificateNames(), List.of());
    }
  }

  /** Refuses a caller that lacks the permission for a request. */
  public void require(Caller caller, Permission need) {
    if (need != Permission.NOTHING) {
      access.require(caller, need, Access.IN_AUTHORIZATION);
    }
  }

  private List<String> certificateNames() {
    List<String> names = certificateNames;
    if (names == null) {
      names = CertificateNames.of(tls.get());
      certificateNames = names;
    }
    return names;
  }

  /** Reads the names in a client's certificate, which TLS has verified. Stateless. */
  static final class CertificateNames {

    private static final int DNS = 2;
    private static final int URI = 6;

    private CertificateNames() {}

    /**
     * Returns the URIs and then the DNS names in a client's certificate; empty without a
     * certificate. If the certificate has neither URIs nor DNS names, but exactly one common name,
     * the common name is returned. In all other cases the common name is ignored: a certificate
     * authority that checks URIs and DNS names can let the applicant choose the common name.
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
        return List.of(); // the client has sent no certificate
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
        // A subject name that cannot be parsed counts as no name.
      }
      // A common name must not look like a URI.
      boolean isUri = names.size() == 1 && names.get(0).contains("://");
      return names.size() == 1 && !isUri ? List.copyOf(names) : List.of();
    }
  }
}
