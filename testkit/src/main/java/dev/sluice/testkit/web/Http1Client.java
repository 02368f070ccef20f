// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.web;

import dev.sluice.testkit.web.FilterProtocol.AbortingClient;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** An HTTP/1.1 client with a separate connection for each request. */
final class Http1Client implements AbortingClient {

  private final FilteredSite site;
  private final List<Socket> sockets = new ArrayList<>();

  Http1Client(FilteredSite site) {
    this.site = site;
  }

  @Override
  public Exchange get(String path) throws IOException {
    return send("GET", path, "");
  }

  @Override
  public Exchange postWithoutBody(String path) throws IOException {
    return send("POST", path, "Content-Length: 100\r\n");
  }

  private Exchange send(String method, String path, String header) throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), site.port());
    sockets.add(socket);
    String head =
        "%s %s%s HTTP/1.1\r\nHost: x\r\n%sConnection: close\r\n\r\n"
            .formatted(method, site.prefix(), path, header);
    socket.getOutputStream().write(head.getBytes(StandardCharsets.ISO_8859_1));
    return new Http1Exchange(socket);
  }

  @Override
  public void close() throws IOException {
    for (Socket socket : sockets) {
      socket.close();
    }
  }

  private record Http1Exchange(Socket socket) implements Exchange {

    @Override
    public int status() throws IOException {
      BufferedReader in =
          new BufferedReader(
              new InputStreamReader(socket.getInputStream(), StandardCharsets.ISO_8859_1));
      String line = in.readLine();
      return line == null ? 0 : Integer.parseInt(line.split(" ", -1)[1]);
    }

    @Override
    public void abort() throws IOException {
      socket.setSoLinger(true, 0);
      socket.close();
    }
  }
}
