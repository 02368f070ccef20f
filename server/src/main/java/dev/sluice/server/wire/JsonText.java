package dev.sluice.server.wire;

import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonProcessingException;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CoderResult;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** What is wrong with a text before anything in it is looked at. Stateless. */
final class JsonText {

  /** What the parser adds for programmers: which of its options would say otherwise. */
  private static final Pattern ADVICE = Pattern.compile(", from `[^`]*`|: enable `.*");

  private JsonText() {}

  /**
   * Refuses what is no UTF-8. The parser would guess at other encodings, and take characters that
   * are written with more bytes than they need: one id, several spellings.
   */
  static void requireUtf8(byte[] text, int offset, int length) {
    int seen = 0;
    for (int i = offset; i < offset + length; i++) {
      seen |= text[i];
      if (text[i] == 0) { // as between the letters of UTF-16 and UTF-32
        throw noUtf8(text, i, offset);
      }
    }
    if (seen >= 0) {
      return; // ASCII
    }
    ByteBuffer in = ByteBuffer.wrap(text, offset, length);
    CoderResult result =
        StandardCharsets.UTF_8.newDecoder().decode(in, CharBuffer.allocate(length), true);
    if (result.isError()) {
      throw noUtf8(text, in.position(), offset);
    }
  }

  private static WireException noUtf8(byte[] text, int at, int offset) {
    return new WireException(
        null,
        String.format(
            Locale.ROOT,
            "found no valid JSON: the byte 0x%02x (column %d), expected text in UTF-8",
            text[at],
            at - offset + 1));
  }

  /** A fault for what the parser refused, in its words. */
  static WireException refused(JsonProcessingException e, @Nullable String field) {
    String words = String.valueOf(e.getOriginalMessage()).lines().findFirst().orElse("");
    JsonLocation at = e.getLocation();
    return new WireException(
        field,
        "found no valid JSON: %s%s"
            .formatted(
                ADVICE.matcher(words).replaceAll(""),
                at == null ? "" : " (column " + at.getColumnNr() + ")"));
  }
}
