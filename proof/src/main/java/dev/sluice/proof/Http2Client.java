// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof;

import dev.sluice.envoy.RateLimitDescriptor;
import dev.sluice.envoy.RateLimitDescriptor.Entry;
import dev.sluice.envoy.RateLimitRequest;
import dev.sluice.envoy.RateLimitResponse;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.http.HttpURI;
import org.eclipse.jetty.http.HttpVersion;
import org.eclipse.jetty.http.MetaData;
import org.eclipse.jetty.http2.ErrorCode;
import org.eclipse.jetty.http2.api.Session;
import org.eclipse.jetty.http2.api.Stream;
import org.eclipse.jetty.http2.client.HTTP2Client;
import org.eclipse.jetty.http2.frames.DataFrame;
import org.eclipse.jetty.http2.frames.GoAwayFrame;
import org.eclipse.jetty.http2.frames.HeadersFrame;
import org.eclipse.jetty.http2.frames.ResetFrame;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.component.LifeCycle;
import org.eclipse.jetty.util.ssl.SslContextFactory;

/**
 * A client that sends several HTTP/2 requests or several calls of Envoy's rate limit service at
 * once. The server announces the close with a GOAWAY frame, which names the last stream that the
 * server processed. The server did not process requests on streams after the named stream, so a
 * missing response to such a request does not count as lost.
 */
final class Http2Client extends JsonClient {

  private static final long PATIENCE_SECONDS = 60;
  // The GOAWAY frame can arrive after the failure of a request.
  private static final long GOODBYE_SECONDS = 1;
  private static final String GRPC_PATH =
      "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
  private static final HTTP2Client JETTY = started();

  private final boolean grpc;
  private final Session session;
  private final CompletableFuture<Void> goodbye = new CompletableFuture<>();
  private volatile int lastStream = Integer.MAX_VALUE;

  Http2Client(Endpoint server, boolean grpc, Keys keys) throws IOException {
    super(keys);
    this.grpc = grpc;
    Session.Listener listener =
        new Session.Listener() {
          @Override
          public void onGoAway(Session ended, GoAwayFrame frame) {
            lastStream = frame.getLastStreamId();
            goodbye.complete(null);
          }
        };
    Trust trust = server.trust();
    if (trust == null) {
      this.session = get(JETTY.connect(server.address(), listener));
    } else {
      SslContextFactory.Client tls = new SslContextFactory.Client();
      tls.setSslContext(trust.context());
      start(tls);
      this.session = get(JETTY.connect(tls, server.address(), listener));
    }
  }

  private static HTTP2Client started() {
    HTTP2Client client = new HTTP2Client();
    client.getClientConnector().setIdleTimeout(Duration.ofMinutes(5));
    start(client);
    return client;
  }

  private static void start(LifeCycle part) {
    try {
      part.start();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  public Answers ask(String id, int requests) throws IOException {
    List<Exchange> open = new ArrayList<>();
    for (int i = 0; i < requests; i++) {
      open.add(
          grpc
              ? new Exchange(GRPC_PATH, call(Door.LIMIT, List.of(id), 1), keys.load())
              : new Exchange("/v1/spend", Connection.ascii(spend(id)), keys.load()));
    }
    Answers all = Answers.NONE;
    for (Exchange one : open) {
      if (!one.wasIgnored()) {
        HttpAnswer answer = one.answer();
        all = all.plus(grpc ? Answers.of(isAllowed(message(answer))) : answers(answer));
      }
    }
    return all.ending(goodbye.isDone());
  }

  @Override
  public Set<Act> acts() {
    return grpc ? EnumSet.of(Act.SPEND, Act.BATCH) : super.acts();
  }

  @Override
  public Outcome act(Act act, List<String> ids, int cost) throws IOException {
    if (!grpc) {
      return super.act(act, ids, cost);
    }
    HttpAnswer answer = one(GRPC_PATH, call(Act.LIMIT, ids, cost), keys.load());
    if (answer.header("grpc-status").equals("14")) { // UNAVAILABLE
      return Outcome.UNDECIDED;
    }
    RateLimitResponse response = message(answer);
    return new Outcome(
        isAllowed(response),
        response.getStatusesList().stream().map(one -> (long) one.getLimitRemaining()).toList());
  }

  @Override
  HttpAnswer post(String path, String body, String token) throws IOException {
    return one(path, Connection.ascii(body), token);
  }

  private HttpAnswer one(String path, byte[] body, String token) throws IOException {
    HttpAnswer answer = new Exchange(path, body, token).answer();
    if (goodbye.isDone()) {
      throw new IOException("the connection has ended");
    }
    return answer;
  }

  private static byte[] call(String limit, List<String> ids, int cost) {
    RateLimitRequest.Builder request =
        RateLimitRequest.newBuilder().setDomain("edge").setHitsAddend(cost);
    for (String id : ids) {
      request.addDescriptors(
          RateLimitDescriptor.newBuilder()
              .addEntries(Entry.newBuilder().setKey(limit).setValue(id)));
    }
    byte[] message = request.build().toByteArray();
    return Http2Frames.grpcMessage(message.length, message);
  }

  private static RateLimitResponse message(HttpAnswer answer) throws IOException {
    if (answer.status() != 200 || !answer.header("grpc-status").equals("0")) {
      throw new IOException("unexpected response to a call: %s".formatted(answer.headers()));
    }
    byte[] body = Connection.ascii(answer.body());
    return RateLimitResponse.parseFrom(
        ByteBuffer.wrap(body, Http2Frames.GRPC_PREFIX, body.length - Http2Frames.GRPC_PREFIX));
  }

  private static boolean isAllowed(RateLimitResponse response) {
    return response.getOverallCode() == RateLimitResponse.Code.OK;
  }

  private static <T> T get(CompletableFuture<T> future) throws IOException {
    try {
      return future.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    } catch (ExecutionException | TimeoutException e) {
      throw new IOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException();
    }
  }

  @Override
  public void close() {
    var unused = session.close(ErrorCode.NO_ERROR.code, "", Callback.NOOP);
  }

  /** A request in flight, with the part of its response that has arrived so far. */
  private final class Exchange implements Stream.Listener {
    private final Map<String, String> headers = new HashMap<>();
    private final ByteArrayOutputStream body = new ByteArrayOutputStream();
    private final CompletableFuture<HttpAnswer> answer = new CompletableFuture<>();
    private final CompletableFuture<Stream> stream;
    private int status;

    Exchange(String path, byte[] content, String token) throws IOException {
      HttpFields.Mutable fields =
          HttpFields.build().put("content-type", grpc ? "application/grpc" : "application/json");
      if (!token.isEmpty()) {
        fields.put("sluice-token", token);
      }
      if (grpc) {
        fields.put("te", "trailers");
      }
      MetaData.Request head =
          new MetaData.Request(
              "POST", HttpURI.from("https://localhost" + path), HttpVersion.HTTP_2, fields);
      stream = new CompletableFuture<>();
      var unused =
          session
              .newStream(new HeadersFrame(head, null, false), this)
              .whenComplete(
                  (made, failure) -> {
                    if (failure == null) {
                      stream.complete(made);
                    } else {
                      answer.completeExceptionally(failure);
                      stream.completeExceptionally(failure);
                    }
                  })
              .thenCompose(
                  made -> made.data(new DataFrame(made.getId(), ByteBuffer.wrap(content), true)));
    }

    HttpAnswer answer() throws IOException {
      return get(answer);
    }

    /**
     * Waits for the response. Returns true if no response comes, because a GOAWAY frame of the
     * server says that the request was not processed.
     */
    boolean wasIgnored() throws IOException {
      try {
        HttpAnswer unused = answer.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        return false;
      } catch (TimeoutException e) {
        throw new IOException(e);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new InterruptedIOException();
      } catch (ExecutionException e) {
        try {
          goodbye.get(GOODBYE_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException | ExecutionException | TimeoutException none) {
          throw new IOException("lost", e);
        }
        return stream.isCompletedExceptionally() || stream.join().getId() > lastStream;
      }
    }

    @Override
    public void onHeaders(Stream from, HeadersFrame frame) {
      MetaData head = frame.getMetaData();
      if (head instanceof MetaData.Response response) {
        status = response.getStatus();
      }
      head.getHttpFields()
          .forEach(
              field -> headers.put(field.getLowerCaseName(), String.valueOf(field.getValue())));
      read(from, frame.isEndStream());
    }

    @Override
    public void onDataAvailable(Stream from) {
      Stream.Data data = from.readData();
      boolean ended = data != null && data.frame().isEndStream();
      if (data != null) {
        ByteBuffer bytes = data.frame().getByteBuffer();
        byte[] copy = new byte[bytes.remaining()];
        bytes.get(copy);
        body.writeBytes(copy);
        data.release();
      }
      read(from, ended);
    }

    private void read(Stream from, boolean ended) {
      if (ended) {
        answer.complete(
            new HttpAnswer(status, Map.copyOf(headers), HttpAnswer.text(body.toByteArray())));
      } else {
        from.demand();
      }
    }

    @Override
    public void onReset(Stream from, ResetFrame frame, Callback callback) {
      answer.completeExceptionally(
          new IOException("the stream was reset with the error " + frame.getError()));
      callback.succeeded();
    }

    @Override
    public void onFailure(
        Stream from, int error, String reason, Throwable failure, Callback callback) {
      answer.completeExceptionally(failure);
      callback.succeeded();
    }
  }
}
