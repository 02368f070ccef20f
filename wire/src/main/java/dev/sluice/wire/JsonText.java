// SPDX-License-Identifier: Apache-2.0
package dev.sluice.wire;

import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.core.io.JsonEOFException;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CoderResult;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/** Finds mistakes in a text before anything in it is looked at. Stateless. */
final class JsonText {

  private JsonText() {}

  /**
   * Rejects bytes that are not UTF-8. The parser would guess at other encodings, and take
   * characters that are written with more bytes than they need: one id, several spellings.
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
            "the text is not valid JSON: the byte 0x%02x (column %d), expected text in UTF-8",
            text[at],
            at - offset + 1));
  }

  /** In our own words: those of the parser are for programmers, and quote the text at length. */
  static String whatIsWrong(JsonProcessingException e) {
    if (e instanceof StreamConstraintsException) {
      return "a text or a number has more than %s characters, or lists are nested too deep"
          .formatted(WireReader.LONGEST_TEXT);
    }
    JsonLocation at = e.getLocation();
    String where = at == null ? "" : " at " + place(at);
    String why =
        e instanceof JsonEOFException
            ? "it ends before the object does; close every quote, bracket and brace"
            : "check quotes, commas and brackets";
    return "the text is not valid JSON%s: %s".formatted(where, why);
  }

  /** Without the line where it is the first one: the text may be a line of many itself. */
  private static String place(JsonLocation at) {
    String line = at.getLineNr() > 1 ? "line %s, ".formatted(at.getLineNr()) : "";
    return line + "column " + Math.max(at.getColumnNr(), 1);
  }
}
