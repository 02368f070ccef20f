// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.tls;

import com.linecorp.armeria.server.ServiceRequestContext;
import io.netty.channel.Channel;
import io.netty.handler.ssl.SslHandler;
import java.util.function.Supplier;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/**
 * TLS of a door: each new connection gets the certificate that holds at that moment, and keeps it.
 * Thread-safe.
 */
public final class Tls {

  private final Supplier<TlsIdentity> current;

  /**
   * Makes the TLS of a door.
   *
   * @param current returns what holds now; must not block
   */
  public Tls(Supplier<TlsIdentity> current) {
    this.current = current;
  }

  /**
   * Encrypts a connection that was just accepted. What stands in its pipeline already sees plain
   * bytes.
   *
   * @param channel the connection
   * @param speaksHttp whether HTTP/2 and HTTP/1.1 are offered in the handshake
   */
  public void encrypt(Channel channel, boolean speaksHttp) {
    SslHandler handler = current.get().handler(channel, speaksHttp);
    channel.pipeline().addFirst(handler);
  }

  /**
   * Returns the session of the connection that a request came on. The library knows of none, since
   * the connection is decrypted before it.
   *
   * @param context of the request
   * @return the session, null without TLS
   */
  public static @Nullable SSLSession session(ServiceRequestContext context) {
    Channel channel = context.log().partial().channel();
    SslHandler handler = channel == null ? null : channel.pipeline().get(SslHandler.class);
    return handler == null ? null : handler.engine().getSession();
  }
}
