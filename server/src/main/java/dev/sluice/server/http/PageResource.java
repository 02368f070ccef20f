package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.server.ServiceRequestContext;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** A text that comes with the server: {@code /} and {@code /openapi.json}. */
final class PageResource extends Resource {

  private final AggregatedHttpResponse page;

  PageResource(MediaType type, String file) {
    super(HttpMethod.GET);
    this.page = Answers.text(type, read(file));
  }

  @Override
  CompletionStage<AggregatedHttpResponse> answer(
      ServiceRequestContext context, HttpRequest request) {
    return CompletableFuture.completedFuture(page);
  }

  private static String read(String file) {
    try (InputStream in = PageResource.class.getResourceAsStream(file)) {
      if (in == null) {
        throw new IllegalStateException("the file " + file + " is missing in the server's jar");
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
