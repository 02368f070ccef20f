// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.server.ServiceRequestContext;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * {@code GET /}: the web page for a browser, which accepts HTML by name; a list of paths, as text,
 * for every other client, such as curl.
 */
final class IndexResource extends Resource {

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
        answer.headers().toBuilder().set(HttpHeaderNames.VARY, "accept").build(), answer.content());
  }
}
