// SPDX-License-Identifier: Apache-2.0
package dev.sluice.examples.servletlogin;

import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;

/** The page that Prometheus reads. */
final class MetricsServlet extends HttpServlet {

  private static final long serialVersionUID = 1;

  private final transient PrometheusMeterRegistry registry;

  MetricsServlet(PrometheusMeterRegistry registry) {
    this.registry = registry;
  }

  @Override
  protected void doGet(HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    response.setContentType("text/plain; version=0.0.4; charset=utf-8");
    response.getWriter().print(registry.scrape());
  }
}
