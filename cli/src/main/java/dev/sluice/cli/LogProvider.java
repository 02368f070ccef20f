// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

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
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.ILoggerFactory;
import org.slf4j.IMarkerFactory;
import org.slf4j.Logger;
import org.slf4j.Marker;
import org.slf4j.event.DefaultLoggingEvent;
import org.slf4j.event.KeyValuePair;
import org.slf4j.event.Level;
import org.slf4j.event.LoggingEvent;
import org.slf4j.helpers.BasicMarkerFactory;
import org.slf4j.helpers.LegacyAbstractLogger;
import org.slf4j.helpers.MessageFormatter;
import org.slf4j.helpers.NOPMDCAdapter;
import org.slf4j.spi.LoggingEventAware;
import org.slf4j.spi.MDCAdapter;
import org.slf4j.spi.SLF4JServiceProvider;

/** Provides the loggers of the command line to SLF4J. Thread-safe. */
public final class LogProvider implements SLF4JServiceProvider {

  private final ConcurrentHashMap<String, Logger> loggers = new ConcurrentHashMap<>();
  private final IMarkerFactory markers = new BasicMarkerFactory();
  private final MDCAdapter context = new NOPMDCAdapter();

  /** Called by SLF4J, which finds this class as a service. */
  public LogProvider() {}

  @Override
  public ILoggerFactory getLoggerFactory() {
    return name -> loggers.computeIfAbsent(name, LineLogger::new);
  }

  @Override
  public IMarkerFactory getMarkerFactory() {
    return markers;
  }

  @Override
  public MDCAdapter getMDCAdapter() {
    return context;
  }

  @Override
  public String getRequestedApiVersion() {
    return "2.0.99";
  }

  @Override
  public void initialize() {
    // Nothing needs preparation.
  }

  /**
   * A logger that writes events at or above a level to standard error, each event in one write.
   * Thread-safe.
   */
  static final class LineLogger extends LegacyAbstractLogger implements LoggingEventAware {

    private static final long serialVersionUID = 1;

    /**
     * A map from prefixes of loggers' names to the lowest level that is logged. If several prefixes
     * match a logger's name, the longest prefix decides.
     */
    private static final Map<String, Level> LEAST =
        Map.of(
            "dev.sluice",
            Level.INFO,
            // The store logs when a server is marked down and when it is up again; Lettuce would
            // log each attempt to connect.
            "io.lettuce",
            Level.ERROR,
            // Any client can cause the warnings of Armeria; the server logs a summary instead.
            "com.linecorp.armeria.internal.common.AbstractHttp2ConnectionHandler",
            Level.ERROR,
            "com.linecorp.armeria.server.HttpServerHandler",
            Level.ERROR,
            "com.linecorp.armeria.logging.access",
            Level.INFO);

    private final int least;

    LineLogger(String name) {
      this.name = name;
      this.least = least(name).toInt();
    }

    private static Level least(String logger) {
      for (String prefix = logger; !prefix.isEmpty(); prefix = parent(prefix)) {
        Level level = LEAST.get(prefix);
        if (level != null) {
          return level;
        }
      }
      return Level.WARN;
    }

    private static String parent(String logger) {
      return logger.substring(0, Math.max(0, logger.lastIndexOf('.')));
    }

    @Override
    public boolean isTraceEnabled() {
      return Level.TRACE.toInt() >= least;
    }

    @Override
    public boolean isDebugEnabled() {
      return Level.DEBUG.toInt() >= least;
    }

    @Override
    public boolean isInfoEnabled() {
      return Level.INFO.toInt() >= least;
    }

    @Override
    public boolean isWarnEnabled() {
      return Level.WARN.toInt() >= least;
    }

    @Override
    public boolean isErrorEnabled() {
      return true;
    }

    @Override
    protected @Nullable String getFullyQualifiedCallerName() {
      return null; // lines have no code location
    }

    @Override
    protected void handleNormalizedLoggingCall(
        Level level,
        @Nullable Marker marker,
        String pattern,
        Object @Nullable [] arguments,
        @Nullable Throwable thrown) {
      DefaultLoggingEvent event = new DefaultLoggingEvent(level, this);
      event.setMessage(pattern);
      if (arguments != null) {
        event.addArguments(arguments);
      }
      event.setThrowable(thrown);
      log(event);
    }

    /** Writes the event without checking its level, which SLF4J checked before. */
    @Override
    public void log(LoggingEvent event) {
      System.err.println(LogFormat.current().line(Instant.now(), event));
    }
  }

  /** The format of log lines. Thread-safe. */
  enum LogFormat {

    /**
     * {@code 2026-11-20T23:18:35.117Z INFO ReloadLog - limits loaded}, then a stack trace if any.
     */
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
     * One object per line, with the fields {@code time} (UTC), {@code level}, {@code logger},
     * {@code message}, the event's own fields, and {@code error} with a stack trace if there is
     * one. Line feeds in texts are escaped, so that no text can forge a line.
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

    /** Sets the format of all later lines; the default is {@link #TEXT}. */
    static void use(LogFormat format) {
      current = format;
    }

    static LogFormat current() {
      return current;
    }

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
}
