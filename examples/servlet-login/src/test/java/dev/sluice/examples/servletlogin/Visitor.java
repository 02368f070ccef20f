// SPDX-License-Identifier: Apache-2.0
package dev.sluice.examples.servletlogin;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;

/** Somebody who comes to the server, from wherever the proxy says. */
final class Visitor {

  private final HttpClient client = HttpClient.newHttpClient();
  private final int port;

  Visitor(int port) {
    this.port = port;
  }

  HttpResponse<String> login(String password, String from) {
    return send(
        request("/login?user=ann")
            .header("X-Forwarded-For", from)
            .header("Content-Type", "application/x-www-form-urlencoded")
            .POST(BodyPublishers.ofString("password=" + password.replace(' ', '+'))));
  }

  HttpResponse<String> call(String path, String key) {
    return send(request(path).header("X-Api-Key", key));
  }

  HttpResponse<String> get(String path) {
    return send(request(path));
  }

  private HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path));
  }

  private HttpResponse<String> send(HttpRequest.Builder request) {
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
