// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.tls;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.tls.TlsIdentity.Tls;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslHandler;
import java.util.List;
import javax.net.ssl.SSLException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Records that do not end. */
@Tag("slow")
final class TlsTest {

  /** The least that the network's buffers hold, even for one byte. */
  private static final int READ = 512;

  private static final int PIECES = 2_000;
  private static final byte HANDSHAKE = 22;
  private static final byte DATA = 23;

  private final UnpooledByteBufAllocator memory = new UnpooledByteBufAllocator(true);
  private final EmbeddedChannel server = new EmbeddedChannel();

  @AfterEach
  void close() {
    server.finishAndReleaseAll();
  }

  private void encrypt() throws SSLException {
    server.config().setAllocator(memory);
    TlsIdentity identity =
        TlsIdentity.of(
            Pem.SERVER.privateKey(), Pem.SERVER.certificateChain(), List.of(), ClientAuth.NONE);
    new Tls(() -> identity).encrypt(server, false);
  }

  private void shakeHands() throws SSLException {
    EmbeddedChannel client =
        new EmbeddedChannel(
            SslContextBuilder.forClient()
                .trustManager(Pem.leaf(Pem.SERVER))
                .build()
                .newHandler(UnpooledByteBufAllocator.DEFAULT, "localhost", 443));
    boolean more = true;
    while (more) {
      more = pass(client, server);
      more |= pass(server, client);
    }
    assertThat(server.pipeline().get(SslHandler.class).handshakeFuture().isSuccess()).isTrue();
    client.finishAndReleaseAll();
  }

  private static boolean pass(EmbeddedChannel from, EmbeddedChannel to) {
    ByteBuf bytes = from.readOutbound();
    if (bytes == null) {
      return false;
    }
    to.writeInbound(bytes);
    return true;
  }

  private void read(int... bytes) {
    ByteBuf read = memory.directBuffer(READ);
    for (int one : bytes) {
      read.writeByte(one);
    }
    server.writeInbound(read);
  }

  /** Sends a record of 16 KB, one byte at a time, but for its end. */
  private void trickle(byte type) {
    read(type, 3, 3, 0x40, 0);
    for (int i = 0; i < PIECES; i++) {
      read(1);
    }
  }

  @Test
  void unfinishedRecordOfAHandshake_holdsItsBytesAlone() throws SSLException {
    encrypt();
    trickle(HANDSHAKE);
    assertThat(memory.metric().usedDirectMemory()).isBetween((long) PIECES, 64L << 10);
  }

  @Test
  void unfinishedRecord_holdsItsBytesAlone() throws SSLException {
    encrypt();
    shakeHands();
    trickle(DATA);
    assertThat(memory.metric().usedDirectMemory()).isLessThan(64L << 10);
  }
}
