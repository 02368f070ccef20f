// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.web;

import dev.sluice.testkit.web.FilterProtocol.AbortingClient;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.http.HttpURI;
import org.eclipse.jetty.http.HttpVersion;
import org.eclipse.jetty.http.MetaData;
import org.eclipse.jetty.http2.ErrorCode;
import org.eclipse.jetty.http2.api.Session;
import org.eclipse.jetty.http2.api.Stream;
import org.eclipse.jetty.http2.client.HTTP2Client;
import org.eclipse.jetty.http2.frames.HeadersFrame;
import org.eclipse.jetty.http2.frames.PingFrame;
import org.eclipse.jetty.http2.frames.ResetFrame;
import org.eclipse.jetty.util.Callback;

/** An HTTP/2 client with one connection without TLS; can reset each stream. */
final class Http2Client implements AbortingClient {

  private static final long PATIENCE_SECONDS = 60;

  private final HTTP2Client client = new HTTP2Client();
  private final Session session;
  private final Semaphore pongs = new Semaphore(0);
  private final FilteredSite site;

  Http2Client(FilteredSite site) throws Exception {
    this.site = site;
    client.start();
    Session.Listener listener =
        new Session.Listener() {
          @Override
          public void onPing(Session session, PingFrame frame) {
            pongs.release();
          }
        };
    this.session =
        client
            .connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), site.port()), listener)
            .get(PATIENCE_SECONDS, TimeUnit.SECONDS);
  }

  /**
   * Sends a PING frame and waits for the reply, so that the server has read all earlier frames.
   * Waits at most 1 s for the reply, since Tomcat does not reply if it considers many resets an
   * attack.
   */
  private void awaitRead() throws InterruptedException {
    session.ping(new PingFrame(0, false), Callback.NOOP);
    pongs.tryAcquire(1, TimeUnit.SECONDS);
  }

  @Override
  public Exchange get(String path) throws Exception {
    return send("GET", path, true);
  }

  @Override
  public Exchange postWithoutBody(String path) throws Exception {
    return send("POST", path, false);
  }

  /**
   * Sends a GET request for a path below the application's prefix.
   *
   * @param authority the host in the pseudo-header ":authority"
   */
  Exchange get(String path, String authority, HttpFields headers) throws Exception {
    return send("GET", path, authority, headers, true);
  }

  private Exchange send(String method, String path, boolean whole) throws Exception {
    return send(method, path, "127.0.0.1:" + site.port(), HttpFields.EMPTY, whole);
  }

  private Exchange send(
      String method, String path, String authority, HttpFields headers, boolean whole)
      throws Exception {
    HttpURI uri = HttpURI.from("http://" + authority + site.prefix() + path);
    MetaData.Request request = new MetaData.Request(method, uri, HttpVersion.HTTP_2, headers);
    Response response = new Response();
    Stream stream =
        session
            .newStream(new HeadersFrame(request, null, whole), response)
            .get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    awaitRead();
    return new Http2Exchange(stream, response);
  }

  @Override
  public void close() throws Exception {
    client.stop();
  }

  private final class Http2Exchange implements Exchange {

    private final Stream stream;
    private final Response response;

    private Http2Exchange(Stream stream, Response response) {
      this.stream = stream;
      this.response = response;
    }

    @Override
    public int status() throws Exception {
      return response.status.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    @Override
    public void abort() throws Exception {
      stream
          .reset(new ResetFrame(stream.getId(), ErrorCode.CANCEL_STREAM_ERROR.code))
          .get(PATIENCE_SECONDS, TimeUnit.SECONDS);
      awaitRead();
    }
  }

  private static final class Response implements Stream.Listener {

    private final CompletableFuture<Integer> status = new CompletableFuture<>();

    @Override
    public void onHeaders(Stream stream, HeadersFrame frame) {
      if (frame.getMetaData() instanceof MetaData.Response head) {
        status.complete(head.getStatus());
      }
      if (!frame.isEndStream()) {
        stream.demand();
      }
    }

    @Override
    public void onDataAvailable(Stream stream) {
      Stream.Data data = stream.readData();
      if (data == null) {
        stream.demand();
        return;
      }
      boolean last = data.frame().isEndStream();
      data.release();
      if (!last) {
        stream.demand();
      }
    }

    @Override
    public void onReset(Stream stream, ResetFrame frame, Callback callback) {
      status.complete(0);
      callback.succeeded();
    }

    @Override
    public void onFailure(
        Stream stream, int error, String reason, Throwable failure, Callback callback) {
      status.complete(0);
      callback.succeeded();
    }
  }
}
