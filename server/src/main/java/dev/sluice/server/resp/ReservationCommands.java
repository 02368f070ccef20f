// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import static dev.sluice.server.access.Permission.DECIDE;

import dev.sluice.server.reservation.Reservations;
import dev.sluice.server.reservation.Reservations.Held;
import dev.sluice.wire.DecisionWriter;
import dev.sluice.wire.WireException;
import java.time.Duration;
import java.util.List;

/**
 * {@code SLUICE.RESERVE} and {@code SLUICE.CANCEL}: a spend that can be cancelled by a token.
 * Thread-safe.
 */
final class ReservationCommands {

  private static final int EXPIRES = 4;

  private final LimitCommands limits;
  private final Reservations reservations;

  ReservationCommands(LimitCommands limits, Reservations reservations) {
    this.limits = limits;
    this.reservations = reservations;
  }

  List<Command> all() {
    return List.of(
        Command.writing(
            "SLUICE.RESERVE limit id [cost] [expires]",
            DECIDE,
            "Spends the cost, and replies with a token that takes it back",
            this::reserve),
        Command.writing(
            "SLUICE.CANCEL token",
            DECIDE,
            "Gives back what was reserved, as far as it is not refilled",
            this::cancel));
  }

  private void reserve(Request request, Session session) {
    try {
      String expires =
          request.count() > EXPIRES ? LimitCommands.text(request, EXPIRES, "expires") : null;
      Duration life = Reservations.life(expires, "expires");
      session
          .replies()
          .later(reservations.reserve(limits.transaction(request, session), life), this::writeHeld);
    } catch (WireException e) {
      session.replies().error("ERR", LimitCommands.everything(e));
    }
  }

  private void cancel(Request request, Session session) {
    try {
      String token = LimitCommands.text(request, 1, "token");
      session.replies().later(reservations.cancel(token), (nothing, writer) -> writer.ok());
    } catch (WireException e) {
      session.replies().error("ERR", LimitCommands.everything(e));
    }
  }

  private void writeHeld(Held held, ReplyWriter writer) {
    limits.reported(held.decision());
    writer.map(LimitCommands.FIELDS + 2);
    LimitCommands.writeFields(DecisionWriter.ofOne(held.decision()), writer);
    String token = held.token();
    writer.text("token");
    if (token == null) {
      writer.nothing();
    } else {
      writer.text(token);
    }
    writer.text("expiresInNanos");
    if (token == null) {
      writer.nothing();
    } else {
      writer.number(held.life().toNanos());
    }
  }
}
