package dev.sluice.server.http;

import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.server.ServerBuilder;
import java.util.Map;

/**
 * The web page: what a browser gets at {@code /}, and its files under {@code /page/}. It comes with
 * the server, loads nothing from anywhere else, and asks the paths that every client can ask.
 * Stateless.
 */
final class PageFiles {

  private static final String UNDER = "/page/";
  private static final MediaType CSS = MediaType.CSS_UTF_8;
  private static final MediaType JS = MediaType.parse("text/javascript; charset=utf-8");
  private static final MediaType SVG = MediaType.parse("image/svg+xml; charset=utf-8");

  /** The files that are served; no path leads to another one in the jar. */
  private static final Map<String, MediaType> FILES =
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
          Map.entry("bucket.js", JS),
          Map.entry("playground.js", JS));

  private PageFiles() {}

  static void addTo(ServerBuilder server) {
    server.service("/", new IndexResource());
    FILES.forEach((file, type) -> server.service(UNDER + file, new FileResource(type, file)));
  }
}
