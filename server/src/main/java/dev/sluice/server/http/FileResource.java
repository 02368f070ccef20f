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

/** {@code GET /page/…}: the web page's files, which browsers cache and revalidate at each use. */
final class FileResource extends Resource {

  static final String UNDER = "/page/";

  private static final String HTML = "text/html";

  private static final MediaType JS = MediaType.parse("text/javascript; charset=utf-8");
  private static final MediaType SVG = MediaType.parse("image/svg+xml; charset=utf-8");

  /** The web page's files; {@code /page/} serves no other file of the jar. */
  private static final String FILES =
      """
      base.css views.css icon.svg theme.js main.js api.js dom.js words.js gcra.js ids.js charts.js
      edit.js limit.js limits.js rules.js denied.js settings.js bucket.js exceptions.js
      playground.js""";

  private final Map<String, PageFile> files = new TreeMap<>();

  FileResource() {
    super(HttpMethod.GET);
    for (String name : FILES.split("\\s", -1)) {
      MediaType type =
          name.endsWith(".js") ? JS : name.endsWith(".svg") ? SVG : MediaType.CSS_UTF_8;
      files.put(UNDER + name, PageFile.read(type, name));
    }
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
   * client other than a browser, such as curl, gets a text that lists the server's paths.
   */
  static Resource index() {
    PageFile page = PageFile.read(MediaType.HTML_UTF_8, "index.html");
    AggregatedHttpResponse list = text(MediaType.PLAIN_TEXT_UTF_8, "index.txt");
    AggregatedHttpResponse text =
        AggregatedHttpResponse.of(
            list.headers().toBuilder().set(HttpHeaderNames.VARY, "accept").build(), list.content());
    return Resource.get(
        context -> {
          HttpRequest request = context.request();
          boolean isBrowser = request.headers().get(HttpHeaderNames.ACCEPT, "").contains(HTML);
          return isBrowser ? page.answer(request) : text;
        });
  }

  /** Returns the answer with a text file of the jar. */
  static AggregatedHttpResponse text(MediaType type, String file) {
    return Answers.text(type, new String(read(file), StandardCharsets.UTF_8));
  }

  private static byte[] read(String path) {
    try (InputStream in = FileResource.class.getResourceAsStream(path)) {
      if (in == null) {
        throw new IllegalStateException("the file " + path + " is missing in the server's jar");
      }
      return in.readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** A file of the page, with its security headers. */
  private static final class PageFile {

    /** The web page runs only its own scripts, calls only its server, and cannot be framed. */
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

    static PageFile read(MediaType type, String name) {
      return new PageFile(type, FileResource.read("/dev/sluice/server/page/" + name));
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
}
