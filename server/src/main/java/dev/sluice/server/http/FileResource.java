package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.server.ServiceRequestContext;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** A file of the page. A browser keeps it, and asks each time whether it has changed. */
final class FileResource extends Resource {

  private final PageFile file;

  FileResource(MediaType type, String name) {
    super(HttpMethod.GET);
    this.file = PageFile.read(type, name);
  }

  @Override
  CompletionStage<AggregatedHttpResponse> answer(
      ServiceRequestContext context, HttpRequest request) {
    return CompletableFuture.completedFuture(file.answer(request));
  }
}
