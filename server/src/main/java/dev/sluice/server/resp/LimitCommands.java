// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import static dev.sluice.server.access.Permission.ADMIN;
import static dev.sluice.server.access.Permission.DECIDE;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.Decision;
import dev.sluice.Decision.DecidedBy;
import dev.sluice.Limiter;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.Transaction;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.access.AuditLog.Noted;
import dev.sluice.server.access.LimiterCalls;
import dev.sluice.server.resp.ErrorReplies.UnknownCommand;
import dev.sluice.server.resp.Request.Decimals;
import dev.sluice.server.resp.RespConnection.Session;
import dev.sluice.server.resp.SpendRun.LimitRun;
import dev.sluice.server.resp.SpendRun.LimitRuns;
import dev.sluice.server.stats.Denials;
import dev.sluice.wire.DecisionWriter;
import dev.sluice.wire.WireException;
import dev.sluice.wire.WireRequest;
import dev.sluice.wire.WireTransaction;
import io.netty.util.concurrent.FastThreadLocal;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * {@code SLUICE.SPEND}, {@code SPENDUPTO}, {@code CHECK}, {@code REFUND}, {@code RESET} and {@code
 * BATCH}: the limiter's operations on configured limits. Thread-safe.
 */
final class LimitCommands {

  /** The name that the audit log and the denial log use for the Redis protocol. */
  static final String DOOR = "resp";

  private static final String LIMIT_ID_COST = " limit id [cost]";
  private static final int LIMIT = 1;
  private static final int COST = 3;
  private static final int ARGUMENTS_OF_ONE = 4;
  private static final int FIRST_OF_BATCH = 2;
  private static final int MOST_NOTED = 10;
  static final String STORE = DecidedBy.STORE.word();
  private static final String LOCAL = DecidedBy.LOCAL.word();
  private static final long UNLIMITED = -1; // in place of the remaining tokens
  private static final byte[] ALLOWED_FIELD = field("allowed");
  private static final byte[] LIMITED_FIELD = field("limited");
  private static final byte[] REMAINING_FIELD = field("remaining");
  private static final byte[] RETRY_FIELD = field("retryInNanos");
  private static final byte[] RESET_FIELD = field("resetInNanos");
  private static final byte[] DEGRADED_FIELD = field("degraded");
  private static final byte[] DECIDED_BY_FIELD = field("decidedBy");
  static final int FIELDS =
      List.of(
              ALLOWED_FIELD,
              LIMITED_FIELD,
              REMAINING_FIELD,
              RETRY_FIELD,
              RESET_FIELD,
              DEGRADED_FIELD,
              DECIDED_BY_FIELD)
          .size();
  private static final BiConsumer<Decision, ReplyWriter> ONE = LimitCommands::writeOne;
  private static final BiConsumer<Decision, ReplyWriter> UP_TO = LimitCommands::writeUpTo;
  private static final BiConsumer<Decision, ReplyWriter> BATCH = LimitCommands::writeBatch;

  private final LimiterCalls acts;
  private final FastThreadLocal<LimitRuns> runs;

  LimitCommands(Limiter limiter, AuditLog audit, Denials denials) {
    this.runs =
        new FastThreadLocal<>() {
          @Override
          protected LimitRuns initialValue() {
            return new LimitRuns(limiter, denials);
          }
        };
    this.acts = new LimiterCalls(limiter, audit, denials, DOOR);
  }

  List<Command> all() {
    return List.of(
        Command.gathering(
            "SLUICE.SPEND" + LIMIT_ID_COST,
            DECIDE,
            "Spends the cost if the bucket has the tokens",
            this::spend),
        Command.writing(
            "SLUICE.SPENDUPTO limit id cost",
            DECIDE,
            "Spends as many tokens as the bucket has, up to the cost",
            this::spendUpTo),
        Command.of(
            "SLUICE.CHECK" + LIMIT_ID_COST,
            DECIDE,
            "Reports whether the cost could be spent",
            (request, session) -> one(Act.CHECK, request, session)),
        Command.noted(
            "SLUICE.REFUND" + LIMIT_ID_COST,
            ADMIN,
            "Refunds the given cost",
            request -> List.of(noted(Act.REFUND, request, LIMIT)),
            (request, session) -> one(Act.REFUND, request, session)),
        Command.noted(
            "SLUICE.RESET limit id",
            ADMIN,
            "Resets a bucket, so that it is full again",
            request -> List.of(noted(Act.RESET, request, LIMIT)),
            (request, session) -> one(Act.RESET, request, session)),
        Command.noted(
            "SLUICE.BATCH act limit id cost kind [transaction...]",
            DECIDE,
            "Applies an operation to several buckets, all or none of them",
            LimitCommands::notedBatch,
            this::batch));
  }

  private static Noted noted(Act act, Request request, int at) {
    return Noted.of(act, legible(request, at), legible(request, at + 1));
  }

  private static List<Noted> notedBatch(Request request) {
    Act act = request.count() > 1 ? actOrNull(request) : null;
    if (act == null || !AuditLog.notes(act)) {
      return List.of();
    }
    List<Noted> noted = new ArrayList<>();
    int at = FIRST_OF_BATCH;
    do {
      noted.add(noted(act, request, at));
      at += ARGUMENTS_OF_ONE;
    } while (at < request.count() && noted.size() < MOST_NOTED);
    return noted;
  }

  private static @Nullable String legible(Request request, int index) {
    return request.count() > index ? UnknownCommand.shown(request, index) : null;
  }

  /** Handles {@code SLUICE.SPEND}. */
  private void spend(Request request, Session session) {
    Replies replies = session.replies();
    LimitRun run = replies.waiting() == 0 ? runs.get().find(request, LIMIT) : null;
    long cost = request.count() > COST ? costOr(-1, request) : 1;
    if (run != null && cost >= 0) {
      session.caller().require(Act.SPEND, run.limit());
      if (run.add(replies, request, cost)) {
        return;
      }
    }
    replies.settle();
    one(Act.SPEND, request, session);
  }

  private static long costOr(long otherwise, Request request) {
    return Decimals.readOr(otherwise, request.bytes(), request.start(COST), request.length(COST));
  }

  private void one(Act act, Request request, Session session) {
    decideOn(act, request, WireRequest::of, ONE, session);
  }

  private void spendUpTo(Request request, Session session) {
    decideOn(Act.SPEND, request, WireRequest::ofUpTo, UP_TO, session);
  }

  private void decideOn(
      Act act,
      Request request,
      Function<WireTransaction, WireRequest> wire,
      BiConsumer<Decision, ReplyWriter> reply,
      Session session) {
    WireRequest single;
    try {
      single = wire.apply(single(request));
    } catch (WireException e) {
      refuse(e, session);
      return;
    }
    decide(act, single, reply, session);
  }

  private static WireTransaction single(Request request) {
    Long cost = request.count() > COST ? cost(request, COST) : null;
    return new WireTransaction(text(request, 1, "limit"), text(request, 2, "id"), cost, null);
  }

  List<Transaction> transaction(Request request, Session session) {
    return acts.transactions(WireRequest.of(single(request)), session.caller());
  }

  @CanIgnoreReturnValue
  Decision reported(Decision decision) {
    return acts.reported(decision);
  }

  /** Replies with the mistakes in a request, which the server found before calling the limiter. */
  private static void refuse(WireException e, Session session) {
    session.noteRefused(String.valueOf(e.getMessage()));
    session.replies().error("ERR", everything(e));
  }

  private void batch(Request request, Session session) {
    Act act;
    List<WireTransaction> wires = new ArrayList<>();
    try {
      act = act(request);
      if ((request.count() - FIRST_OF_BATCH) % ARGUMENTS_OF_ONE != 0) {
        throw new WireException(
            null,
            "found %s arguments after the operation, expected four for each transaction: limit, id, cost and kind"
                .formatted(request.count() - FIRST_OF_BATCH));
      }
      for (int i = FIRST_OF_BATCH; i < request.count(); i += ARGUMENTS_OF_ONE) {
        wires.add(transaction(act, request, i));
      }
    } catch (WireException e) {
      refuse(e, session);
      return;
    }
    decide(act, WireRequest.ofBatch(wires), BATCH, session);
  }

  private static Act act(Request request) {
    Act act = actOrNull(request);
    if (act == null) {
      throw new WireException(
          null,
          "act: found %s, expected CHECK, SPEND, REFUND or RESET"
              .formatted(UnknownCommand.shown(request, 1)));
    }
    return act;
  }

  private static @Nullable Act actOrNull(Request request) {
    for (Act act : Act.values()) {
      if (request.is(1, act.name())) {
        return act;
      }
    }
    return null;
  }

  private static WireTransaction transaction(Act act, Request request, int at) {
    String limit = text(request, at, "limit");
    String id = text(request, at + 1, "id");
    long cost = cost(request, at + 2);
    return act == Act.RESET
        ? new WireTransaction(limit, id, null, null) // a reset has no cost
        : new WireTransaction(limit, id, cost, text(request, at + 3, "kind"));
  }

  private void decide(
      Act act, WireRequest wire, BiConsumer<Decision, ReplyWriter> reply, Session session) {
    CompletionStage<Optional<Decision>> sent;
    try {
      sent = acts.send(act, wire, session.caller());
    } catch (WireException e) {
      session.replies().error("ERR", everything(e));
      return;
    }
    session
        .replies()
        .later(
            sent,
            (decision, writer) -> {
              if (act == Act.RESET) {
                writer.ok(); // a reset always succeeds; other commands report penalties
              } else {
                reply.accept(decision.orElseThrow(), writer);
              }
            });
  }

  static long cost(Request request, int index) {
    OptionalLong cost = Decimals.read(request.bytes(), request.start(index), request.length(index));
    if (cost.isEmpty()) {
      throw new WireException(
          null,
          "cost: found %s, expected a whole number of tokens"
              .formatted(UnknownCommand.shown(request, index)));
    }
    return cost.getAsLong();
  }

  static String text(Request request, int index, String what) {
    try {
      return StandardCharsets.UTF_8
          .newDecoder()
          .decode(ByteBuffer.wrap(request.bytes(), request.start(index), request.length(index)))
          .toString();
    } catch (CharacterCodingException e) {
      throw new WireException(null, what + ": found bytes that are not UTF-8, expected text");
    }
  }

  static String everything(WireException e) {
    List<String> mistakes = new ArrayList<>();
    e.mistakes().forEach(mistake -> mistakes.add(mistake.toString()));
    int more = e.count() - mistakes.size();
    return String.join("; ", mistakes) + (more > 0 ? " (and %s more)".formatted(more) : "");
  }

  private static void writeOne(Decision decision, ReplyWriter writer) {
    writer.map(FIELDS);
    writeFields(DecisionWriter.ofOne(decision), writer);
  }

  private static void writeUpTo(Decision decision, ReplyWriter writer) {
    writer.map(FIELDS + 1);
    writer.text("taken");
    writer.number(decision.taken());
    writeFields(DecisionWriter.ofOne(decision), writer);
  }

  private static void writeBatch(Decision decision, ReplyWriter writer) {
    writer.map(FIELDS + 1);
    writeFields(decision, writer);
    writer.text("decisions");
    writer.array(decision.parts().size());
    for (Decision part : decision.parts()) {
      writer.map(FIELDS);
      writeFields(part, writer);
    }
  }

  static void writeFields(Decision decision, ReplyWriter writer) {
    writeFields(
        decision.allowed(),
        decision.limited() ? decision.remaining() : UNLIMITED,
        decision.retryInNanos(),
        decision.resetInNanos(),
        decision.decidedBy().word(),
        writer);
  }

  /** Writes the fields of a decision. */
  static void writeFields(
      boolean allowed,
      long remaining,
      long retryInNanos,
      long resetInNanos,
      String decidedBy,
      ReplyWriter writer) {
    boolean knowsBucket = decidedBy.equals(STORE) || decidedBy.equals(LOCAL);
    writer.text(ALLOWED_FIELD);
    writer.flag(allowed);
    writer.text(LIMITED_FIELD);
    writer.flag(remaining != UNLIMITED);
    writer.text(REMAINING_FIELD);
    if (remaining == UNLIMITED || !knowsBucket) {
      writer.nothing();
    } else {
      writer.number(remaining);
    }
    writer.text(RETRY_FIELD);
    writer.number(retryInNanos);
    writer.text(RESET_FIELD);
    if (knowsBucket) {
      writer.number(resetInNanos);
    } else {
      writer.nothing();
    }
    writer.text(DEGRADED_FIELD);
    writer.flag(!decidedBy.equals(STORE));
    writer.text(DECIDED_BY_FIELD);
    writer.text(decidedBy);
  }

  private static byte[] field(String name) {
    return name.getBytes(StandardCharsets.US_ASCII);
  }
}
