// SPDX-License-Identifier: Apache-2.0
/**
 * Reservations that are cancelled over the wire, by a token that the client holds. The essay is in
 * {@link dev.sluice.server.reservation.Reservations}.
 */
@NullMarked
package dev.sluice.server.reservation;

import org.jspecify.annotations.NullMarked;
