// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.LimiterObserver.Act;
import dev.sluice.cli.Exit.ExitException;
import dev.sluice.internal.text.SafeText;
import dev.sluice.server.base.Json;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URLEncoder;
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
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * A client of a running server. Each request blocks until its response or a time-out. A request
 * throws an {@link InputException} if the server refuses it, and an {@link ExitException} if the
 * server sends no response, or a response that cannot be parsed.
 */
final class ServerClient {

  static final int LARGEST_PORT = 65_535;

  private static final Duration PATIENCE = Duration.ofSeconds(10);

  /**
   * The time-out for the whole response. The time-out for a response is slightly longer than the
   * time-out for opening a connection, so that a connection that cannot be opened has its own error
   * message.
   */
  private static final Duration ANSWER_PATIENCE = PATIENCE.plusMillis(500);

  private static final int LARGEST_ANSWER = 8 << 20;
  private static final String EXPLAIN = "/v1/explain";
  private static final String RELOAD = "/v1/admin/reload";
  private static final String DRY_RUN = RELOAD + "?dryRun=true";
  private static final int OK = 200;
  private static final int UNAUTHORIZED = 401;
  private static final int CONFLICT = 409;
  private static final int FIRST_CLIENT_FAULT = 400;
  private static final int FIRST_SERVER_FAULT = 500;

  /**
   * Matches the JDK's messages for a TLS alert with which the server rejects the client's
   * certificate.
   */
  private static final Pattern OF_CLIENT_CERTIFICATE =
      Pattern.compile("fatal alert: (.*certificate.*|unknown_ca|handshake_failure)");

  private static final Pattern NO_TLS = Pattern.compile("(?i)unrecognized SSL message");
  private static final String UNTRUSTED = "PKIX path";

  /** Matches both messages of the JDK for a connection that the server closed during TLS. */
  private static final Pattern CLOSED = Pattern.compile("Remote host (terminated|closed) the ");

  private final URI server;

  private final @Nullable String token;
  private final HttpClient client;

  private ServerClient(URI server, @Nullable String token, @Nullable SSLContext tls) {
    this.server = server;
    this.token = token;
    HttpClient.Builder connections =
        HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(PATIENCE);
    this.client = (tls == null ? connections : connections.sslContext(tls)).build();
  }

  /**
   * Returns a client, and warns if a token would be sent unencrypted to another machine.
   *
   * @param url the server's address, {@code http://host:port}
   * @throws InputException if the address cannot be used
   */
  static ServerClient of(
      String url, @Nullable String token, @Nullable SSLContext tls, Console console) {
    URI server = parse(url);
    if (token != null && "http".equals(server.getScheme())) {
      warnOfToken(server, "https", console);
    }
    return new ServerClient(server, token, tls);
  }

  /** Warns if the token would be sent unencrypted to another machine. */
  static void warnOfToken(URI server, String encrypted, Console console) {
    if (!isLoopback(server.getHost())) {
      console
          .err()
          .printf(
              "warning: the token is sent to %s://%s unencrypted; use %s:// if the server has TLS%n",
              server.getScheme(),
              String.valueOf(server.getRawAuthority()).replaceFirst("^.*@", ""),
              encrypted);
    }
  }

  /** Whether a host is loopback, without a name lookup. */
  private static boolean isLoopback(String host) {
    return host.equals("localhost") || host.equals("[::1]") || host.matches("127(\\.[0-9]+){3}");
  }

  private static URI parse(String url) {
    try {
      URI uri = new URI(url);
      boolean http = "http".equals(uri.getScheme()) || "https".equals(uri.getScheme());
      boolean plain = uri.getRawQuery() == null && uri.getRawFragment() == null;
      boolean host = uri.getHost() != null && uri.getPort() <= LARGEST_PORT;
      if (http && host && plain && uri.getRawUserInfo() == null) {
        return uri;
      }
    } catch (URISyntaxException e) {
      // The message below omits the invalid URL, since the URL may contain a password.
    }
    throw new InputException("--server: expected http://host:port, such as http://127.0.0.1:8080");
  }

  /**
   * Sends one operation.
   *
   * @param cost the number of tokens; null for the operation's default
   * @param upTo whether a spend takes as many tokens as the bucket has, up to the cost
   */
  ActAnswer ask(Act act, String limit, String id, @Nullable Long cost, boolean upTo) {
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("limit", limit);
    fields.put("id", id);
    if (cost != null) {
      fields.put("cost", cost);
    }
    if (upTo) {
      fields.put("upTo", true);
    }
    return decided(pathOf(act), fields);
  }

  /** Spends one token of each of several ids, or no token if one of the ids is denied. */
  ActAnswer spendAll(String limit, List<String> ids) {
    List<Map<String, Object>> all =
        ids.stream().map(id -> Map.<String, Object>of("limit", limit, "id", id)).toList();
    return decided(pathOf(Act.SPEND), Map.of("transactions", all));
  }

  private ActAnswer decided(String path, Map<String, Object> fields) {
    String answer = send("POST", path, fields);
    try {
      return ActAnswer.parse(answer);
    } catch (IllegalArgumentException e) {
      throw foreignAnswer(e);
    }
  }

  private static String pathOf(Act act) {
    return "/v1/" + act.name().toLowerCase(Locale.ROOT);
  }

  /**
   * Sets the override or the penalty of an id of a limit, and returns the response as JSON.
   *
   * @param path the path of the resource, without limit and id
   * @param force whether the server is allowed to lower the current override or penalty
   * @throws ExitException if the override or penalty would be lowered without {@code force}, or the
   *     server sent no response
   */
  String put(String path, String limit, String id, Map<String, Object> fields, boolean force) {
    return send("PUT", path(path, limit, id) + (force ? "&force=true" : ""), fields);
  }

  /**
   * Removes the override or the penalty of an id of a limit, and returns the response as JSON.
   *
   * @param path the path of the resource, without limit and id
   */
  String delete(String path, String limit, String id) {
    return send("DELETE", path(path, limit, id), null);
  }

  /**
   * Reads all pages of a list.
   *
   * @param field the list's name in the responses
   */
  void list(String path, String field, @Nullable String limit, Consumer<String> each) {
    String next = "";
    do {
      StringBuilder query = new StringBuilder(path).append("?most=1000");
      if (limit != null) {
        query.append("&limit=").append(encoded(limit));
      }
      if (!next.isEmpty()) {
        query.append("&after=").append(encoded(next));
      }
      next = page(send("GET", query.toString(), null), field, each);
    } while (!next.isEmpty());
  }

  /**
   * Passes each item of a page to a consumer. Returns the value of {@code after} for the next page;
   * empty after the last page.
   */
  private String page(String answer, String field, Consumer<String> each) {
    Map<String, Object> page = parsed(answer);
    if (page == null) {
      throw foreignAnswer(null);
    }
    for (Map<String, Object> item : objects(page, field)) {
      each.accept(json(item));
    }
    return page.get("next") instanceof String next ? next : "";
  }

  /**
   * Returns the path and the query of the URL for an id. The id is in the query: a path cannot
   * contain every id.
   */
  private static String path(String path, String limit, String id) {
    return path + "/" + encoded(limit) + "?id=" + encoded(id);
  }

  private static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
  }

  /**
   * Asks the server why an id is denied, or which rule matches a request. Returns the server's
   * answer as lines of text that are safe to print.
   */
  List<String> explain(Map<String, Object> question) {
    return texts(object("POST", EXPLAIN, question), "lines");
  }

  /**
   * The response to a reload or a rollback.
   *
   * @param applied whether the files, or the earlier generation, are now in force
   * @param active the hash of the generation in force
   * @param mistakes the mistakes in the files, safe to print
   * @param changes the changes to the limits that were made, or that a dry run shows, safe to print
   * @param effect in a dry run, how the changes would affect ids, safe to print; can be empty
   */
  record Reload(
      boolean applied,
      String active,
      boolean isPutBack,
      List<String> mistakes,
      List<String> changes,
      String effect) {}

  /** Makes the server reload its limit files. */
  Reload reload(boolean dryRun) {
    return reload(dryRun ? DRY_RUN : RELOAD, dryRun);
  }

  /**
   * Restores an earlier generation of the limits.
   *
   * @param generation the hash of the generation; null for the generation before the current one
   */
  Reload rollback(@Nullable String generation) {
    return reload(
        "/v1/admin/rollback" + (generation == null ? "" : "?generation=" + encoded(generation)),
        false);
  }

  private Reload reload(String path, boolean dryRun) {
    Map<String, Object> answer = object("POST", path, null);
    Map<String, Object> generation = asObject(answer.get("generation"));
    Map<String, Object> active = asObject(generation.get("active"));
    Set<String> mistakes = new LinkedHashSet<>(texts(answer, "mistakes"));
    if (!dryRun) { // the mistakes of the last reload can be corrected since
      mistakes.addAll(mistakes(generation));
    }
    return new Reload(
        Boolean.TRUE.equals(answer.get("applied")),
        text(active, "hash"),
        Boolean.TRUE.equals(active.get("putBack")),
        List.copyOf(mistakes),
        texts(answer, "changes"),
        text(answer, "effect"));
  }

  /** Returns the mistakes in all kinds of files of a generation, safe to print. */
  static List<String> mistakes(Map<String, Object> generation) {
    List<String> mistakes = new ArrayList<>(texts(asObject(generation.get("offered")), "mistakes"));
    for (String kind : List.of("tokens", "certificates")) {
      Map<String, Object> files = asObject(generation.get(kind));
      mistakes.addAll(texts(asObject(files.get("offered")), "mistakes"));
    }
    mistakes.addAll(texts(asObject(generation.get("runtime")), "mistakes"));
    return mistakes;
  }

  /** Reads the metrics, in the text format of Prometheus. */
  String metrics() {
    return get("/metrics");
  }

  /** Reads a resource, and returns the response as JSON. */
  String get(String path) {
    return send("GET", path, null);
  }

  /**
   * Reads a resource that is a JSON object.
   *
   * @return the object's fields: maps, lists, strings, numbers and booleans; null fields are absent
   */
  Map<String, Object> object(String path) {
    return object("GET", path, null);
  }

  private Map<String, Object> object(
      String method, String path, @Nullable Map<String, Object> fields) {
    Map<String, Object> answer = parsed(send(method, path, fields));
    if (answer == null) {
      throw foreignAnswer(null);
    }
    return answer;
  }

  /** Returns the fields of a JSON object, as {@link #object} does; null for other texts. */
  static @Nullable Map<String, Object> parsed(String json) {
    try {
      return Json.read(json.getBytes(StandardCharsets.UTF_8)) instanceof Map<?, ?> object
          ? asObject(object)
          : null;
    } catch (IOException e) {
      return null;
    }
  }

  /** Returns the fields of a value that {@link #object} has read; empty if it is not an object. */
  static Map<String, Object> asObject(@Nullable Object value) {
    Map<String, Object> fields = new LinkedHashMap<>();
    if (value instanceof Map<?, ?> object) {
      object.forEach(
          (name, field) -> {
            if (field != null) {
              fields.put(String.valueOf(name), field);
            }
          });
    }
    return fields;
  }

  /** Returns the objects of a list; empty if the field is absent or is not a list. */
  static List<Map<String, Object>> objects(Map<String, Object> of, String field) {
    return of.get(field) instanceof List<?> all
        ? all.stream().map(ServerClient::asObject).toList()
        : List.of();
  }

  /** Returns a field as text that is safe to print; empty if the field is absent. */
  static String text(Map<String, Object> of, String field) {
    Object value = of.get(field);
    return value == null ? "" : SafeText.printable(String.valueOf(value));
  }

  /** Returns the texts of a list, safe to print; empty if the field is absent or is not a list. */
  static List<String> texts(Map<String, Object> of, String field) {
    return of.get(field) instanceof List<?> all
        ? all.stream().map(one -> SafeText.printable(String.valueOf(one))).toList()
        : List.of();
  }

  private String send(String method, String path, @Nullable Map<String, Object> fields) {
    String before = server.getRawPath().replaceFirst("/+$", "");
    HttpRequest.Builder request =
        HttpRequest.newBuilder(server.resolve(before + path))
            .timeout(PATIENCE)
            .method(
                method,
                fields == null ? BodyPublishers.noBody() : BodyPublishers.ofString(json(fields)));
    if (fields != null) {
      request.header("Content-Type", "application/json");
    }
    if (token != null) {
      request.header("Authorization", "Bearer " + token);
    }
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    int status;
    try {
      status = answer(request.build(), body);
    } catch (IOException e) {
      throw noAnswer(server + ": " + reason(e, lost(method, path)), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw noAnswer(server + ": interrupted", e);
    }
    if (body.size() > LARGEST_ANSWER) {
      throw noAnswer(server + ": the answer has more than 8 MiB", null);
    }
    return read(
        status, body.toString(StandardCharsets.UTF_8), fields == null ? Set.of() : fields.keySet());
  }

  /**
   * Returns the status once the whole body has arrived. The body needs a separate time-out, since
   * the request's time-out covers only the headers.
   */
  private int answer(HttpRequest request, ByteArrayOutputStream body)
      throws IOException, InterruptedException {
    Consumer<byte[]> keep =
        part -> body.write(part, 0, Math.min(part.length, LARGEST_ANSWER + 1 - body.size()));
    CompletableFuture<HttpResponse<Void>> answer =
        client.sendAsync(request, BodyHandlers.ofByteArrayConsumer(part -> part.ifPresent(keep)));
    try {
      return answer.get(ANSWER_PATIENCE.toMillis(), TimeUnit.MILLISECONDS).statusCode();
    } catch (TimeoutException e) {
      throw new HttpTimeoutException("the answer was not complete in time");
    } catch (ExecutionException e) {
      throw e.getCause() instanceof IOException failure ? failure : new IOException(e.getCause());
    } finally {
      boolean unused = answer.cancel(true); // closes an unfinished connection
    }
  }

  private static String json(Map<String, Object> fields) {
    byte[] object = Json.object(json -> fields.forEach(json::put));
    return new String(object, StandardCharsets.UTF_8);
  }

  private String read(int status, String body, Set<String> sent) {
    Map<String, Object> problem = status == OK ? null : parsed(body);
    String detail = problem == null ? null : field(problem, "detail");
    boolean isReload = status == CONFLICT && detail == null;
    if (status == OK || isReload) { // the response to a failed reload lists the mistakes
      return body;
    }
    if (problem == null || detail == null) {
      throw noAnswer("%s: status %s, not from a Sluice server".formatted(server, status), null);
    }
    if (status == UNAUTHORIZED && token == null) {
      throw new InputException(
          "%s requires a token; give %s FILE, or set SLUICE_TOKEN"
              .formatted(server, ServerClientOptions.TOKEN));
    }
    if (text(problem, "type").endsWith("lowered-override")) {
      throw new ExitException(
          Exit.NO, detail.replace("add force=true to the query", "use --force"), null);
    }
    if (status >= FIRST_CLIENT_FAULT && status < FIRST_SERVER_FAULT) {
      List<String> errors =
          objects(problem, "errors").stream().map(error -> text(error, "detail")).toList();
      throw new InputException(
          errors.size() > 1
              ? "%s mistakes: %s".formatted(errors.size(), String.join("; ", errors))
              : asOption(field(problem, "field"), detail, sent));
    }
    String incident = field(problem, "incident");
    throw noAnswer(
        "%s: status %s: %s%s"
            .formatted(
                server,
                status,
                detail,
                incident == null ? "" : " (incident " + incident + " in the server's log)"),
        null);
  }

  private ExitException foreignAnswer(@Nullable Throwable cause) {
    return noAnswer(server + ": the answer does not come from a Sluice server", cause);
  }

  private static ExitException noAnswer(String message, @Nullable Throwable cause) {
    return new ExitException(Exit.UNREACHABLE, SafeText.printable(message), cause);
  }

  /**
   * Changes a message about a field of the request to a message about the option of the same name,
   * which the user typed.
   */
  private static String asOption(@Nullable String field, String detail, Set<String> sent) {
    if (field == null || sent.contains("limit") || !sent.contains(field)) {
      return detail;
    }
    return detail.startsWith(field + ": ") ? "--" + detail : "--%s: %s".formatted(field, detail);
  }

  /** Returns a text field of an RFC 9457 problem, safe to print; null if the field is absent. */
  private static @Nullable String field(Map<String, Object> problem, String name) {
    return problem.get(name) instanceof String text ? SafeText.printable(text) : null;
  }

  /** Returns what is known about the effect of a request whose response was lost. */
  private static String lost(String method, String path) {
    if (method.equals("GET") || path.equals(pathOf(Act.CHECK)) || path.equals(EXPLAIN)) {
      return "nothing was charged";
    }
    if (path.equals(DRY_RUN)) {
      return "nothing was changed";
    }
    return method.equals("POST") && !path.startsWith("/v1/admin/")
        ? "whether anything was charged is unknown"
        : "whether anything was changed is unknown";
  }

  private String reason(IOException e, String lost) {
    SSLException tlsFailure = tlsFailure(e);
    if (tlsFailure != null) {
      return reason(tlsFailure);
    }
    for (Throwable cause = e; cause != null; cause = cause.getCause()) {
      if (cause instanceof UnresolvedAddressException) {
        return "the host is unknown";
      }
    }
    if (e instanceof HttpConnectTimeoutException) {
      return "no connection within %s s".formatted(PATIENCE.toSeconds());
    }
    if (e instanceof HttpTimeoutException) {
      return "no answer within %s s; %s".formatted(PATIENCE.toSeconds(), lost);
    }
    if (e instanceof ConnectException) {
      String why = message(e);
      return why.isEmpty() || why.contains("refused")
          ? "connection refused; is the server running?"
          : "no connection (%s)".formatted(why);
    }
    // In TLS 1.3, the server rejects a certificate after the client has finished the handshake.
    return "https".equals(server.getScheme())
        ? "the server closed the connection (%s); if the server requires another client certificate, give it with --cert and --key; %s"
            .formatted(e.getMessage(), lost)
        : "the connection failed (%s); %s; if the server has TLS, use https://"
            .formatted(e.getMessage(), lost);
  }

  /** Returns the first message of the exception and its causes, since some exceptions have none. */
  private static String message(IOException e) {
    for (Throwable cause = e; cause != null; cause = cause.getCause()) {
      if (cause.getMessage() != null) {
        return cause.getMessage();
      }
    }
    return "";
  }

  private static @Nullable SSLException tlsFailure(IOException e) {
    for (Throwable cause = e; cause != null; cause = cause.getCause()) {
      if (cause instanceof SSLException failure) {
        return failure;
      }
    }
    return null;
  }

  /** Whether the server rejected the client's certificate, or requires one. */
  static boolean isAboutClientCertificate(SSLException e) {
    return OF_CLIENT_CERTIFICATE.matcher(String.valueOf(e.getMessage())).find();
  }

  /**
   * Returns why TLS failed, and what to do: the server rejects the client's certificate, the client
   * does not trust the server's certificate, the server has no TLS, or the server closed the
   * connection.
   */
  private static String reason(SSLException e) {
    String message = String.valueOf(e.getMessage());
    String advice = "";
    if (isAboutClientCertificate(e)) {
      advice = "; give a certificate that the server accepts, with --cert FILE --key FILE";
    } else if (NO_TLS.matcher(message).find()) {
      advice = "; if the server has no TLS, use http://";
    } else if (message.contains(UNTRUSTED)) {
      advice = "; --cacert FILE names the authority of its certificate";
    } else if (CLOSED.matcher(message).find()) {
      advice = "; if the server requires another client certificate, give it with --cert and --key";
    }
    return "no connection over TLS (%s)%s".formatted(message, advice);
  }
}
