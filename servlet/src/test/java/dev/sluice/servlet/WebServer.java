// SPDX-License-Identifier: Apache-2.0
package dev.sluice.servlet;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.testkit.web.FilteredSite;
import dev.sluice.web.Rule;
import jakarta.servlet.Filter;
import jakarta.servlet.http.HttpServlet;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.time.Duration;

/**
 * A real container on a free port of the loopback interface, with an application under {@code
 * /app}, and a client for it. What the application has is said before it starts.
 */
abstract class WebServer implements FilteredSite {

  static final String CONTEXT = "/app";

  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  /** Adds a filter for all paths and all kinds of dispatches. */
  @CanIgnoreReturnValue
  abstract WebServer filter(Filter filter);

  @CanIgnoreReturnValue
  WebServer filter(RateLimitFilter.Builder filter, Rule... rules) {
    for (Rule rule : rules) {
      filter.rule(rule);
    }
    return filter(filter.build());
  }

  @CanIgnoreReturnValue
  abstract WebServer servlet(String path, HttpServlet servlet);

  @CanIgnoreReturnValue
  abstract WebServer errorPage(int status, String path);

  /** A folder for files, of which there are none: Undertow watches all that is in it. */
  static File emptyFolder() {
    try {
      File folder = Files.createTempDirectory("no-files-").toFile();
      folder.deleteOnExit();
      return folder;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Sets what folders stand for; the container's own servlet then answers for all else. */
  @CanIgnoreReturnValue
  abstract WebServer welcome(String file);

  /** Sets that the container decodes all that it can, and refuses as little as possible. */
  @CanIgnoreReturnValue
  abstract WebServer lenient();

  @CanIgnoreReturnValue
  abstract WebServer start() throws Exception;

  /** Runs something when the calling thread, which serves a request, has left the container. */
  void whenThreadHasLeft(Runnable then) {
    then.run();
  }

  @Override
  public abstract int port();

  @Override
  public String prefix() {
    return CONTEXT;
  }

  @Override
  public abstract void close() throws Exception;

  HttpResponse<String> get(String path, String... headers) {
    return send("GET", path, "", headers);
  }

  HttpResponse<String> post(String path, String body, String... headers) {
    return send("POST", path, body, headers);
  }

  HttpResponse<String> send(String method, String path, String body, String... headers) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port() + CONTEXT + path))
            .timeout(Duration.ofMinutes(1))
            .method(method, BodyPublishers.ofString(body));
    for (int i = 0; i < headers.length; i += 2) {
      request.header(headers[i], headers[i + 1]);
    }
    try {
      return client.send(request.build(), BodyHandlers.ofString());
    } catch (IOException e) {
      throw new AssertionError(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError(e);
    }
  }
}
