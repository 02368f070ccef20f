// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.cli.Console.ConsoleCommand;
import dev.sluice.cli.Exit.ExitException;
import dev.sluice.internal.text.SafeText;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.security.cert.X509Certificate;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509ExtendedTrustManager;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * {@code sluice healthcheck}: checks for containers whether a server is alive. The command uses
 * plain sockets, since loading an HTTP client would take most of the command's time.
 */
@Command(
    name = "healthcheck",
    description = {
      "Requests GET /healthz from a server, with or without TLS, and exits with 0 if the server is"
          + " alive. Containers can run this command as their health check.",
      "",
      "The server's certificate is not verified, since nothing secret is sent. A server that"
          + " requires a client certificate is alive if it asks for the certificate."
    },
    footerHeading = "%nExamples:%n",
    footer = {"  sluice healthcheck", "  sluice healthcheck --server https://127.0.0.1:8443"})
final class HealthcheckCommand extends ConsoleCommand {

  private static final int PATIENCE_MILLIS = 2_000;
  private static final int STATUS_LINE = 64;
  private static final Pattern ALIVE = Pattern.compile("HTTP/1\\.1 200\\b.*");

  @Option(
      names = "--server",
      paramLabel = "HOST:PORT",
      defaultValue = DoorOptions.USUAL_HTTP,
      description =
          "The server's HTTP address; with https:// only TLS is tried (${DEFAULT-VALUE}).")
  private String server = DoorOptions.USUAL_HTTP;

  @Override
  public Integer call() {
    URI address = address();
    try {
      String answer = server.startsWith("https://") ? "" : plain(address);
      if (!answer.startsWith("HTTP/")) { // a TLS server closes the connection without a reply
        answer = ask(overTls(connect(address), address));
      }
      boolean alive = ALIVE.matcher(answer).matches();
      console.line(alive ? "alive" : "not alive: " + SafeText.printable(answer));
      return alive ? Exit.DONE : Exit.NO;
    } catch (IOException e) {
      if (e instanceof SSLException tls && ServerClient.isAboutClientCertificate(tls)) {
        console.line("alive: the server requires a client certificate");
        return Exit.DONE;
      }
      throw new ExitException(Exit.UNREACHABLE, server + ": " + e.getMessage(), e);
    }
  }

  private URI address() {
    URI address;
    try {
      address = URI.create(server.contains("://") ? server : "http://" + server);
    } catch (IllegalArgumentException e) {
      address = URI.create("http:///");
    }
    if (address.getHost() == null
        || address.getPort() < 0
        || address.getPort() > ServerClient.LARGEST_PORT) {
      throw new InputException("--server: expected HOST:PORT, such as " + DoorOptions.USUAL_HTTP);
    }
    return address;
  }

  /** Sends the request without TLS; returns the status line of the reply, empty without a reply. */
  private static String plain(URI address) throws IOException {
    Socket socket = connect(address);
    try {
      return ask(socket);
    } catch (IOException e) {
      return "";
    }
  }

  private static Socket connect(URI address) throws IOException {
    Socket socket = new Socket();
    socket.setSoTimeout(PATIENCE_MILLIS);
    String host = address.getHost().replaceAll("[\\[\\]]", "");
    socket.connect(new InetSocketAddress(host, address.getPort()), PATIENCE_MILLIS);
    return socket;
  }

  private static Socket overTls(Socket socket, URI address) throws IOException {
    try {
      SSLContext tls = SSLContext.getInstance("TLS");
      tls.init(null, new TrustManager[] {new Anyone()}, new SecureRandom());
      SSLSocket secured =
          (SSLSocket)
              tls.getSocketFactory()
                  .createSocket(socket, address.getHost(), address.getPort(), true);
      secured.startHandshake();
      return secured;
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException(e); // cannot happen: every JDK has TLS
    }
  }

  /** Returns the status line of the reply; empty if the server closed the connection. */
  private static String ask(Socket opened) throws IOException {
    try (Socket socket = opened) {
      socket
          .getOutputStream()
          .write(
              "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
                  .getBytes(StandardCharsets.US_ASCII));
      InputStream in = socket.getInputStream();
      String start = new String(in.readNBytes(STATUS_LINE), StandardCharsets.ISO_8859_1);
      return start.lines().findFirst().orElse("");
    }
  }

  /** Trusts every certificate. */
  private static final class Anyone extends X509ExtendedTrustManager {

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type) {}

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket) {}

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine) {}

    @Override
    public X509Certificate[] getAcceptedIssuers() {
      return new X509Certificate[0];
    }
  }
}
