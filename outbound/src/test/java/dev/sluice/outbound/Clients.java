// SPDX-License-Identifier: Apache-2.0
package dev.sluice.outbound;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.client.JdkClientHttpRequestFactory;
import org.springframework.web.client.RestClient;
import org.springframework.web.client.RestTemplate;
import org.springframework.web.reactive.function.client.WebClient;
import reactor.core.publisher.Mono;

/** Every client that a pacer can be given to; each sends a request and returns the status. */
enum Clients {
  JDK {
    @Override
    Sender sender(Pacer pacer) {
      HttpClient client = PacedHttpClient.of(HttpClient.newHttpClient(), pacer);
      return uri ->
          client.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.discarding()).statusCode();
    }
  },
  OK_HTTP {
    @Override
    Sender sender(Pacer pacer) {
      // begin: ok-http
      OkHttpClient client =
          new OkHttpClient.Builder().addInterceptor(PacedOkHttp.interceptor(pacer)).build();
      // end: ok-http
      return uri -> {
        try (Response response =
            client.newCall(new Request.Builder().url(uri.toURL()).build()).execute()) {
          return response.code();
        }
      };
    }
  },
  REST_CLIENT {
    @Override
    Sender sender(Pacer pacer) {
      RestClient client =
          RestClient.builder()
              .requestFactory(new JdkClientHttpRequestFactory())
              .requestInterceptor(PacedRestClient.interceptor(pacer))
              .build();
      return uri ->
          client.get().uri(uri).exchange((request, response) -> response.getStatusCode().value());
    }
  },
  REST_TEMPLATE {
    @Override
    Sender sender(Pacer pacer) {
      RestTemplate client = new RestTemplate(new JdkClientHttpRequestFactory());
      client.setErrorHandler(response -> false);
      client.getInterceptors().add(PacedRestClient.interceptor(pacer));
      return uri ->
          client.execute(
              uri, HttpMethod.GET, request -> {}, response -> response.getStatusCode().value());
    }
  },
  WEB_CLIENT {
    @Override
    Sender sender(Pacer pacer) {
      WebClient client = WebClient.builder().filter(PacedWebClient.filter(pacer)).build();
      return uri -> {
        HttpStatusCode status =
            client
                .get()
                .uri(uri)
                .exchangeToMono(response -> response.releaseBody().thenReturn(response))
                .flatMap(response -> Mono.just(response.statusCode()))
                .block();
        return status == null ? -1 : status.value();
      };
    }
  };

  abstract Sender sender(Pacer pacer);

  /** A client that blocks. */
  interface Sender {
    int send(URI uri) throws IOException, InterruptedException;
  }
}
