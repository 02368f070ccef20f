// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server;

import com.linecorp.armeria.common.logging.RequestLog;
import com.linecorp.armeria.server.logging.AccessLogWriter;

/**
 * A line for each request, in the common log format. The token of a reservation is good for taking
 * it back, so the path that holds it is not written as it stands. Thread-safe.
 */
final class RequestLogWriter implements AccessLogWriter {

  private static final String WITH_TOKEN = "/v1/reservations/";

  private final AccessLogWriter common = AccessLogWriter.common();
  private final AccessLogWriter masked =
      AccessLogWriter.custom("%h %l %u %t \"POST /v1/reservations/…/cancel\" %s %b");

  @Override
  public void log(RequestLog log) {
    boolean hasToken = log.requestHeaders().path().startsWith(WITH_TOKEN);
    (hasToken ? masked : common).log(log);
  }
}
