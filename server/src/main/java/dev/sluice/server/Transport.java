// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server;

import com.linecorp.armeria.common.FlagsProvider;
import com.linecorp.armeria.common.util.TransportType;

/**
 * Chooses the JDK's selector for the network. Netty's epoll transport (4.2.18) forgets a connection
 * that it is asked neither to read from nor to write to for a moment. A client that sent many
 * requests and ended its side then loses answers.
 *
 * <p>The system property {@code com.linecorp.armeria.transportType} overrides this. Stateless and
 * thread-safe.
 */
public final class Transport implements FlagsProvider {

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
}
