// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.reservation;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.HexFormat;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * The secret with which a fleet's servers sign tokens and recognize their own tokens. Immutable and
 * thread-safe; {@link #toString} does not show the secret.
 */
public final class TokenKey {

  /** The fewest bytes of a secret, so that it cannot be guessed. */
  public static final int LEAST_BYTES = 32;

  /** Half of the digest, as RFC 2104, section 5, allows; a forgery takes 2^128 guesses. */
  static final int SIGNATURE_BYTES = 16;

  private static final int HASH_BYTES = 8;
  private static final String ALGORITHM = "HmacSHA256";

  private final SecretKeySpec key;

  private TokenKey(byte[] secret) {
    this.key = new SecretKeySpec(secret, ALGORITHM);
  }

  /** Returns a random key: its tokens are lost when the server stops. */
  public static TokenKey random() {
    byte[] secret = new byte[LEAST_BYTES];
    new SecureRandom().nextBytes(secret);
    return new TokenKey(secret);
  }

  /** Returns a fleet's key, of at least {@link #LEAST_BYTES} random bytes, copied. */
  public static TokenKey of(byte[] secret) {
    if (secret.length < LEAST_BYTES) {
      throw new IllegalArgumentException(
          "found a secret of %s bytes, expected %s or more: make one with openssl rand -base64 32"
              .formatted(secret.length, LEAST_BYTES));
    }
    return new TokenKey(secret);
  }

  /** Returns a key for another purpose; no text that is signed with it is a valid token. */
  public TokenKey derived(String purpose) {
    return new TokenKey(mac(purpose.getBytes(StandardCharsets.UTF_8)));
  }

  /** Returns a keyed hash, 16 hexadecimal digits: only with the key can a guess be tested. */
  public String hash(String text) {
    return HexFormat.of().formatHex(mac(text.getBytes(StandardCharsets.UTF_8)), 0, HASH_BYTES);
  }

  private byte[] mac(byte[] bytes) {
    return sign(bytes, bytes.length);
  }

  byte[] sign(byte[] bytes, int length) {
    try {
      Mac mac = Mac.getInstance(ALGORITHM);
      mac.init(key);
      mac.update(bytes, 0, length);
      return Arrays.copyOf(mac.doFinal(), SIGNATURE_BYTES);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every JVM has " + ALGORITHM, e);
    }
  }

  /** Whether {@code length} bytes precede their signature. Takes constant time. */
  boolean isSigned(byte[] bytes, int length) {
    return MessageDigest.isEqual(
        sign(bytes, length), Arrays.copyOfRange(bytes, length, bytes.length));
  }

  @Override
  public String toString() {
    return "TokenKey[secret]";
  }
}
