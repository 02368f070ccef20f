// SPDX-License-Identifier: Apache-2.0
/**
 * Reservations that a client cancels or settles over the network, with a token. {@link
 * dev.sluice.server.reservation.Reservations} explains how tokens work.
 */
@NullMarked
package dev.sluice.server.reservation;

import org.jspecify.annotations.NullMarked;
