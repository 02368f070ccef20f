// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import dev.sluice.server.access.AuditLog.Noted;
import dev.sluice.server.access.Permission;
import dev.sluice.server.resp.RespConnection.Session;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/** A Redis command: its name, its arguments, and its action. */
final class Command {

  @FunctionalInterface
  interface Action {

    /**
     * Handles a request. A command must reply exactly once; the reply can follow after this method
     * returns.
     */
    void call(Request request, Session session);
  }

  /** Lists the operations of a request that the audit log must record. */
  interface Asked {

    /** Returns a request's operations for the audit log; empty if the log records none of them. */
    List<Noted> acts(Request request);
  }

  private static final int ANY = Integer.MAX_VALUE;

  private final Usage usage;
  private final byte[] nameBytes;
  private final String summary;
  private final boolean gathers;
  private final boolean writes;
  private final Asked asked;
  private final Action body;
  private final Permission need;
  private final int least;
  private final int most;
  private final LongAdder calls = new LongAdder();

  private Command(
      Usage usage,
      Permission need,
      String summary,
      boolean gathers,
      boolean writes,
      Asked asked,
      Action body) {
    List<Argument> arguments = usage.arguments();
    this.usage = usage;
    this.nameBytes = usage.name().getBytes(StandardCharsets.US_ASCII);
    this.summary = summary;
    this.gathers = gathers;
    this.writes = writes;
    this.asked = asked;
    this.body = body;
    this.need = need;
    this.least = 1 + (int) arguments.stream().filter(a -> !a.optional()).count();
    this.most = arguments.stream().anyMatch(Argument::repeated) ? ANY : 1 + arguments.size();
  }

  /**
   * Makes a command that changes no bucket.
   *
   * @param usage the name and the arguments in the notation of help texts: {@code SLUICE.SPEND
   *     limit id [cost]}. Brackets make an argument optional; "..." lets the last argument repeat;
   *     {@code COMMAND} tells clients that an argument named "key" is a Redis key
   * @param summary what the command does, for {@code COMMAND DOCS}
   */
  static Command of(String usage, Permission need, String summary, Action body) {
    return new Command(Usage.of(usage), need, summary, false, false, request -> List.of(), body);
  }

  static Command writing(String usage, Permission need, String summary, Action body) {
    return new Command(Usage.of(usage), need, summary, false, true, request -> List.of(), body);
  }

  /**
   * Makes a command that can change a bucket; the server can {@linkplain Replies#gather gather}
   * several requests of the command and decide them together.
   */
  static Command gathering(String usage, Permission need, String summary, Action body) {
    return new Command(Usage.of(usage), need, summary, true, true, request -> List.of(), body);
  }

  /** Makes a command that can change a bucket and is recorded in the audit log. */
  static Command noted(String usage, Permission need, String summary, Asked asked, Action body) {
    return new Command(Usage.of(usage), need, summary, false, true, asked, body);
  }

  /** The syntax of a command. */
  private record Usage(String name, List<Argument> arguments, boolean hasKey) {

    static Usage of(String text) {
      String[] words = text.split(" ");
      List<Argument> arguments =
          List.of(words).subList(1, words.length).stream().map(Argument::of).toList();
      boolean hasKey = arguments.stream().anyMatch(a -> a.name().equals("key"));
      return new Usage(words[0], arguments, hasKey);
    }
  }

  record Argument(String name, boolean optional, boolean repeated) {

    static Argument of(String word) {
      boolean repeated = word.contains("...");
      boolean optional = word.startsWith("[");
      String name = word.replace("...", "").replace("[", "").replace("]", "");
      return new Argument(name, optional, repeated);
    }

    @Override
    public String toString() {
      String shown = repeated ? name + "..." : name;
      return optional ? "[" + shown + "]" : shown;
    }
  }

  /** Whether an argument of a request is this command's name in capitals. */
  boolean isNamed(Request request, int index) {
    return request.is(index, nameBytes);
  }

  String name() {
    return usage.name();
  }

  String lowerCaseName() {
    return usage.name().toLowerCase(Locale.ROOT);
  }

  String summary() {
    return summary;
  }

  List<Argument> arguments() {
    return usage.arguments();
  }

  Permission need() {
    return need;
  }

  boolean hasKey() {
    return usage.hasKey();
  }

  boolean writes() {
    return writes;
  }

  /** Whether requests of {@link Replies#gather} can stay undecided while this command runs. */
  boolean gathers() {
    return gathers;
  }

  List<Noted> acts(Request request) {
    return asked.acts(request);
  }

  /** Returns Redis' arity: the number of arguments with the name, negative if more may follow. */
  int arity() {
    return least == most ? least : -least;
  }

  long calls() {
    return calls.sum();
  }

  /**
   * Adds several calls of this command to the counter at once, since each update costs as much as
   * parsing an argument.
   */
  void count(int newCalls) {
    calls.add(newCalls);
  }

  /**
   * Runs the command; if the number of arguments is wrong, replies with an error that contains the
   * command's syntax. The caller must first call {@link #count} for the request.
   */
  void call(Request request, Session session) {
    if (request.count() < least || request.count() > most) {
      String wrong = wrongArguments();
      session.noteRefused(wrong);
      session.error("ERR", wrong);
    } else {
      body.call(request, session);
    }
  }

  private String wrongArguments() {
    StringBuilder text = new StringBuilder("wrong number of arguments for '");
    text.append(lowerCaseName()).append("' command, expected ").append(usage.name());
    usage.arguments().forEach(argument -> text.append(' ').append(argument));
    return text.toString();
  }

  /** A hash table of commands by the bytes of their names; a search makes no string. */
  static final class CommandTable {

    private final List<Command> commands;
    private final @Nullable Command[] slots;

    CommandTable(List<Command> commands) {
      this.commands = List.copyOf(commands);
      this.slots = new @Nullable Command[Integer.highestOneBit(commands.size()) * 4];
      for (Command command : commands) {
        int slot = hash(command.name());
        while (slots[slot & slots.length - 1] != null) {
          slot++;
        }
        slots[slot & slots.length - 1] = command;
      }
    }

    List<Command> all() {
      return commands;
    }

    /** Returns the command whose name is this argument, ignoring case; null for none. */
    @Nullable Command find(Request request, int index) {
      int slot = hash(request, index);
      Command found = slots[slot & slots.length - 1];
      while (found != null && !request.is(index, found.name())) {
        slot++;
        found = slots[slot & slots.length - 1];
      }
      return found;
    }

    private static int hash(String name) {
      int hash = 0;
      for (int i = 0; i < name.length(); i++) {
        hash = 31 * hash + name.charAt(i);
      }
      return hash;
    }

    private static int hash(Request request, int index) {
      byte[] bytes = request.bytes();
      int start = request.start(index);
      int end = start + request.length(index);
      int hash = 0;
      for (int i = start; i < end; i++) {
        hash = 31 * hash + Request.upper(bytes[i]);
      }
      return hash;
    }
  }
}
