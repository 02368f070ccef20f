// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli.log;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;
import org.slf4j.event.KeyValuePair;
import org.slf4j.event.LoggingEvent;
import org.slf4j.helpers.MessageFormatter;

/** The format of log lines. Thread-safe. */
public enum LogFormat {

  /** {@code 2026-11-20T23:18:35.117Z INFO ReloadLog - limits loaded}, then a stack trace if any. */
  TEXT {
    @Override
    String line(Instant at, LoggingEvent event) {
      Throwable thrown = event.getThrowable();
      String logger = event.getLoggerName();
      String line =
          "%s %s %s - %s"
              .formatted(
                  TIME.format(at.atZone(ZoneId.systemDefault())),
                  event.getLevel(),
                  logger.substring(logger.lastIndexOf('.') + 1),
                  message(event));
      return thrown == null ? line : line + "\n" + stackTrace(thrown);
    }
  },

  /**
   * One object a line, with the fields {@code time} (UTC), {@code level}, {@code logger}, {@code
   * message}, those of the event, and {@code error} with a stack trace if any. Line feeds in texts
   * are escaped, so no text can forge a line.
   */
  JSON {
    @Override
    String line(Instant at, LoggingEvent event) {
      Throwable thrown = event.getThrowable();
      StringWriter line = new StringWriter();
      try (JsonGenerator json = FACTORY.createGenerator(line)) {
        json.writeStartObject();
        json.writeStringField("time", at.toString());
        json.writeStringField("level", event.getLevel().name().toLowerCase(Locale.ROOT));
        json.writeStringField("logger", event.getLoggerName());
        json.writeStringField("message", message(event));
        for (KeyValuePair pair : fields(event)) {
          json.writePOJOField(pair.key, pair.value);
        }
        if (thrown != null) {
          json.writeStringField("error", stackTrace(thrown));
        }
        json.writeEndObject();
      } catch (IOException e) {
        throw new UncheckedIOException(e); // cannot happen: the target is in memory
      }
      return line.toString();
    }
  };

  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", Locale.ROOT);
  private static final JsonFactory FACTORY = new JsonFactory();

  private static volatile LogFormat current = TEXT;

  /** Sets the format of all lines from now on; {@link #TEXT} if never called. */
  public static void use(LogFormat format) {
    current = format;
  }

  static LogFormat current() {
    return current;
  }

  /** Formats an event as a line, without the line feed. */
  abstract String line(Instant at, LoggingEvent event);

  private static String message(LoggingEvent event) {
    return String.valueOf(
        MessageFormatter.basicArrayFormat(event.getMessage(), event.getArgumentArray()));
  }

  private static List<KeyValuePair> fields(LoggingEvent event) {
    List<KeyValuePair> pairs = event.getKeyValuePairs();
    return pairs == null ? List.of() : pairs;
  }

  private static String stackTrace(Throwable thrown) {
    StringWriter text = new StringWriter();
    thrown.printStackTrace(new PrintWriter(text, true));
    return text.toString().stripTrailing();
  }
}
