// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.common.ResponseHeaders;

/** A file of the page with the headers that keep it safe. Immutable and thread-safe. */
final class PageFile {

  /**
   * The page runs its own scripts alone, asks its own server alone, and stands in no frame. No text
   * may become markup.
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
   * Reads a file that comes with the server.
   *
   * @throws IllegalStateException if the jar lacks it
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
