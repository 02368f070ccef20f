// SPDX-License-Identifier: Apache-2.0
/**
 * Reservations that are cancelled over the wire, by a token that the client holds. {@link
 * dev.sluice.server.reservation.Reservations} explains how.
 */
@NullMarked
package dev.sluice.server.reservation;

import org.jspecify.annotations.NullMarked;
