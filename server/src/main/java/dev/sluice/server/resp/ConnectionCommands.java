// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import static dev.sluice.server.access.Permission.A_NAME;
import static dev.sluice.server.access.Permission.NOTHING;

import dev.sluice.server.resp.Command.CommandTable;
import dev.sluice.server.resp.ErrorReplies.UnknownCommand;
import dev.sluice.server.resp.Request.Decimals;
import dev.sluice.server.resp.RespConnection.Session;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Commands with which clients connect and identify themselves. Thread-safe. */
final class ConnectionCommands {

  /** The command that ends the connection, even if the client sends too many requests. */
  static final String QUIT = "QUIT";

  /** From this Redis version, clients conclude that RESP3 and CLIENT SETINFO are supported. */
  private static final String REDIS_VERSION = "7.2.0";

  private static final Map<String, String> CONFIGURATION = Map.of("save", "", "appendonly", "no");
  private static final String DEFAULT_USER = "default";
  private static final int MAX_NAME = 256;

  private final String version;
  private final Supplier<String> statistics;
  private @Nullable CommandTable table; // set once, before the first connection

  /** Makes the commands; {@code statistics} returns the counters in the reply to INFO. */
  ConnectionCommands(String version, Supplier<String> statistics) {
    this.version = version;
    this.statistics = statistics;
  }

  List<Command> all() {
    return List.of(
        Command.of(
            "PING [message]", A_NAME, "Replies PONG, or the argument", ConnectionCommands::ping),
        Command.of("ECHO message", A_NAME, "Replies the message", ConnectionCommands::echo),
        Command.of("HELLO [version] [option...]", NOTHING, "Chooses RESP2 or RESP3", this::hello),
        Command.of("AUTH [user] password", NOTHING, "Shows a token", this::auth),
        Command.of(
            "CLIENT subcommand [argument...]", A_NAME, "Names this connection", this::client),
        Command.of("COMMAND [subcommand] [name...]", A_NAME, "Lists the commands", this::command),
        Command.of(
            "CONFIG subcommand [argument...]",
            A_NAME,
            "Reports that nothing is written to a disk",
            this::config),
        Command.of("INFO [section...]", A_NAME, "Describes the server", this::info),
        Command.of("SELECT index", A_NAME, "Accepts database 0", ConnectionCommands::select),
        Command.of(
            "CLUSTER subcommand [argument...]", A_NAME, "Is refused: no cluster", this::cluster),
        Command.of("READONLY", A_NAME, "Is refused: no cluster", this::cluster),
        Command.of("READWRITE", A_NAME, "Is refused: no cluster", this::cluster),
        Command.of("RESET", NOTHING, "Resets the connection", ConnectionCommands::reset),
        Command.of(QUIT, NOTHING, "Ends the connection", ConnectionCommands::quit));
  }

  /** Sets the table of commands; must be called before the first connection. */
  void table(CommandTable all) {
    table = all;
  }

  private static void ping(Request request, Session session) {
    if (request.count() == 1) {
      session.replies().now(writer -> writer.simple("PONG"));
    } else {
      echo(request, session);
    }
  }

  private static void echo(Request request, Session session) {
    byte[] message = request.copy(1);
    session.replies().now(writer -> writer.text(message, 0, message.length));
  }

  private void hello(Request request, Session session) {
    boolean resp3 = session.replies().isResp3();
    int at = 1;
    if (request.count() > 1) {
      if (!request.is(1, "2") && !request.is(1, "3")) {
        session.error("NOPROTO", "unsupported protocol version");
        return;
      }
      resp3 = request.is(1, "3");
      at = 2;
    }
    String name = session.clientName();
    while (at < request.count()) {
      if (request.is(at, "AUTH") && at + 2 < request.count()) {
        if (!isAuthentic(session, request.text(at + 1), request.text(at + 2))) {
          refuseUser(session);
          return;
        }
        at += 3;
      } else if (request.is(at, "SETNAME") && at + 1 < request.count()) {
        name = request.text(at + 1);
        if (!isName(name)) {
          refuseName(session);
          return;
        }
        at += 2;
      } else {
        session.error("ERR", "Syntax error in HELLO option '%s'".formatted(shown(request, at)));
        return;
      }
    }
    if (!session.identity().isKnown()) {
      session.error(
          "NOAUTH",
          "HELLO must be called with the client already authenticated, otherwise the HELLO"
              + " <proto> AUTH <user> <pass> option can be used to authenticate the client and"
              + " select the RESP protocol version at the same time");
      return;
    }
    session.countWithoutToken();
    session.clientName(name);
    session.replies().resp3(resp3);
    int chosen = resp3 ? 3 : 2;
    session
        .replies()
        .now(
            writer -> {
              writer.map(7);
              pair(writer, "server", "sluice");
              pair(writer, "version", REDIS_VERSION);
              writer.text("proto");
              writer.number(chosen);
              writer.text("id");
              writer.number(session.id());
              pair(writer, "mode", "standalone");
              pair(writer, "role", "master");
              writer.text("modules");
              writer.array(0);
            });
  }

  private static void pair(ReplyWriter writer, String key, String value) {
    writer.text(key);
    writer.text(value);
  }

  private void auth(Request request, Session session) {
    if (!session.identity().isOpen()) {
      int count = request.count();
      String user = count == 2 ? null : request.text(1);
      if (session.identity().authenticate(user, request.text(count - 1))) {
        session.replies().now(ReplyWriter::ok);
      } else {
        refuseUser(session);
      }
    } else if (request.count() == 2) {
      session
          .replies()
          .error(
              "ERR",
              "AUTH <password> called without any password configured for the default user:"
                  + " this server has none");
    } else if (request.text(1).equals(DEFAULT_USER)) {
      session.replies().now(ReplyWriter::ok); // as Redis replies if the user needs no password
    } else {
      refuseUser(session);
    }
  }

  /** Whether a user name and token are valid. */
  private static boolean isAuthentic(Session session, String user, String token) {
    return session.identity().isOpen()
        ? user.equals(DEFAULT_USER)
        : session.identity().authenticate(user, token);
  }

  private static void refuseUser(Session session) {
    session.replies().error("WRONGPASS", "invalid username-password pair or user is disabled.");
  }

  private void client(Request request, Session session) {
    Replies replies = session.replies();
    int count = request.count();
    if (request.is(1, "ID") && count == 2) {
      replies.now(writer -> writer.number(session.id()));
    } else if (request.is(1, "GETNAME") && count == 2) {
      String name = session.clientName();
      replies.now(
          writer -> {
            if (name.isEmpty()) {
              writer.nothing();
            } else {
              writer.text(name);
            }
          });
    } else if (request.is(1, "SETNAME") && count == 3) {
      String name = request.text(2);
      if (isName(name)) {
        session.clientName(name);
        replies.now(ReplyWriter::ok);
      } else {
        refuseName(session);
      }
    } else if (isWithoutEffect(request)) {
      replies.now(ReplyWriter::ok);
    } else if ((request.is(1, "INFO") || request.is(1, "LIST")) && count == 2) {
      String line = line(session);
      replies.now(writer -> writer.text(line));
    } else {
      unknownSubcommand(request, session, "CLIENT");
    }
  }

  /** Whether a CLIENT subcommand changes nothing in this server, which only replies OK. */
  private static boolean isWithoutEffect(Request request) {
    int count = request.count();
    return (request.is(1, "SETINFO") && count == 4)
        || ((request.is(1, "NO-EVICT") || request.is(1, "NO-TOUCH")) && count == 3)
        || (request.is(1, "REPLY") && count == 3 && request.is(2, "ON"));
  }

  private static boolean isName(String name) {
    return name.length() <= MAX_NAME && name.chars().allMatch(c -> c > ' ' && c < 0x7f);
  }

  private static void refuseName(Session session) {
    session.error(
        "ERR",
        "Client names cannot contain spaces, newlines or special characters, and have at most"
            + " %s characters".formatted(MAX_NAME));
  }

  private static String line(Session session) {
    String address =
        session.remote() instanceof InetSocketAddress remote
            ? remote.getAddress().getHostAddress() + ":" + remote.getPort()
            : session.remote().toString();
    return "id=%s addr=%s name=%s db=0 resp=%s\n"
        .formatted(
            session.id(), address, session.clientName(), session.replies().isResp3() ? 3 : 2);
  }

  private void command(Request request, Session session) {
    CommandTable all = table();
    Replies replies = session.replies();
    if (request.count() == 1) {
      replies.now(writer -> infos(all.all(), writer));
    } else if (request.is(1, "COUNT") && request.count() == 2) {
      replies.now(writer -> writer.number(all.all().size()));
    } else if (request.is(1, "INFO")) {
      List<@Nullable Command> asked = asked(request, all);
      replies.now(writer -> infos(asked, writer));
    } else if (request.is(1, "DOCS")) {
      List<@Nullable Command> asked = asked(request, all);
      replies.now(writer -> docs(asked, writer));
    } else {
      unknownSubcommand(request, session, "COMMAND");
    }
  }

  private CommandTable table() {
    if (table == null) {
      throw new IllegalStateException("the table of commands was not set");
    }
    return table;
  }

  /**
   * Returns the commands that a request names, with null for each unknown name; all commands if the
   * request contains no name.
   */
  private static List<@Nullable Command> asked(Request request, CommandTable all) {
    if (request.count() == 2) {
      return new ArrayList<>(all.all());
    }
    List<@Nullable Command> asked = new ArrayList<>();
    for (int i = 2; i < request.count(); i++) {
      asked.add(all.find(request, i));
    }
    return asked;
  }

  private static void infos(List<? extends @Nullable Command> commands, ReplyWriter writer) {
    writer.array(commands.size());
    for (Command command : commands) {
      if (command == null) {
        writer.nothing();
      } else {
        info(command, writer);
      }
    }
  }

  private static void info(Command command, ReplyWriter writer) {
    int key = command.hasKey() ? 1 : 0;
    writer.array(10);
    writer.text(command.lowerCaseName());
    writer.number(command.arity());
    writer.array(command.writes() ? 2 : 1); // flags
    if (command.writes()) {
      writer.simple("write");
    }
    writer.simple("fast");
    writer.number(key); // the first key, the last key, the step
    writer.number(key);
    writer.number(key);
    writer.array(0); // categories, tips, specifications of keys, subcommands
    writer.array(0);
    writer.array(0);
    writer.array(0);
  }

  private static void docs(List<@Nullable Command> asked, ReplyWriter writer) {
    List<Command> known = new ArrayList<>();
    for (Command command : asked) {
      if (command != null) {
        known.add(command);
      }
    }
    writer.map(known.size());
    for (Command command : known) {
      writer.text(command.lowerCaseName());
      writer.map(4);
      pair(writer, "summary", command.summary());
      pair(writer, "since", "1.0.0");
      pair(writer, "group", "connection");
      writer.text("arguments");
      writer.array(command.arguments().size());
      command.arguments().forEach(argument -> docs(argument, writer));
    }
  }

  private static void docs(Command.Argument argument, ReplyWriter writer) {
    writer.map(3);
    pair(writer, "name", argument.name());
    pair(writer, "type", "string");
    writer.text("flags");
    writer.array((argument.optional() ? 1 : 0) + (argument.repeated() ? 1 : 0));
    if (argument.optional()) {
      writer.simple("optional");
    }
    if (argument.repeated()) {
      writer.simple("multiple");
    }
  }

  /**
   * Replies with the two parameters that redis-benchmark reads; both parameters say that the server
   * writes nothing to a disk.
   */
  private void config(Request request, Session session) {
    if (!request.is(1, "GET") || request.count() < 3) {
      unknownSubcommand(request, session, "CONFIG");
      return;
    }
    Map<String, String> found = new LinkedHashMap<>();
    for (int i = 2; i < request.count(); i++) {
      String name = request.text(i).toLowerCase(Locale.ROOT);
      String value = CONFIGURATION.get(name);
      if (value != null) {
        found.put(name, value);
      }
    }
    session
        .replies()
        .now(
            writer -> {
              writer.map(found.size());
              found.forEach((name, value) -> pair(writer, name, value));
            });
  }

  private void info(Request request, Session session) {
    String text =
        "# Server\r\nredis_version:%s\r\nsluice_version:%s\r\nredis_mode:standalone\r\nrole:master\r\n\r\n%s"
            .formatted(REDIS_VERSION, version, statistics.get());
    session.replies().now(writer -> writer.text(text));
  }

  private static void select(Request request, Session session) {
    var index = Decimals.read(request.bytes(), request.start(1), request.length(1));
    if (index.isEmpty()) {
      session.replies().error("ERR", "value is not an integer or out of range");
    } else if (index.getAsLong() != 0) {
      session.replies().error("ERR", "DB index is out of range, there is database 0 only");
    } else {
      session.replies().now(ReplyWriter::ok);
    }
  }

  private void cluster(Request request, Session session) {
    session.replies().error("ERR", "This instance has cluster support disabled");
  }

  private static void reset(Request request, Session session) {
    session.countWithoutToken();
    session.clientName("");
    session.identity().forget();
    session.replies().resp3(false);
    session.replies().now(writer -> writer.simple("RESET"));
  }

  private static void quit(Request request, Session session) {
    session.countWithoutToken();
    session.replies().now(ReplyWriter::ok);
    session.end();
  }

  private static void unknownSubcommand(Request request, Session session, String command) {
    session
        .replies()
        .error(
            "ERR",
            "unknown subcommand or wrong number of arguments for '%s', in the command %s"
                .formatted(shown(request, 1), command.toLowerCase(Locale.ROOT)));
  }

  private static String shown(Request request, int index) {
    return UnknownCommand.shown(request, index);
  }
}
