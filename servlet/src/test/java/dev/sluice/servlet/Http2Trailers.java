// SPDX-License-Identifier: Apache-2.0
package dev.sluice.servlet;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.http.HttpURI;
import org.eclipse.jetty.http.HttpVersion;
import org.eclipse.jetty.http.MetaData;
import org.eclipse.jetty.http2.api.Session;
import org.eclipse.jetty.http2.api.Stream;
import org.eclipse.jetty.http2.client.HTTP2Client;
import org.eclipse.jetty.http2.frames.HeadersFrame;

/** Reads the trailers of a response over HTTP/2, which the JDK's client ignores. */
final class Http2Trailers implements Stream.Listener {

  private static final long PATIENCE_SECONDS = 60;

  private final CompletableFuture<Map<String, String>> trailers = new CompletableFuture<>();

  private Http2Trailers() {}

  /** Gets a path and returns the trailers, with names in lower case. */
  static Map<String, String> get(int port, String path) throws Exception {
    HTTP2Client client = new HTTP2Client();
    client.start();
    try {
      InetSocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
      Session session =
          client
              .connect(address, new Session.Listener() {})
              .get(PATIENCE_SECONDS, TimeUnit.SECONDS);
      MetaData.Request request =
          new MetaData.Request(
              "GET",
              HttpURI.from("http://127.0.0.1:" + port + path),
              HttpVersion.HTTP_2,
              HttpFields.build().put("te", "trailers"));
      Http2Trailers answer = new Http2Trailers();
      var unused = session.newStream(new HeadersFrame(request, null, true), answer);
      return answer.trailers.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    } finally {
      client.stop();
    }
  }

  @Override
  public void onHeaders(Stream stream, HeadersFrame frame) {
    if (frame.isEndStream()) {
      Map<String, String> fields = new TreeMap<>();
      frame
          .getMetaData()
          .getHttpFields()
          .forEach(f -> fields.put(f.getLowerCaseName(), f.getValue()));
      trailers.complete(fields);
    } else {
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
    if (last) {
      trailers.complete(Map.of());
    } else {
      stream.demand();
    }
  }
}
