// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.text.SafeText;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Commands on what a running server keeps for single ids, under one path of its API. */
final class ServerSettings {

  private ServerSettings() {}

  /** The parts that all have. */
  private abstract static class Base implements Callable<Integer> {

    final Console console;
    final String path;

    @Mixin ServerOptions server = new ServerOptions();

    @Mixin private JsonOption json = new JsonOption();

    Base(Console console, String path) {
      this.console = console;
      this.path = path;
    }

    final boolean toPeople() {
      return json.isForPeople(console);
    }

    /** Prints a setting as the reader wants it; JSON where it is not one that people can read. */
    final void print(String answer) {
      SettingText setting = toPeople() ? SettingText.parse(answer) : null;
      if (setting == null) {
        console.line(answer);
        return;
      }
      console.line(setting.text());
      if (!setting.warnings().isEmpty()) {
        console.flush(); // the answer comes first
        setting
            .warnings()
            .forEach(one -> console.err().println("warning: " + SafeText.printable(one)));
      }
    }
  }

  private abstract static class OfOneId extends Base {

    @Parameters(index = "0", paramLabel = "LIMIT", description = "The limit's name.")
    String limit = "";

    @Parameters(
        index = "1",
        paramLabel = "ID",
        description = "The id, as a request or a file of overrides has it.")
    String id = "";

    OfOneId(Console console, String path) {
      super(console, path);
    }
  }

  /** Sets the setting of one id, and prints it. */
  abstract static class SetOne extends OfOneId {

    @Option(names = "--comment", paramLabel = "TEXT", description = "A note for people.")
    private @Nullable String comment;

    SetOne(Console console, String path) {
      super(console, path);
    }

    /** Adds the fields of the setting to the body of the request. */
    abstract void addTo(Map<String, Object> body);

    /** Whether what is there may be lowered. */
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
      print(server.client(console).put(path, limit, id, body, force()));
      return Exit.DONE;
    }
  }

  /** Removes the setting of one id. */
  abstract static class RemoveOne extends OfOneId {

    RemoveOne(Console console, String path) {
      super(console, path);
    }

    @Override
    public final Integer call() {
      String answer = server.client(console).delete(path, limit, id);
      console.line(toPeople() ? SettingText.subject(limit, id) + ": removed" : answer);
      return Exit.DONE;
    }
  }

  /** Prints the settings, one a line. */
  abstract static class ListAll extends Base {

    private final String field;

    @Option(
        names = "--limit",
        paramLabel = "LIMIT",
        description = "Those of one limit; of all limits, if not given.")
    private @Nullable String limit;

    ListAll(Console console, String path, String field) {
      super(console, path);
      this.field = field;
    }

    @Override
    public final Integer call() {
      AtomicBoolean none = new AtomicBoolean(true);
      server
          .client(console)
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
}
