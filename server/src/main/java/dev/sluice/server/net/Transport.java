// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import com.linecorp.armeria.common.FlagsProvider;
import com.linecorp.armeria.common.util.TransportType;

/**
 * The library's settings that differ from its defaults.
 *
 * <p>The first chooses the JDK's selector for the network. Netty's epoll transport (4.2.18) forgets
 * a connection that it is asked neither to read from nor to write to for a moment. A client that
 * sent many requests and ended its side then loses answers.
 *
 * <p>The second is how long a finished connection lingers. The third lets queries hold "..", as ids
 * may: no query names a file here. In paths, the library still refuses it.
 *
 * <p>They hold for every server of the library in this process, that of an application included.
 * System properties such as {@code com.linecorp.armeria.transportType} override all. Stateless and
 * thread-safe.
 */
public final class Transport implements FlagsProvider {

  /** For a client that is still sending: a connection that is closed then may lose the answer. */
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

  /** The library would wait 3 s for the client, over HTTP/1.0 and {@code Connection: close}. */
  @Override
  public Long defaultHttp1ConnectionCloseDelayMillis() {
    return LINGER_MILLIS;
  }

  @Override
  public Boolean allowDoubleDotsInQueryString() {
    return true;
  }
}
