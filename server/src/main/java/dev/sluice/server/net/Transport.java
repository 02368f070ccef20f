// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import com.linecorp.armeria.common.FlagsProvider;
import com.linecorp.armeria.common.util.TransportType;

/**
 * The library's settings that differ from its defaults.
 *
 * <p>The first setting chooses the JDK's selector for the network. Netty's epoll transport (4.2.18)
 * forgets a connection that for a moment neither reads nor writes. Then a client that sent many
 * requests and closed its sending side loses answers.
 *
 * <p>The second setting is how long a finished connection lingers. The third setting allows ".." in
 * queries, since ids may contain it and no query names a file here. In paths, the library still
 * refuses "..".
 *
 * <p>The settings apply to every server of the library in this process, including an application's.
 * System properties such as {@code com.linecorp.armeria.transportType} override all settings.
 * Stateless and thread-safe.
 */
public final class Transport implements FlagsProvider {

  /**
   * How long a connection stays open for a client that is still sending: closing it at once may
   * lose the answer.
   */
  private static final long LINGER_MILLIS = 500;

  /** Called by the library, which finds this class as a service. */
  public Transport() {}

  @Override
  public int priority() {
    return 1;
  }

  @Override
  public TransportType transportType() {
    return TransportType.NIO;
  }

  /** Returns a shorter time than the library's 3 s, for HTTP/1.0 and {@code Connection: close}. */
  @Override
  public Long defaultHttp1ConnectionCloseDelayMillis() {
    return LINGER_MILLIS;
  }

  @Override
  public Boolean allowDoubleDotsInQueryString() {
    return true;
  }
}
