// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.server.ServiceRequestContext;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** A text that comes with the server: {@code /openapi.json}. */
final class TextResource extends Resource {

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
