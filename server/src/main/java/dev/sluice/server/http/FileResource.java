// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.common.ResponseHeaders;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.server.http.MethodService.Resource;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * {@code GET /page/…}: the files of the web page. A browser caches each file, but checks at each
 * use whether the file has changed. The page loads no other files, and calls only paths that every
 * client may use.
 */
final class FileResource extends Resource {

  static final String UNDER = "/page/";

  private static final MediaType CSS = MediaType.CSS_UTF_8;
  private static final MediaType JS = MediaType.parse("text/javascript; charset=utf-8");
  private static final MediaType SVG = MediaType.parse("image/svg+xml; charset=utf-8");

  /** The files of the page; no other file of the jar has a path. */
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
          Map.entry("edit.js", JS),
          Map.entry("limit.js", JS),
          Map.entry("limits.js", JS),
          Map.entry("rules.js", JS),
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

  /**
   * {@code GET /}: returns the web page to a browser, which sends {@code Accept: text/html}. Every
   * other client, such as curl, gets a text that lists the paths.
   */
  static final class IndexResource extends Resource {

    private static final String HTML = "text/html";

    private final PageFile page = PageFile.read(MediaType.HTML_UTF_8, "index.html");
    private final AggregatedHttpResponse text =
        varying(TextResource.read(MediaType.PLAIN_TEXT_UTF_8, "index.txt"));

    IndexResource() {
      super(HttpMethod.GET);
    }

    @Override
    CompletionStage<AggregatedHttpResponse> answer(
        ServiceRequestContext context, HttpRequest request) {
      boolean isBrowser = request.headers().get(HttpHeaderNames.ACCEPT, "").contains(HTML);
      return CompletableFuture.completedFuture(isBrowser ? page.answer(request) : text);
    }

    private static AggregatedHttpResponse varying(AggregatedHttpResponse answer) {
      return AggregatedHttpResponse.of(
          answer.headers().toBuilder().set(HttpHeaderNames.VARY, "accept").build(),
          answer.content());
    }
  }

  /** A file of the page, with its security headers. */
  private static final class PageFile {

    /**
     * A content security policy: the page runs only its own scripts, calls only its own server,
     * cannot be framed, and cannot turn text into markup.
     */
    private static final String POLICY =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
            + " base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
            + " require-trusted-types-for 'script'; trusted-types 'none'";

    private final ResponseHeaders headers;
    private final ResponseHeaders unchanged;
    private final String tag;
    private final HttpData bytes;

    private PageFile(MediaType type, byte[] bytes) {
      this.bytes = HttpData.wrap(bytes);
      this.tag = Answers.tag(this.bytes);
      this.headers = headers(HttpStatus.OK, type, tag);
      this.unchanged = headers(HttpStatus.NOT_MODIFIED, type, tag);
    }

    /**
     * Reads a file of the server's jar.
     *
     * @throws IllegalStateException if the jar lacks the file
     */
    static PageFile read(MediaType type, String name) {
      return new PageFile(type, JarFiles.read("/dev/sluice/server/page/" + name));
    }

    AggregatedHttpResponse answer(HttpRequest request) {
      return Answers.isKnown(request.headers().get(HttpHeaderNames.IF_NONE_MATCH), tag)
          ? AggregatedHttpResponse.of(unchanged)
          : AggregatedHttpResponse.of(headers, bytes);
    }

    private static ResponseHeaders headers(HttpStatus status, MediaType type, String tag) {
      return ResponseHeaders.builder(status)
          .contentType(type)
          .set(HttpHeaderNames.CACHE_CONTROL, "no-cache")
          .set(HttpHeaderNames.ETAG, tag)
          .set(HttpHeaderNames.VARY, "accept")
          .set(HttpHeaderNames.X_CONTENT_TYPE_OPTIONS, "nosniff")
          .set(HttpHeaderNames.CONTENT_SECURITY_POLICY, POLICY)
          .set(HttpHeaderNames.REFERRER_POLICY, "no-referrer")
          .set(HttpHeaderNames.CROSS_ORIGIN_OPENER_POLICY, "same-origin")
          .set(HttpHeaderNames.CROSS_ORIGIN_RESOURCE_POLICY, "same-origin")
          .build();
    }
  }

  /** A text file of the jar: {@code /openapi.json}. */
  static final class TextResource extends Resource {

    private final AggregatedHttpResponse text;

    TextResource(MediaType type, String file) {
      super(HttpMethod.GET);
      this.text = read(type, file);
    }

    @Override
    CompletionStage<AggregatedHttpResponse> answer(
        ServiceRequestContext context, HttpRequest request) {
      return CompletableFuture.completedFuture(text);
    }

    static AggregatedHttpResponse read(MediaType type, String file) {
      return Answers.text(type, new String(JarFiles.read(file), StandardCharsets.UTF_8));
    }
  }

  /** Reads files of the jar. */
  private static final class JarFiles {

    private JarFiles() {}

    /**
     * Reads a file.
     *
     * @param path the file's path, as for {@link Class#getResourceAsStream}
     * @throws IllegalStateException if the jar lacks the file
     */
    static byte[] read(String path) {
      try (InputStream in = JarFiles.class.getResourceAsStream(path)) {
        if (in == null) {
          throw new IllegalStateException("the file " + path + " is missing in the server's jar");
        }
        return in.readAllBytes();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
