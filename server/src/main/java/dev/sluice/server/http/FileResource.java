// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.server.ServiceRequestContext;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * {@code GET /page/…}: the files that the web page consists of. A browser keeps them, and asks each
 * time whether they have changed. They come with the server; the page loads nothing else, and asks
 * the paths that every client can ask.
 */
final class FileResource extends Resource {

  static final String UNDER = "/page/";

  private static final MediaType CSS = MediaType.CSS_UTF_8;
  private static final MediaType JS = MediaType.parse("text/javascript; charset=utf-8");
  private static final MediaType SVG = MediaType.parse("image/svg+xml; charset=utf-8");

  /** No path leads to another file of the jar. */
  private static final Map<String, MediaType> TYPES =
      Map.ofEntries(
          Map.entry("base.css", CSS),
          Map.entry("views.css", CSS),
          Map.entry("icon.svg", SVG),
          Map.entry("theme.js", JS),
          Map.entry("main.js", JS),
          Map.entry("api.js", JS),
          Map.entry("dom.js", JS),
          Map.entry("words.js", JS),
          Map.entry("gcra.js", JS),
          Map.entry("ids.js", JS),
          Map.entry("charts.js", JS),
          Map.entry("limits.js", JS),
          Map.entry("denied.js", JS),
          Map.entry("settings.js", JS),
          Map.entry("bucket.js", JS),
          Map.entry("exceptions.js", JS),
          Map.entry("playground.js", JS));

  private final Map<String, PageFile> files = new TreeMap<>();

  FileResource() {
    super(HttpMethod.GET);
    TYPES.forEach((name, type) -> files.put(UNDER + name, PageFile.read(type, name)));
  }

  @Override
  CompletionStage<AggregatedHttpResponse> answer(
      ServiceRequestContext context, HttpRequest request) {
    String rawPath = String.valueOf(context.routingContext().requestTarget().rawPath());
    PageFile file = files.get(rawPath);
    return CompletableFuture.completedFuture(
        file == null ? Answers.fault(Fault.notFound(rawPath)) : file.answer(request));
  }
}
