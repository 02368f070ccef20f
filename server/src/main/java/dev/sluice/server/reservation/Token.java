// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.reservation;

import dev.sluice.Reservation.Receipt;
import dev.sluice.Transaction;
import dev.sluice.limit.Limits;
import dev.sluice.wire.WireException;
import java.nio.BufferOverflowException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import org.jspecify.annotations.Nullable;

/*
 * version 1 or 2 | expires 8 | nonce 16 | parts 2 | part … | signature 16
 *
 * part: limit 2 + n | id 2 + n | cost 8 | interval 8 | until 8
 *
 * Lengths are in bytes. Numbers are big-endian, texts are UTF-8, and the token is base64url without
 * padding. The signature covers all bytes before the signature.
 */

/**
 * The token that a client gets for a reservation. The token contains the reserved costs, the
 * expiry, and a nonce with which servers detect a second use. A token is signed but not encrypted,
 * so a client can read the limits and ids. Immutable.
 *
 * @param nonce random bytes in base64url
 * @param expiresMillis when the token expires, in milliseconds since the Unix epoch
 */
record Token(String nonce, long expiresMillis, List<TokenPart> parts) {

  /** The most characters of a token; a token of this length fits into the path of a request. */
  static final int LONGEST = 4096;

  static final int NONCE_BYTES = 16;

  private static final byte VERSION = 1;
  private static final byte WITH_UNCHARGED_PARTS = 2; // older servers read only version 1
  private static final int FRAME_BYTES = 1 + Long.BYTES + NONCE_BYTES + Short.BYTES;
  private static final int PART_BYTES = 2 * Short.BYTES + 3 * Long.BYTES;
  private static final int PERIOD_BYTES = "/2562047h47m16.854775807s".length(); // the longest
  private static final int BITS = 6; // in each base64 character
  private static final int MOST_BYTES = LONGEST * BITS / Byte.SIZE - TokenKey.SIGNATURE_BYTES;

  /** A {@link Receipt.Part} that contains the limit's name instead of the limit. */
  record TokenPart(String limit, String id, long cost, long intervalNanos, long untilNanos) {

    static TokenPart of(Receipt.Part part) {
      Transaction transaction = part.transaction();
      return new TokenPart(
          part.limit(),
          transaction.id(),
          transaction.cost(),
          part.intervalNanos(),
          part.untilNanos());
    }

    boolean isUncharged() {
      return intervalNanos == 0;
    }

    /** Returns the limit's name without a quota's period, as {@code Name} for {@code Name/1h}. */
    String name() {
      return limit.split("/", 2)[0];
    }

    Receipt.Part toReceipt(Limits limits) {
      return Receipt.Part.of(limits, limit, id, cost, intervalNanos, untilNanos);
    }
  }

  Token {
    parts = List.copyOf(parts);
  }

  Receipt receipt(Limits limits) {
    return new Receipt(parts.stream().map(part -> part.toReceipt(limits)).toList());
  }

  /** Returns the names of the limits from which the reservation may have taken tokens. */
  List<String> charged() {
    return parts.stream()
        .filter(part -> !part.isUncharged())
        .map(TokenPart::name)
        .distinct()
        .toList();
  }

  /**
   * Checks that the token for a batch is not too long. The token's length must be checked before
   * the batch is charged.
   *
   * @return the most bytes that the token may have, without its signature
   * @throws WireException if the token would be too long; the message contains the size and the
   *     maximum
   */
  static int requireFits(List<Transaction> transactions) {
    int bytes = FRAME_BYTES;
    for (Transaction transaction : transactions) {
      bytes +=
          Math.max(transaction.quotas().size(), 1)
              * (PART_BYTES
                  + transaction.name().name().length()
                  + transaction.id().getBytes(StandardCharsets.UTF_8).length);
      bytes += Math.max(transaction.quotas().size() - 1, 0) * PERIOD_BYTES;
    }
    if (bytes > MOST_BYTES) {
      throw new WireException(
          "transactions",
          "found %s transactions, whose token would have %s bytes, expected at most %s: reserve fewer at once"
              .formatted(transactions.size(), bytes, MOST_BYTES));
    }
    return bytes;
  }

  String written(TokenKey key) {
    ByteBuffer out = ByteBuffer.allocate(MOST_BYTES);
    boolean hasUncharged = parts.stream().anyMatch(TokenPart::isUncharged);
    out.put(hasUncharged ? WITH_UNCHARGED_PARTS : VERSION)
        .putLong(expiresMillis)
        .put(Base64.getUrlDecoder().decode(nonce));
    out.putShort((short) parts.size());
    for (TokenPart part : parts) {
      put(out, part.limit);
      put(out, part.id);
      out.putLong(part.cost).putLong(part.intervalNanos).putLong(part.untilNanos);
    }
    byte[] signature = key.sign(out.array(), out.position());
    byte[] whole = Arrays.copyOf(out.array(), out.position() + signature.length);
    System.arraycopy(signature, 0, whole, out.position(), signature.length);
    return Base64.getUrlEncoder().withoutPadding().encodeToString(whole);
  }

  private static void put(ByteBuffer out, String text) throws BufferOverflowException {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    out.putShort((short) bytes.length).put(bytes);
  }

  /** Parses a token. */
  static @Nullable Token read(String text, TokenKey key) {
    byte[] bytes;
    try {
      bytes = text.length() > LONGEST ? new byte[0] : Base64.getUrlDecoder().decode(text);
    } catch (IllegalArgumentException e) {
      return null;
    }
    int length = bytes.length - TokenKey.SIGNATURE_BYTES;
    // Only one base64 spelling of a token is accepted; the decoder would accept other spellings.
    if (length < FRAME_BYTES
        || !Base64.getUrlEncoder().withoutPadding().encodeToString(bytes).equals(text)
        || !key.isSigned(bytes, length)) {
      return null;
    }
    try {
      return read(ByteBuffer.wrap(bytes, 0, length));
    } catch (BufferUnderflowException e) {
      return null; // another version of the server signed the token
    }
  }

  private static @Nullable Token read(ByteBuffer in) {
    byte version = in.get();
    if (version != VERSION && version != WITH_UNCHARGED_PARTS) {
      return null;
    }
    long expiresMillis = in.getLong();
    byte[] nonce = new byte[NONCE_BYTES];
    in.get(nonce);
    int count = in.getShort();
    List<TokenPart> parts = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      parts.add(new TokenPart(text(in), text(in), in.getLong(), in.getLong(), in.getLong()));
    }
    return new Token(
        Base64.getUrlEncoder().withoutPadding().encodeToString(nonce), expiresMillis, parts);
  }

  private static String text(ByteBuffer in) {
    byte[] bytes = new byte[Short.toUnsignedInt(in.getShort())];
    in.get(bytes);
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
