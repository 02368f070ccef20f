// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof;

import java.io.IOException;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * A client that pipelines commands of the Redis protocol. A Redis server cannot announce that it
 * will close a connection. The client counts the commands that have no reply when the connection
 * ends. The caller must decide whether the server should have read a command without a reply. The
 * bucket shows whether the server executed a command without a reply.
 */
public final class RespClient implements Client {

  private final Connection connection;
  private final StringBuilder unsent = new StringBuilder();

  /**
   * Creates a client for a connection. Authenticates with the token of the operator if the server
   * requires a token.
   */
  RespClient(Connection connection, Keys keys) throws IOException {
    this.connection = connection;
    if (!keys.operator().isEmpty()) {
      Object reply = call("AUTH", keys.operator());
      if (!reply.equals("OK")) {
        throw new IOException("unexpected reply to AUTH: " + reply);
      }
    }
  }

  public static RespClient open(Server server) throws IOException {
    return new RespClient(server.endpoint(Door.RESP).connect(), server.keys());
  }

  /** An error reply. */
  public record Refusal(String text) {}

  /** Sets how long a read can take before it times out. */
  public void setPatience(int millis) throws IOException {
    connection.setPatience(millis);
  }

  /** Queues a command. {@link #reply} sends the queued commands. */
  public void send(String... words) {
    unsent.append('*').append(words.length).append("\r\n");
    for (String word : words) {
      unsent.append('$').append(word.length()).append("\r\n").append(word).append("\r\n");
    }
  }

  /**
   * Sends the queued commands and reads a reply. Returns an array as a list, and null as an empty
   * text.
   */
  public Object reply() throws IOException {
    flush();
    return reply(connection.line());
  }

  /** Sends a command and reads its reply. */
  public Object call(String... words) throws IOException {
    send(words);
    return reply();
  }

  private void flush() throws IOException {
    if (!unsent.isEmpty()) {
      byte[] bytes = Connection.ascii(unsent.toString());
      unsent.setLength(0);
      connection.write(bytes);
    }
  }

  @Override
  public Answers ask(String id, int requests) throws IOException {
    for (int i = 0; i < requests; i++) {
      send("SLUICE.SPEND", Door.LIMIT, id);
    }
    try {
      flush();
    } catch (IOException e) {
      // The server closed the connection, perhaps after some replies.
    }
    Answers all = Answers.NONE;
    for (int i = 0; i < requests; i++) {
      String head = connection.lineOrEnd();
      if (head == null) {
        return all.plus(new Answers(0, 0, 0, requests - i, true));
      }
      all = all.plus(Answers.of(value(list(reply(head)), "allowed").equals(1L)));
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
      return Outcome.UNDECIDED;
    }
    List<?> decision = list(reply);
    if (!value(decision, "allowed").equals(1L)) {
      return new Outcome(false, List.of());
    }
    if (act == Act.RESERVE) {
      Object cancelled = call("SLUICE.CANCEL", String.valueOf(value(decision, "token")));
      if (isUnavailable(cancelled)) {
        return Outcome.UNDECIDED;
      }
      if (!cancelled.equals("OK")) {
        throw new IOException("unexpected reply to a cancellation: " + cancelled);
      }
    }
    List<Long> remaining = new ArrayList<>();
    List<?> parts = act == Act.BATCH ? list(value(decision, "decisions")) : List.of(decision);
    for (Object part : parts) {
      remaining.add((Long) value(list(part), "remaining"));
    }
    return new Outcome(true, remaining);
  }

  private static String[] words(Act act, List<String> ids, int cost) {
    if (act != Act.BATCH) {
      return new String[] {"SLUICE." + act, Act.LIMIT, ids.get(0), "" + cost};
    }
    List<String> words = new ArrayList<>(List.of("SLUICE.BATCH", "SPEND"));
    for (String id : ids) {
      words.addAll(List.of(Act.LIMIT, id, "" + cost, "checkAndSpend"));
    }
    return words.toArray(String[]::new);
  }

  private static boolean isUnavailable(Object reply) {
    return reply instanceof Refusal refusal && refusal.text().startsWith("UNAVAILABLE");
  }

  private Object reply(String head) throws IOException {
    String rest = head.substring(1);
    return switch (head.charAt(0)) {
      case ':' -> Long.parseLong(rest);
      case '+' -> rest;
      case '-' -> new Refusal(rest);
      case '$' -> rest.equals("-1") ? "" : connection.line();
      case '*' -> {
        List<Object> values = new ArrayList<>();
        for (int left = Integer.parseInt(rest); left > 0; left--) {
          values.add(reply(connection.line()));
        }
        yield values;
      }
      default -> throw new IOException("unexpected reply: " + head);
    };
  }

  /** Returns an array reply as a list. Throws if the reply is not an array. */
  public static List<?> list(Object reply) throws IOException {
    if (reply instanceof List<?> values) {
      return values;
    }
    throw new IOException("unexpected reply: " + reply);
  }

  /** Returns the element that follows a name in a list. */
  public static Object value(List<?> decision, String name) throws IOException {
    int at = decision.indexOf(name);
    if (at < 0) {
      throw new IOException("%s is missing in %s".formatted(name, decision));
    }
    return decision.get(at + 1);
  }

  @Override
  public void close() throws IOException {
    connection.close();
  }
}
