// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.production;

import java.io.EOFException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * Pipelined commands of the Redis protocol, which has no goodbye but the end of the connection.
 * Commands without a reply at that end are counted. The caller tells whether they were sent too
 * late to be read, and compares with the bucket whether one was run.
 */
final class RespClient implements Client {

  private static final String UNAVAILABLE = "UNAVAILABLE";

  private final Wire wire;

  /** Connects, and shows a token that may refund, where the server asks for one. */
  RespClient(Wire wire, Keys keys) throws IOException {
    this.wire = wire;
    if (!keys.operator().isEmpty()) {
      wire.write(Wire.ascii(command("AUTH", keys.operator())));
      Object reply = reply(line());
      if (!reply.equals("OK")) {
        throw new IOException("AUTH was answered " + reply);
      }
    }
  }

  /** A reply that is an error. */
  private record Refusal(String text) {}

  @Override
  public Answers ask(String id, int requests) throws IOException {
    String command = command("SLUICE.SPEND", Door.LIMIT, id);
    try {
      wire.write(Wire.ascii(command.repeat(requests)));
    } catch (IOException e) {
      // The server has closed; replies may have come before that.
    }
    Answers all = Answers.none();
    for (int i = 0; i < requests; i++) {
      String head = wire.line();
      if (head == null) {
        return all.plus(new Answers(0, 0, 0, requests - i, true));
      }
      all = all.plus(Answers.of(value(decision(reply(head)), "allowed").equals(1L)));
    }
    return all;
  }

  @Override
  public Set<Act> acts() {
    return EnumSet.allOf(Act.class);
  }

  @Override
  public Outcome act(Act act, List<String> ids, int cost) throws IOException {
    Object reply = call(words(act, ids, cost));
    if (isUnavailable(reply)) {
      return Outcome.undecided();
    }
    List<?> decision = decision(reply);
    if (!value(decision, "allowed").equals(1L)) {
      return new Outcome(false, List.of());
    }
    if (act == Act.RESERVE) {
      Object cancelled = call("SLUICE.CANCEL", String.valueOf(value(decision, "token")));
      if (isUnavailable(cancelled)) {
        return Outcome.undecided();
      }
      if (!cancelled.equals("OK")) {
        throw new IOException("a cancellation was answered " + cancelled);
      }
    }
    List<Long> remaining = new ArrayList<>();
    List<?> parts = act == Act.BATCH ? decision(value(decision, "decisions")) : List.of(decision);
    for (Object part : parts) {
      remaining.add((Long) value(decision(part), "remaining"));
    }
    return new Outcome(true, remaining);
  }

  private static String[] words(Act act, List<String> ids, int cost) {
    if (act != Act.BATCH) {
      return new String[] {"SLUICE." + act, Ledger.LIMIT, ids.get(0), "" + cost};
    }
    List<String> words = new ArrayList<>(List.of("SLUICE.BATCH", "SPEND"));
    for (String id : ids) {
      words.addAll(List.of(Ledger.LIMIT, id, "" + cost, "checkAndSpend"));
    }
    return words.toArray(String[]::new);
  }

  private Object call(String... words) throws IOException {
    wire.write(Wire.ascii(command(words)));
    return reply(line());
  }

  private static boolean isUnavailable(Object reply) {
    return reply instanceof Refusal refusal && refusal.text().startsWith(UNAVAILABLE);
  }

  /** Sends commands that make buckets, and reads their replies. */
  void throttle(String prefix, int from, int to) throws IOException {
    StringBuilder all = new StringBuilder();
    for (int i = from; i < to; i++) {
      all.append(command("CL.THROTTLE", prefix + i, "10", "1", "86400"));
    }
    wire.write(Wire.ascii(all.toString()));
    for (int i = from; i < to; i++) {
      List<?> unused = decision(reply(line()));
    }
  }

  private static String command(String... words) {
    StringBuilder command = new StringBuilder("*" + words.length + "\r\n");
    for (String word : words) {
      command.append('$').append(word.length()).append("\r\n").append(word).append("\r\n");
    }
    return command.toString();
  }

  /** An array as a list, null as an empty text. */
  private Object reply(String head) throws IOException {
    String rest = head.substring(1);
    return switch (head.charAt(0)) {
      case ':' -> Long.parseLong(rest);
      case '+' -> rest;
      case '-' -> new Refusal(rest);
      case '$' -> rest.equals("-1") ? "" : line();
      case '*' -> {
        List<Object> values = new ArrayList<>();
        for (int left = Integer.parseInt(rest); left > 0; left--) {
          values.add(reply(line()));
        }
        yield values;
      }
      default -> throw new IOException("answered " + head);
    };
  }

  private static List<?> decision(Object reply) throws IOException {
    if (reply instanceof List<?> values) {
      return values;
    }
    throw new IOException("answered " + reply);
  }

  /** The value behind a name. */
  private static Object value(List<?> decision, String name) throws IOException {
    int at = decision.indexOf(name);
    if (at < 0) {
      throw new IOException("%s is missing in %s".formatted(name, decision));
    }
    return decision.get(at + 1);
  }

  private String line() throws IOException {
    String line = wire.line();
    if (line == null) {
      throw new EOFException("closed without a reply, or amid one");
    }
    return line;
  }

  @Override
  public void close() throws IOException {
    wire.close();
  }
}
