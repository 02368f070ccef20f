// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.tls;

import com.linecorp.armeria.server.ServiceRequestContext;
import io.netty.channel.Channel;
import io.netty.handler.codec.ByteToMessageDecoder;
import io.netty.handler.codec.http2.Http2SecurityUtil;
import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.ApplicationProtocolConfig.Protocol;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectedListenerFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectorFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.OpenSslCertificateException;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SupportedCipherSuiteFilter;
import java.io.IOException;
import java.net.Socket;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.CertPathBuilderException;
import java.security.cert.CertPathValidatorException;
import java.security.cert.CertificateException;
import java.security.cert.CertificateExpiredException;
import java.security.cert.CertificateNotYetValidException;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSession;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;
import org.jspecify.annotations.Nullable;

/**
 * The server's certificate, and the authorities whose client certificates the server trusts, from
 * one version of the TLS files. Supports only TLS 1.2 and 1.3. Immutable and thread-safe.
 *
 * <p>Each object has its own TLS contexts, so a client cannot resume a TLS session that began with
 * a replaced certificate or authority.
 */
public final class TlsIdentity {

  private static final ApplicationProtocolConfig HTTP =
      new ApplicationProtocolConfig(
          Protocol.ALPN,
          SelectorFailureBehavior.NO_ADVERTISE,
          SelectedListenerFailureBehavior.ACCEPT,
          ApplicationProtocolNames.HTTP_2,
          ApplicationProtocolNames.HTTP_1_1);

  private final X509Certificate leaf;
  private final SslContext http;
  private final SslContext plain;

  private TlsIdentity(X509Certificate leaf, SslContext http, SslContext plain) {
    this.leaf = leaf;
    this.http = http;
    this.plain = plain;
  }

  static TlsIdentity of(
      PrivateKey key,
      List<X509Certificate> chain,
      List<X509Certificate> authorities,
      ClientAuth clients)
      throws SSLException {
    SslContext plain = context(key, chain, authorities, clients).build();
    SslContext http =
        context(key, chain, authorities, clients).applicationProtocolConfig(HTTP).build();
    return new TlsIdentity(chain.get(0), http, plain);
  }

  private static SslContextBuilder context(
      PrivateKey key,
      List<X509Certificate> chain,
      List<X509Certificate> authorities,
      ClientAuth clients)
      throws SSLException {
    SslContextBuilder context =
        SslContextBuilder.forServer(key, chain.toArray(X509Certificate[]::new))
            .protocols("TLSv1.3", "TLSv1.2")
            .ciphers(Http2SecurityUtil.CIPHERS, SupportedCipherSuiteFilter.INSTANCE)
            .clientAuth(clients);
    return authorities.isEmpty() ? context : context.trustManager(ClientTrust.in(authorities));
  }

  X509Certificate leaf() {
    return leaf;
  }

  /** Returns the last moment at which clients accept the certificate. */
  public Instant end() {
    return leaf.getNotAfter().toInstant();
  }

  SslHandler handler(Channel channel, boolean speaksHttp) {
    SslHandler handler = (speaksHttp ? http : plain).newHandler(channel.alloc());
    // By default, a TLS handler keeps all network buffers of an incomplete TLS record, each of 512
    // bytes or more, even for a single byte. MERGE_CUMULATOR copies the bytes to one buffer.
    handler.setCumulator(ByteToMessageDecoder.MERGE_CUMULATOR);
    return handler;
  }

  /**
   * Encrypts the connections of a port. A connection keeps the certificate that was in use when the
   * client connected. Thread-safe.
   */
  public record Tls(Supplier<TlsIdentity> current) {

    public Instant certificateEnd() {
      return current.get().end();
    }

    /**
     * Encrypts a connection that was just accepted. With {@code speaksHttp}, the TLS handshake
     * offers HTTP/2 and HTTP/1.1. Handlers that are already in the channel's pipeline get decrypted
     * bytes.
     */
    public void encrypt(Channel channel, boolean speaksHttp) {
      SslHandler handler = current.get().handler(channel, speaksHttp);
      channel.pipeline().addFirst(handler);
    }

    /**
     * Returns the TLS session of a request's connection, null without TLS. Armeria does not know
     * the TLS session, since Armeria reads bytes that are already decrypted.
     */
    public static @Nullable SSLSession session(ServiceRequestContext context) {
      Channel channel = context.log().partial().channel();
      SslHandler handler = channel == null ? null : channel.pipeline().get(SslHandler.class);
      return handler == null ? null : handler.engine().getSession();
    }
  }

  /** Trusts the same client certificates as the JDK. */
  static final class ClientTrust extends X509ExtendedTrustManager {

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

    /** A check of a client certificate by the JDK. */
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
     * Returns OpenSSL's code for the reason of a refusal; 0 if OpenSSL finds the reason in the
     * exception, for example for an expired certificate.
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
    public void checkClientTrusted(X509Certificate[] chain, String type)
        throws CertificateException {
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
    public void checkServerTrusted(X509Certificate[] chain, String type)
        throws CertificateException {
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
}
