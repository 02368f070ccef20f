// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.attacks;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.proof.Http2Frames;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** Which bytes the gRPC door's attacks take for a refusal. */
final class GrpcAnswerTest {

  private static final byte[] SETTINGS = Http2Frames.frame(Http2Frames.SETTINGS, 0, 0, new byte[0]);
  private static final int END_HEADERS = 4;

  private static byte[] literal(String name, String value) {
    return Http2Frames.joined(
        new byte[] {0, (byte) name.length()},
        name.getBytes(StandardCharsets.US_ASCII),
        new byte[] {(byte) value.length()},
        value.getBytes(StandardCharsets.US_ASCII));
  }

  private static byte[] headers(int stream, int flags, byte[]... fields) {
    byte[] ok = {(byte) 0x88}; // :status 200
    byte[] block = Http2Frames.joined(ok, Http2Frames.joined(fields));
    return Http2Frames.frame(Http2Frames.HEADERS, END_HEADERS | flags, stream, block);
  }

  private static byte[] goAway(int reason) {
    byte[] payload = ByteBuffer.allocate(8).putInt(0).putInt(reason).array();
    return Http2Frames.frame(Http2Frames.GOAWAY, 0, 0, payload);
  }

  private static boolean isError(byte[]... frames) {
    byte[] all = Http2Frames.joined(frames);
    return Target.GRPC.isError(new String(all, StandardCharsets.ISO_8859_1));
  }

  private static boolean isWhole(byte[]... frames) {
    byte[] all = Http2Frames.joined(frames);
    return Target.GRPC.isWhole(Arrays.copyOf(all, 64 << 10), all.length);
  }

  @Test
  void settings_areNoAnswer() {
    assertThat(isWhole(SETTINGS)).isFalse();
    assertThat(isError(SETTINGS)).isFalse();
    assertThat(isError()).isFalse();
  }

  @Test
  void statusOfTheCall_decides() {
    byte[] refused = headers(1, Http2Frames.END_STREAM, literal("grpc-status", "8"));
    byte[] done = headers(1, Http2Frames.END_STREAM, literal("grpc-status", "0"));
    byte[] data = Http2Frames.frame(Http2Frames.DATA, 0, 1, new byte[5]);
    assertThat(isWhole(SETTINGS, refused)).isTrue();
    assertThat(isError(SETTINGS, refused)).isTrue();
    assertThat(isWhole(SETTINGS, headers(1, 0), data)).isFalse();
    assertThat(isWhole(SETTINGS, headers(1, 0), data, done)).isTrue();
    assertThat(isError(SETTINGS, headers(1, 0), data, done)).isFalse();
    assertThat(isError(SETTINGS, headers(1, 0), data, refused)).isTrue();
    assertThat(isError(SETTINGS, headers(1, Http2Frames.END_STREAM))).as("no status").isFalse();
    assertThat(isError(headers(3, Http2Frames.END_STREAM, literal("grpc-status", "8"))))
        .as("another call")
        .isFalse();
  }

  @Test
  void endOfTheConnection_isAnError_whereItHasAReason() {
    assertThat(isWhole(SETTINGS, goAway(6))).isTrue();
    assertThat(isError(SETTINGS, goAway(6))).isTrue();
    assertThat(isError(SETTINGS, goAway(0))).isFalse();
  }

  @Test
  void frameThatIsStillToCome_isWaitedFor() {
    byte[] whole = Http2Frames.joined(SETTINGS, goAway(6));
    for (int length = 0; length < whole.length; length++) {
      assertThat(Target.GRPC.isWhole(whole, length)).as("%s bytes", length).isFalse();
    }
  }
}
