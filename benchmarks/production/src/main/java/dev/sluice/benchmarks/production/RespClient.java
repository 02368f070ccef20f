// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.production;

import java.io.EOFException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Pipelined commands of the Redis protocol, which has no goodbye but the end of the connection.
 * Commands without a reply at that end are counted. The caller tells whether they were sent too
 * late to be read, and compares with the bucket whether one was run.
 */
final class RespClient implements Client {

  private final Wire wire;

  RespClient(Wire wire) {
    this.wire = wire;
  }

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
      List<Object> decision = decision(head);
      int at = decision.indexOf("allowed");
      if (at < 0) {
        throw new IOException("answered " + decision);
      }
      all = all.plus(Answers.of(decision.get(at + 1).equals(1L)));
    }
    return all;
  }

  /** Sends commands that make buckets, and reads their replies. */
  void throttle(String prefix, int from, int to) throws IOException {
    StringBuilder all = new StringBuilder();
    for (int i = from; i < to; i++) {
      all.append(command("CL.THROTTLE", prefix + i, "10", "1", "86400"));
    }
    wire.write(Wire.ascii(all.toString()));
    for (int i = from; i < to; i++) {
      List<Object> unused = decision(line());
    }
  }

  private static String command(String... words) {
    StringBuilder command = new StringBuilder("*" + words.length + "\r\n");
    for (String word : words) {
      command.append('$').append(word.length()).append("\r\n").append(word).append("\r\n");
    }
    return command.toString();
  }

  private List<Object> decision(String head) throws IOException {
    if (!head.startsWith("*")) {
      throw new IOException("answered " + head);
    }
    List<Object> values = new ArrayList<>();
    for (int left = Integer.parseInt(head.substring(1)); left > 0; left--) {
      String value = line();
      switch (value.charAt(0)) {
        case ':' -> values.add(Long.parseLong(value.substring(1)));
        case '+' -> values.add(value.substring(1));
        case '$' -> values.add(value.equals("$-1") ? "" : line());
        default -> throw new IOException("answered " + value);
      }
    }
    return values;
  }

  private String line() throws IOException {
    String line = wire.line();
    if (line == null) {
      throw new EOFException("closed amid a reply");
    }
    return line;
  }

  @Override
  public void close() throws IOException {
    wire.close();
  }
}
