// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.sluice.cli.LogProvider.LineLogger;
import dev.sluice.cli.LogProvider.LogFormat;
import java.io.IOException;
import java.time.Instant;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;
import org.slf4j.event.DefaultLoggingEvent;
import org.slf4j.event.Level;

class LogFormatTest {

  private static final Instant AT = Instant.parse("2026-11-20T23:18:35.117Z");
  private static final String LOGGER = "dev.sluice.server.service.ReloadLog";

  @Test
  void text_ofAMessage_namesLevelAndClass() {
    assertThat(LogFormat.TEXT.line(AT, event(Level.INFO, "limits loaded", null)))
        .matches("2026-11-2[01]T[0-9:.]+(Z|[+-][0-9:]+) INFO ReloadLog - limits loaded");
  }

  @Test
  void text_ofAFailure_endsWithItsStackTrace() {
    assertThat(LogFormat.TEXT.line(AT, event(Level.ERROR, "failed", new IOException("gone"))))
        .contains("ERROR ReloadLog - failed\njava.io.IOException: gone\n\tat ");
  }

  @Test
  void json_ofAMessageOfSeveralLines_isOneObjectOnOneLine() throws IOException {
    String line = LogFormat.JSON.line(AT, event(Level.WARN, "a \"b\"\n{\"level\":\"x\"}", null));

    assertThat(line).doesNotContain("\n");
    JsonNode json = new ObjectMapper().readTree(line);
    assertThat(json.get("time").asText()).isEqualTo("2026-11-20T23:18:35.117Z");
    assertThat(json.get("level").asText()).isEqualTo("warn");
    assertThat(json.get("logger").asText()).isEqualTo(LOGGER);
    assertThat(json.get("message").asText()).isEqualTo("a \"b\"\n{\"level\":\"x\"}");
    assertThat(json.has("error")).isFalse();
  }

  @Test
  void json_ofAFailure_holdsItsStackTrace() throws IOException {
    String line = LogFormat.JSON.line(AT, event(Level.ERROR, "failed", new IOException("gone")));

    assertThat(line).doesNotContain("\n");
    assertThat(new ObjectMapper().readTree(line).get("error").asText())
        .startsWith("java.io.IOException: gone\n\tat ");
  }

  @Test
  void json_ofAnEventWithFields_hasThemWithTheirTypes() throws IOException {
    DefaultLoggingEvent event = event(Level.INFO, "{} {}", null);
    event.addArguments("GET", 200);
    event.addKeyValue("path", "/a\"b");
    event.addKeyValue("status", 200);

    JsonNode json = new ObjectMapper().readTree(LogFormat.JSON.line(AT, event));
    assertThat(json.get("message").asText()).isEqualTo("GET 200");
    assertThat(json.get("path").asText()).isEqualTo("/a\"b");
    assertThat(json.get("status").isInt()).isTrue();
    assertThat(LogFormat.TEXT.line(AT, event)).endsWith("ReloadLog - GET 200");
  }

  private static DefaultLoggingEvent event(
      Level level, String message, @Nullable Throwable thrown) {
    DefaultLoggingEvent event = new DefaultLoggingEvent(level, new LineLogger(LOGGER));
    event.setMessage(message);
    event.setThrowable(thrown);
    return event;
  }

  @Test
  void loggers_ofTheServer_sayMoreThanThoseOfLibraries() {
    LogProvider provider = new LogProvider();

    assertThat(provider.getLoggerFactory().getLogger("dev.sluice.server.A").isInfoEnabled())
        .isTrue();
    assertThat(provider.getLoggerFactory().getLogger("io.netty.A").isInfoEnabled()).isFalse();
    assertThat(provider.getLoggerFactory().getLogger("io.netty.A").isWarnEnabled()).isTrue();
    assertThat(provider.getLoggerFactory().getLogger("io.lettuce.core.A").isWarnEnabled())
        .isFalse();
  }

  @Test
  void slf4j_findsTheseLoggers() {
    assertThat(LoggerFactory.getILoggerFactory().getLogger("dev.sluice.A"))
        .isInstanceOf(LineLogger.class);
  }
}
