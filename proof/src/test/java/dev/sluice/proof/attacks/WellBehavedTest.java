// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.attacks;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.proof.Endpoint;
import dev.sluice.proof.attacks.WellBehaved.Figures;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

final class WellBehavedTest {

  private static final byte[] GARBLED =
      "HTTP/1.1 200 OK\r\nno colon\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

  @Test
  void responseThatCannotBeParsed_isAFailure_andTheClientGoesOn() throws IOException {
    try (ServerSocket door = new ServerSocket(0, 5, InetAddress.getLoopbackAddress())) {
      Endpoint server =
          new Endpoint((InetSocketAddress) door.getLocalSocketAddress(), null, Endpoint.HTTP1);
      try (WellBehaved client = WellBehaved.start(Target.HTTP, server, 1)) {
        for (int i = 0; i < 3; i++) {
          answer(door);
        }
        Figures seen = WellBehaved.take(List.of(client));
        assertThat(seen.failures()).hasSizeGreaterThanOrEqualTo(2);
        assertThat(seen.requests()).isEqualTo(seen.failures().size());
        door.close(); // the client's next connection is refused
      }
    }
  }

  private static void answer(ServerSocket door) throws IOException {
    door.setSoTimeout(60_000);
    try (Socket client = door.accept()) {
      int unused = client.getInputStream().read();
      client.getOutputStream().write(GARBLED);
      client.shutdownOutput();
      client.getInputStream().transferTo(OutputStream.nullOutputStream());
    }
  }
}
