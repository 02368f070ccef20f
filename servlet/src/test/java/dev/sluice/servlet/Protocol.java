package dev.sluice.servlet;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** The protocols that the filter is tested over, each with a client that can break off. */
enum Protocol {
  HTTP_1_1 {
    @Override
    Client client(int port) {
      return new Http1Client(port);
    }
  },
  HTTP_2 {
    @Override
    Client client(int port) throws Exception {
      return new Http2Client(port);
    }
  };

  abstract Client client(int port) throws Exception;

  /** A client that sends without waiting. */
  interface Client extends AutoCloseable {

    /** Sends a GET. */
    Exchange get(String path) throws Exception;

    /** Sends the head of a POST whose body never comes. */
    Exchange postWithoutBody(String path) throws Exception;

    @Override
    void close() throws Exception;
  }

  /** A request under way. */
  interface Exchange {

    /** Waits for the response's status; 0 where the server ends the exchange without one. */
    int status() throws Exception;

    /** Breaks off: resets the stream, or with HTTP/1.1 the connection. */
    void abort() throws Exception;
  }

  /** A connection for each request. */
  private static final class Http1Client implements Client {

    private final int port;
    private final List<Socket> sockets = new ArrayList<>();

    private Http1Client(int port) {
      this.port = port;
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
      Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
      sockets.add(socket);
      String head =
          "%s %s%s HTTP/1.1\r\nHost: x\r\n%sConnection: close\r\n\r\n"
              .formatted(method, WebServer.CONTEXT, path, header);
      socket.getOutputStream().write(head.getBytes(StandardCharsets.ISO_8859_1));
      return new Http1Exchange(socket);
    }

    @Override
    public void close() throws IOException {
      for (Socket socket : sockets) {
        socket.close();
      }
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
