// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.server.resp.ErrorReplies.ProtocolException;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class RequestReaderTest {

  private static final String SET = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\na\r\nb\r\n";

  private final RequestReader reader = new RequestReader();
  private final List<List<String>> requests = new ArrayList<>();

  private void feed(byte[] bytes, int from, int to) throws ProtocolException {
    reader.add(Unpooled.copiedBuffer(bytes, from, to - from));
    while (reader.next()) {
      Request request = reader.request();
      List<String> words = new ArrayList<>();
      for (int i = 0; i < request.count(); i++) {
        words.add(
            new String(
                request.bytes(), request.start(i), request.length(i), StandardCharsets.ISO_8859_1));
      }
      requests.add(words);
    }
    reader.keep();
  }

  private void feed(String text) throws ProtocolException {
    byte[] bytes = text.getBytes(StandardCharsets.ISO_8859_1);
    feed(bytes, 0, bytes.length);
  }

  @Test
  void arrays_areReadOneAfterTheOther() throws ProtocolException {
    feed(SET + "*1\r\n$4\r\nPING\r\n" + SET);
    assertThat(requests)
        .containsExactly(
            List.of("SET", "k", "a\r\nb"), List.of("PING"), List.of("SET", "k", "a\r\nb"));
    assertThat(reader.heldBytes()).isZero();
  }

  @Test
  void inAnyPieces_theRequestsAreTheSame() throws ProtocolException {
    String text = SET + "PING\r\n*0\r\n\r\n" + SET + "echo \"a b\"\n*-1\r\n*1\r\n$0\r\n\r\n";
    byte[] bytes = text.getBytes(StandardCharsets.ISO_8859_1);
    Random random = new Random(7);
    for (int round = 0; round < 500; round++) {
      requests.clear();
      int at = 0;
      while (at < bytes.length) {
        int to = round == 0 ? at + 1 : Math.min(bytes.length, at + 1 + random.nextInt(20));
        feed(bytes, at, to);
        at = to;
      }
      assertThat(requests)
          .containsExactly(
              List.of("SET", "k", "a\r\nb"),
              List.of("PING"),
              List.of("SET", "k", "a\r\nb"),
              List.of("echo", "a b"),
              List.of(""));
      assertThat(reader.heldBytes()).isZero();
    }
  }

  @ParameterizedTest
  @CsvSource({
    "PING,PING",
    "'  a   b\t c ','a|b|c'",
    "'\"a b\" c','a b|c'",
    "'''a\\''b'' c','a''b|c'",
    "'\"\\x41\\n\\\"\" z','A\n\"|z'",
    "'\"\"','\"\"'"
  })
  void inlineCommands_areSplitAsRedisDoes(String line, String words) throws ProtocolException {
    feed(line + "\r\n");
    assertThat(requests).hasSize(1);
    assertThat(String.join("|", requests.get(0))).isEqualTo(words.equals("\"\"") ? "" : words);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "*a\r\n",
        "*\r\n",
        "*1\r\n+PING\r\n",
        "*1\r\n$-1\r\n",
        "*1\r\n$x\r\n",
        "*1\r\n$16385\r\n",
        "*1025\r\n",
        "*1000000000000000000000000\r\n",
        "*1\r\n$4\r\nPINGxx",
        "*1\rx",
        "\"a\r\n",
        "\"a\"b\r\n"
      })
  void whatIsNoRequest_isRefused(String text) {
    assertThatThrownBy(() -> feed(text)).isInstanceOf(ProtocolException.class);
  }

  @Test
  void lengthsBeyondTheBounds_areRefusedBeforeTheBytesArrive() {
    StringBuilder text = new StringBuilder("*5\r\n");
    String argument = "x".repeat(RequestReader.MAX_ARGUMENT);
    for (int i = 0; i < 3; i++) {
      text.append("$16384\r\n").append(argument).append("\r\n");
    }
    text.append("$16384\r\n");
    assertThatThrownBy(() -> feed(text.toString())).hasMessageContaining("more than 65536 bytes");
  }

  @Test
  void anInlineCommandWithoutEnd_isRefused() {
    assertThatThrownBy(() -> feed("x".repeat(RequestReader.MAX_INLINE + 1)))
        .hasMessageContaining("too big inline request");
  }

  /** Whatever the bytes are: no other exception, no endless loop, and bounded memory. */
  @Test
  void randomBytes_areReadOrRefused() {
    Random random = new Random(42);
    String alphabet = "*$0123456789\r\n\"' abPING\\x-";
    for (int round = 0; round < 20_000; round++) {
      RequestReader fresh = new RequestReader();
      try {
        for (int part = 0; part < 4; part++) {
          byte[] bytes = new byte[1 + random.nextInt(40)];
          for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) alphabet.charAt(random.nextInt(alphabet.length()));
          }
          fresh.add(Unpooled.wrappedBuffer(bytes));
          int found = 0;
          while (fresh.next()) {
            found++;
          }
          fresh.keep();
          assertThat(found).isLessThan(100);
          assertThat(fresh.heldBytes()).isLessThanOrEqualTo(RequestReader.MAX_REQUEST);
        }
      } catch (ProtocolException e) {
        assertThat(e.getMessage()).isNotEmpty();
      }
    }
  }
}
