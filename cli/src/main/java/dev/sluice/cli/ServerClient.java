package dev.sluice.cli;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import dev.sluice.LimiterObserver.Act;
import java.io.IOException;
import java.io.InputStream;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpTimeoutException;
import java.nio.channels.UnresolvedAddressException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Asks a running server for one act. Blocks, within a bound. */
final class ServerClient {

  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final int LARGEST_ANSWER = 1 << 20;
  private static final int OK = 200;
  private static final int FIRST_CLIENT_FAULT = 400;
  private static final int FIRST_SERVER_FAULT = 500;
  private static final JsonFactory JSON = new JsonFactory();

  private final URI server;

  /**
   * Makes a client.
   *
   * @param url the server's address, {@code http://host:port}
   * @throws InputException if it is none
   */
  ServerClient(String url) {
    this.server = parse(url);
  }

  private static URI parse(String url) {
    try {
      URI uri = new URI(url);
      boolean http = "http".equals(uri.getScheme()) || "https".equals(uri.getScheme());
      boolean plain = uri.getRawQuery() == null && uri.getRawFragment() == null;
      if (http && uri.getHost() != null && plain && uri.getRawUserInfo() == null) {
        return uri;
      }
    } catch (URISyntaxException e) {
      // Falls through: a text that may hold a password is not shown.
    }
    throw new InputException("--server: expected http://host:port, such as http://127.0.0.1:8080");
  }

  /**
   * Asks for one act.
   *
   * @param cost null for the default
   * @throws InputException if the server refused the request
   * @throws ServerException if there was no answer, or none to rely on
   */
  ActAnswer ask(Act act, String limit, String id, @Nullable Long cost) {
    String path = server.getRawPath().replaceFirst("/+$", "");
    URI address = server.resolve(path + "/v1/" + act.name().toLowerCase(Locale.ROOT));
    HttpRequest request =
        HttpRequest.newBuilder(address)
            .timeout(PATIENCE)
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString(body(limit, id, cost)))
            .build();
    HttpResponse<InputStream> response;
    String body;
    try {
      response = client().send(request, BodyHandlers.ofInputStream());
      try (InputStream in = response.body()) {
        body = new String(in.readNBytes(LARGEST_ANSWER), StandardCharsets.UTF_8);
      }
    } catch (IOException e) {
      throw new ServerException(server + ": " + reason(e), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ServerException(server + ": interrupted", e);
    }
    return read(response.statusCode(), body);
  }

  private static HttpClient client() {
    return HttpClient.newBuilder()
        .version(HttpClient.Version.HTTP_1_1)
        .connectTimeout(PATIENCE)
        .build();
  }

  private static String body(String limit, String id, @Nullable Long cost) {
    StringWriter text = new StringWriter();
    try (JsonGenerator json = JSON.createGenerator(text)) {
      json.writeStartObject();
      json.writeStringField("limit", limit);
      json.writeStringField("id", id);
      if (cost != null) {
        json.writeNumberField("cost", cost);
      }
      json.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException(e); // memory does not fail
    }
    return text.toString();
  }

  private ActAnswer read(int status, String body) {
    if (status == OK) {
      try {
        return ActAnswer.parse(body);
      } catch (IllegalArgumentException e) {
        throw new ServerException(server + ": the answer is not that of a Sluice server", e);
      }
    }
    String detail = field(body, "detail");
    if (detail != null && status >= FIRST_CLIENT_FAULT && status < FIRST_SERVER_FAULT) {
      throw new InputException(detail);
    }
    String incident = field(body, "incident");
    throw new ServerException(
        "%s: status %s%s%s"
            .formatted(
                server,
                status,
                detail == null ? ", not from a Sluice server" : ": " + detail,
                incident == null ? "" : " (incident " + incident + " in the server's log)"),
        null);
  }

  /** A text of the problem's own; null if there is none. */
  private static @Nullable String field(String body, String wanted) {
    try (JsonParser parser = JSON.createParser(body)) {
      if (parser.nextToken() != JsonToken.START_OBJECT) {
        return null;
      }
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        boolean found = parser.currentName().equals(wanted);
        if (parser.nextToken() == JsonToken.VALUE_STRING && found) {
          return parser.getText();
        }
        parser.skipChildren();
      }
    } catch (IOException e) {
      return null;
    }
    return null;
  }

  private static String reason(IOException e) {
    for (Throwable cause = e; cause != null; cause = cause.getCause()) {
      if (cause instanceof UnresolvedAddressException) {
        return "the host is unknown";
      }
    }
    if (e instanceof HttpConnectTimeoutException) {
      return "no connection within %s s".formatted(PATIENCE.toSeconds());
    }
    if (e instanceof HttpTimeoutException) {
      return "no answer within %s s; whether anything was charged is unknown"
          .formatted(PATIENCE.toSeconds());
    }
    return e instanceof ConnectException
        ? "connection refused; is the server running?"
        : "the connection failed (%s)".formatted(e.getMessage());
  }
}
