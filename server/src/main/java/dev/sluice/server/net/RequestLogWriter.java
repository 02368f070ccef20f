// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import com.linecorp.armeria.common.logging.RequestLog;
import com.linecorp.armeria.server.ServiceRequestContext;
import com.linecorp.armeria.server.logging.AccessLogWriter;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.spi.LoggingEventAware;

/**
 * Writes a log line for each request: as fields if the log supports fields, otherwise in the common
 * log format. Whoever has a reservation's token can cancel the reservation, so the token in a path
 * is masked. Thread-safe.
 */
final class RequestLogWriter implements AccessLogWriter {

  private static final String WITH_TOKEN = "/v1/reservations/";
  private static final String MASKED = WITH_TOKEN + "…/";

  private final Logger logger = LoggerFactory.getLogger("com.linecorp.armeria.logging.access");
  private final AccessLogWriter common = AccessLogWriter.common();
  private final AccessLogWriter cancels = masked("cancel");
  private final AccessLogWriter settles = masked("settle");

  private static AccessLogWriter masked(String use) {
    return AccessLogWriter.custom("%h %l %u %t \"POST " + MASKED + use + "\" %s %b");
  }

  @Override
  public void log(RequestLog log) {
    String path = log.requestHeaders().path();
    boolean hasToken = path.startsWith(WITH_TOKEN);
    boolean settling = path.contains("/settle");
    // Without this, SLF4J would write the fields into the text, before the message.
    if (logger instanceof LoggingEventAware) {
      fields(log, hasToken ? MASKED + (settling ? "settle" : "cancel") : path);
    } else {
      (hasToken ? settling ? settles : cancels : common).log(log);
    }
  }

  private void fields(RequestLog log, String path) {
    String client =
        ((ServiceRequestContext) log.context()).remoteAddress().getAddress().getHostAddress();
    String method = log.requestHeaders().method().name();
    int status = log.responseHeaders().status().code();
    logger
        .atInfo()
        .addKeyValue("client", client)
        .addKeyValue("method", method)
        .addKeyValue("path", path)
        .addKeyValue("protocol", log.sessionProtocol().uriText())
        .addKeyValue("status", status)
        .addKeyValue("bytes", log.responseLength())
        .addKeyValue("micros", TimeUnit.NANOSECONDS.toMicros(log.totalDurationNanos()))
        .log("{} {} {} {}", client, method, path, status);
  }
}
