// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.cli.Console.ConsoleCommand;
import dev.sluice.cli.Console.JsonOption;
import dev.sluice.cli.ServerClientOptions.RequiredServer;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.internal.text.SafeText;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** The base classes of the commands for overrides and penalties of a running server. */
final class ServerSettings {

  private ServerSettings() {}

  /** The options that all commands for overrides and penalties share. */
  private abstract static class Base extends ConsoleCommand {

    final String path;

    @Mixin private RequiredServer server = new RequiredServer();

    @Mixin private JsonOption json = new JsonOption();

    Base(String path) {
      this.path = path;
    }

    final ServerClient client() {
      return server.client(console);
    }

    final boolean toPeople() {
      return json.isForPeople(console);
    }

    /**
     * Prints an override or a penalty as JSON or as a sentence. A malformed response is printed
     * unchanged.
     */
    final void print(String answer) {
      SettingText setting = toPeople() ? SettingText.parse(answer) : null;
      if (setting == null) {
        console.line(answer);
        return;
      }
      console.line(setting.text());
      warn(setting.fields);
    }

    /** Prints the warnings of a response to standard error. */
    final void warn(Map<String, Object> response) {
      List<String> warnings = ServerClient.texts(response, "warnings");
      if (!warnings.isEmpty()) {
        console.flush(); // standard output must come before the warnings on standard error
        warnings.forEach(one -> console.err().println("warning: " + SafeText.printable(one)));
      }
    }
  }

  private abstract static class OfOneId extends Base {

    @Parameters(index = "0", paramLabel = "LIMIT", description = "The limit's name.")
    String limit = "";

    @Parameters(
        index = "1",
        paramLabel = "ID",
        description = "The id, as in a request or an override file.")
    String id = "";

    OfOneId(String path) {
      super(path);
    }
  }

  /** Sets the override or penalty of one id, and prints the new override or penalty. */
  abstract static class SetCommand extends OfOneId {

    @Option(names = "--comment", paramLabel = "TEXT", description = "A note for people.")
    private @Nullable String comment;

    @Option(
        names = "--author",
        paramLabel = "NAME",
        description =
            "Who makes the change. If the request has a token or a client certificate, the server"
                + " stores the name of the token or certificate instead.")
    private @Nullable String author;

    SetCommand(String path) {
      super(path);
    }

    abstract void addTo(Map<String, Object> body);

    boolean force() {
      return false;
    }

    @Override
    public final Integer call() {
      Map<String, Object> body = new LinkedHashMap<>();
      addTo(body);
      if (comment != null) {
        body.put("comment", comment);
      }
      if (author != null) {
        body.put("author", author);
      }
      print(client().put(path, limit, id, body, force()));
      return Exit.DONE;
    }
  }

  /** Removes the override or penalty of one id. */
  abstract static class RemoveCommand extends OfOneId {

    RemoveCommand(String path) {
      super(path);
    }

    @Override
    public final Integer call() {
      String answer = client().delete(path, limit, id);
      Map<String, Object> response = toPeople() ? ServerClient.parsed(answer) : null;
      if (response == null) {
        console.line(answer);
      } else {
        console.line(SettingText.subject(limit, id) + ": removed");
        warn(response);
      }
      return Exit.DONE;
    }
  }

  /** Prints the overrides or penalties, one per line. */
  abstract static class ListCommand extends Base {

    private final String field;

    @Option(
        names = "--limit",
        paramLabel = "LIMIT",
        description = "Lists only the entries of this limit; all limits if not given.")
    private @Nullable String limit;

    ListCommand(String path, String field) {
      super(path);
      this.field = field;
    }

    @Override
    public final Integer call() {
      AtomicBoolean none = new AtomicBoolean(true);
      client()
          .list(
              path,
              field,
              limit,
              one -> {
                none.set(false);
                print(one);
              });
      if (none.get() && toPeople()) {
        console.line("no " + field);
      }
      return Exit.DONE;
    }
  }

  /** Formats an override or a penalty of a server as a sentence for people. */
  private record SettingText(Map<String, Object> fields) {

    /** Parses one override or penalty; null if the text is neither. */
    static @Nullable SettingText parse(String json) {
      Map<String, Object> fields = ServerClient.parsed(json);
      return fields != null && fields.containsKey("limit") && fields.containsKey("id")
          ? new SettingText(fields)
          : null;
    }

    /**
     * Formats the override or penalty as one line: {@code ApiCallsPerKey k1: burst 500, then 500
     * per 7d (from the limit files)}.
     */
    String text() {
      StringBuilder text = new StringBuilder(subject(field("limit"), field("id"))).append(": ");
      List<Map<String, Object>> quotas = ServerClient.objects(fields, "quotas");
      if (!fields.containsKey("burst")) {
        text.append("nothing until ").append(field("until"));
        if (fields.containsKey("owed")) {
          text.append(", owes ").append(field("owed"));
        }
      } else {
        text.append(
            quotas.isEmpty()
                ? quota()
                : quotas.stream()
                    .map(one -> new SettingText(one).quota())
                    .collect(Collectors.joining(" and ")));
        if (fields.containsKey("until")) {
          text.append(", until ").append(field("until"));
        }
      }
      text.append(" (").append(place(field("keptIn")));
      if (fields.containsKey("author")) {
        text.append(", set by ").append(SafeText.printable(field("author")));
      }
      text.append(')');
      return fields.containsKey("comment")
          ? text.append(": ").append(SafeText.printable(field("comment"))).toString()
          : text.toString();
    }

    static String subject(String limit, String id) {
      return SafeText.printable(limit) + " " + SafeText.printable(id);
    }

    private String field(String name) {
      return String.valueOf(fields.getOrDefault(name, "?"));
    }

    private String quota() {
      return "burst %s, then %s per %s".formatted(field("burst"), field("count"), period());
    }

    private String period() {
      try {
        return Quantities.brief(GoDuration.parse(field("period")));
      } catch (IllegalArgumentException e) {
        // A newer server may write periods in another format.
        return SafeText.printable(field("period"));
      }
    }

    private static String place(String keptIn) {
      return switch (keptIn) {
        case "memory" -> "kept in memory until the server ends";
        case "file" -> "kept in the file of --override-store";
        case "table" -> "kept in the table";
        case "files" -> "from the limit files";
        default -> "kept in " + SafeText.printable(keptIn);
      };
    }
  }
}
