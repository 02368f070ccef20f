// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import com.linecorp.armeria.common.FlagsProvider;
import com.linecorp.armeria.common.util.TransportType;

/**
 * Settings of Armeria that differ from Armeria's defaults.
 *
 * <p>{@link #transportType} makes Armeria use the JDK's selector as its network transport. Netty's
 * epoll transport (4.2.18) loses a connection that for a moment neither reads nor writes. With the
 * epoll transport, a client that sends many requests and closes its sending side misses responses.
 *
 * <p>{@link #defaultHttp1ConnectionCloseDelayMillis} is how long a connection stays open after its
 * last response. {@link #allowDoubleDotsInQueryString} allows ".." in queries, since ids can
 * contain ".." and no query of this server names a file. Armeria still refuses ".." in paths.
 *
 * <p>The settings apply to every Armeria server in this process, including servers of the
 * application. System properties such as {@code com.linecorp.armeria.transportType} override all
 * settings. Stateless and thread-safe.
 */
public final class Transport implements FlagsProvider {

  /** How long a connection stays open for a client that still sends, to deliver the response. */
  private static final long LINGER_MILLIS = 500;

  /** Called by Armeria, which loads this class as a service. */
  public Transport() {}

  @Override
  public int priority() {
    return 1;
  }

  @Override
  public TransportType transportType() {
    return TransportType.NIO;
  }

  /** Returns the delay after {@code Connection: close}, shorter than Armeria's default of 3 s. */
  @Override
  public Long defaultHttp1ConnectionCloseDelayMillis() {
    return LINGER_MILLIS;
  }

  @Override
  public Boolean allowDoubleDotsInQueryString() {
    return true;
  }
}
