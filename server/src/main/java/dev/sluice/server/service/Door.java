// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import dev.sluice.Limiter;
import dev.sluice.server.access.Access;
import dev.sluice.server.admin.RuntimeLimits;
import dev.sluice.server.base.Generations;
import dev.sluice.server.net.Part;
import dev.sluice.server.net.Traffic;
import dev.sluice.server.reservation.Reservations;
import dev.sluice.server.tls.Tls;
import io.micrometer.core.instrument.MeterRegistry;
import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * A way in: a port and a protocol, on which clients ask the limiter. A door decides nothing itself.
 *
 * <p>Immutable; {@link #open} is called once.
 */
interface Door {

  /**
   * Returns what is spoken at the door.
   *
   * @return {@code http}, {@code redis} or {@code grpc}
   */
  String protocol();

  /**
   * Opens the port. Blocks until clients can connect.
   *
   * @param room what the door answers with
   * @return the open door
   * @throws dev.sluice.server.net.AddressException if the port cannot be opened
   */
  Open open(Room room);

  /**
   * The parts that a door answers with. Thread-safe.
   *
   * @param limiter decides, by the limits that {@link Limiter#limits} holds
   * @param reservations what clients hold, by the same limiter
   * @param meters takes the door's meters
   * @param ready throws a {@link dev.sluice.server.base.NotReadyException} or a {@link
   *     dev.sluice.store.StoreException} if the service cannot decide now; may block
   * @param traffic all connections: what clients hold is bounded for all doors together
   * @param access who may do what
   * @param runtime overrides and penalties that are set while the server runs
   * @param generations of the watched files
   * @param tls encrypts the connections; null for none
   * @param traces begins and ends the spans of requests over HTTP; adds nothing where none are
   *     traced
   */
  record Room(
      Limiter limiter,
      Reservations reservations,
      MeterRegistry meters,
      Runnable ready,
      Traffic traffic,
      Access access,
      RuntimeLimits runtime,
      Generations generations,
      @Nullable Tls tls,
      Part traces) {}

  /**
   * A door that is open. The service calls {@link #unready} on all of its doors, waits until load
   * balancers have noticed, and then closes them. Thread-safe.
   */
  interface Open extends AutoCloseable {

    /**
     * Returns where the door listens.
     *
     * @return the address, with the port that was chosen
     */
    InetSocketAddress address();

    /** Says from now on that the service is not ready, and still answers. Never blocks. */
    void unready();

    /**
     * Accepts nobody any more, answers what is in flight, and closes the port. Blocks until that is
     * done, up to a bound of the door's own.
     */
    @Override
    void close();
  }
}
