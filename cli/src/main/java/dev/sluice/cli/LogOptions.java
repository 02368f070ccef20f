// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.cli.log.LogFormat;
import dev.sluice.text.SafeText;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;
import picocli.CommandLine.Option;

/** {@code --log-format}: how the log of a command looks that runs for long. */
final class LogOptions {

  private static final Logger log = LoggerFactory.getLogger(LogOptions.class);

  @Option(
      names = "--log-format",
      paramLabel = "FORMAT",
      defaultValue = "text",
      description = "How the log looks: text, or json, one object a line (${DEFAULT-VALUE}).")
  private String format = "text";

  private LogFormat parsed() {
    return switch (format) {
      case "text" -> LogFormat.TEXT;
      case "json" -> LogFormat.JSON;
      default ->
          throw new InputException(
              "--log-format: found %s, expected text or json".formatted(SafeText.quote(format)));
    };
  }

  /**
   * Applies the format to the lines to come.
   *
   * @return the format
   * @throws InputException if there is no such format
   */
  LogFormat apply() {
    LogFormat used = parsed();
    LogFormat.use(used);
    return used;
  }

  /** Tells people a line; as JSON it is a line of the log, so that a reader finds nothing else. */
  void say(Console console, String line) {
    say(console, line, Level.INFO);
  }

  /** Tells people of something that is not as it should be. */
  void warn(Console console, String line) {
    say(console, line, Level.WARN);
  }

  private void say(Console console, String line, Level level) {
    if (parsed() == LogFormat.JSON) {
      log.atLevel(level).log(line);
    } else {
      console.err().println(line);
    }
  }
}
