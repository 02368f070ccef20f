// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import static dev.sluice.server.access.Permission.DECIDE;

import dev.sluice.Reservation.Costs;
import dev.sluice.Reservation.Settlement;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.server.reservation.Reservations;
import dev.sluice.server.reservation.Reservations.Held;
import dev.sluice.server.resp.ErrorReplies.UnknownCommand;
import dev.sluice.server.resp.RespConnection.Session;
import dev.sluice.wire.DecisionWriter;
import dev.sluice.wire.WireException;
import dev.sluice.wire.WireReader;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * {@code SLUICE.RESERVE}, {@code SLUICE.CANCEL} and {@code SLUICE.SETTLE}: commands for a spend
 * that can be cancelled or settled with a token. Thread-safe.
 */
record ReservationCommands(LimitCommands limits, Reservations reservations) {

  private static final int EXPIRES = 4;
  private static final int SETTLED_FIELDS = 7;
  private static final String ALLOW_ZERO = "ALLOWZERO";

  List<Command> all() {
    return List.of(
        Command.writing(
            "SLUICE.RESERVE limit id [cost] [expires]",
            DECIDE,
            "Spends the cost, and replies with a token that cancels the spend",
            this::reserve),
        Command.writing(
            "SLUICE.CANCEL token",
            DECIDE,
            "Refunds the reserved tokens that were not refilled meanwhile",
            this::cancel),
        Command.writing(
            "SLUICE.SETTLE token limit cost [more...]",
            DECIDE,
            "Replaces reserved costs by the true ones",
            this::settle));
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
      session
          .replies()
          .later(
              reservations.cancel(token, session.caller()::requireLimit),
              (nothing, writer) -> writer.ok());
    } catch (WireException e) {
      session.replies().error("ERR", LimitCommands.everything(e));
    }
  }

  /** Handles {@code SLUICE.SETTLE token limit cost [limit cost …] [ALLOWZERO]}. */
  private void settle(Request request, Session session) {
    try {
      String token = LimitCommands.text(request, 1, "token");
      boolean hasWord = request.count() % 2 != 0;
      if (hasWord && !request.is(request.count() - 1, ALLOW_ZERO)) {
        throw new WireException(
            null,
            "found %s after the costs, expected %s or a limit and its cost"
                .formatted(UnknownCommand.shown(request, request.count() - 1), ALLOW_ZERO));
      }
      WireReader.requireFew((request.count() - 2) / 2);
      Costs costs = Costs.of(Map.of());
      for (int i = 2; i + 1 < request.count(); i += 2) {
        costs =
            costs.and(LimitCommands.text(request, i, "limit"), LimitCommands.cost(request, i + 1));
      }
      session
          .replies()
          .later(
              reservations.settle(
                  token, session.caller()::requireLimit, hasWord ? costs.allowZero() : costs),
              ReservationCommands::writeSettled);
    } catch (WireException e) {
      session.replies().error("ERR", LimitCommands.everything(e));
    } catch (InvalidRequestException e) {
      session.replies().error("ERR", String.valueOf(e.getMessage()));
    }
  }

  private static void writeSettled(Settlement settlement, ReplyWriter writer) {
    writer.map(settlement.waiting() ? 3 : 2);
    writer.text("settled");
    writer.flag(settlement.settled());
    if (settlement.waiting()) {
      writer.text("waiting");
      writer.flag(true);
    }
    writer.text("limits");
    writer.array(settlement.parts().size());
    for (Settlement.Part part : settlement.parts()) {
      Transaction transaction = part.transaction();
      Quota quota = transaction.quotas().size() > 1 ? transaction.quota() : null;
      writer.map(quota == null ? SETTLED_FIELDS : SETTLED_FIELDS + 1);
      writer.text("limit");
      writer.text(transaction.name().name());
      writer.text("id");
      writer.text(transaction.id());
      if (quota != null) {
        writer.text("period");
        writer.text(GoDuration.format(quota.period()));
      }
      writer.text("charged");
      writer.number(part.charged());
      writer.text("givenBack");
      writer.number(part.givenBack());
      writer.text("owed");
      writer.number(part.owed());
      writer.text("cut");
      writer.number(part.cut());
      writer.text("remaining");
      writer.number(part.remaining());
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
