// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof;

import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;
import javax.net.ssl.TrustManagerFactory;

/** The certificates that a client trusts until they expire. Thread-safe. */
public final class Trust {

  private final TrustManagerFactory managers;
  private final SSLContext context;
  private final Map<String, SslContext> engines = new ConcurrentHashMap<>();

  private Trust(TrustManagerFactory managers, SSLContext context) {
    this.managers = managers;
    this.context = context;
  }

  public static Trust in(TlsIdentity... identities) throws GeneralSecurityException, IOException {
    KeyStore trusted = KeyStore.getInstance("PKCS12");
    trusted.load(null, null);
    for (TlsIdentity one : identities) {
      trusted.setCertificateEntry("server" + trusted.size(), one.certificate());
    }
    TrustManagerFactory managers = TrustManagerFactory.getInstance("PKIX");
    managers.init(trusted);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, managers.getTrustManagers(), null);
    return new Trust(managers, context);
  }

  public SSLContext context() {
    return context;
  }

  /**
   * Creates the client's side of a TLS connection. Uses a native TLS library if one is available.
   * An attacker makes thousands of handshakes, which the native library does ten times as fast.
   *
   * @param protocol the protocol that the client requests in the handshake (ALPN); empty to request
   *     none
   */
  public SSLEngine engine(String protocol) {
    return engines
        .computeIfAbsent(protocol, this::context)
        .newEngine(UnpooledByteBufAllocator.DEFAULT, "localhost", -1);
  }

  private SslContext context(String protocol) {
    SslContextBuilder client = SslContextBuilder.forClient().trustManager(managers);
    if (!protocol.isEmpty()) {
      client.applicationProtocolConfig(
          new ApplicationProtocolConfig(
              ApplicationProtocolConfig.Protocol.ALPN,
              ApplicationProtocolConfig.SelectorFailureBehavior.NO_ADVERTISE,
              ApplicationProtocolConfig.SelectedListenerFailureBehavior.ACCEPT,
              protocol));
    }
    try {
      return client.build();
    } catch (SSLException e) {
      throw new IllegalStateException(e);
    }
  }
}
