// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli.log;

import java.time.Instant;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.ILoggerFactory;
import org.slf4j.IMarkerFactory;
import org.slf4j.Logger;
import org.slf4j.Marker;
import org.slf4j.event.DefaultLoggingEvent;
import org.slf4j.event.Level;
import org.slf4j.event.LoggingEvent;
import org.slf4j.helpers.BasicMarkerFactory;
import org.slf4j.helpers.LegacyAbstractLogger;
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

  /** Writes events of its level and above to standard error, each in one write. Thread-safe. */
  static final class LineLogger extends LegacyAbstractLogger implements LoggingEventAware {

    private static final long serialVersionUID = 1;

    /** The lowest logged level by prefix of the logger's name; the longest prefix decides. */
    private static final Map<String, Level> LEAST =
        Map.of(
            "dev.sluice",
            Level.INFO,
            // The store logs when a server is marked down and when it is back; Lettuce would log
            // each attempt to connect.
            "io.lettuce",
            Level.ERROR,
            // Clients can cause these warnings at will; the server logs a summary instead.
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
}
