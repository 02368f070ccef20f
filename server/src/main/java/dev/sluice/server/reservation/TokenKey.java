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
 * The secret with which all servers of a fleet sign tokens and check signatures. Immutable and
 * thread-safe; {@link #toString} does not show the secret.
 */
public final class TokenKey {

  /** The minimum length of a secret in bytes, so that nobody can guess the secret. */
  public static final int LEAST_BYTES = 32;

  /** The length of a signature in bytes: half of the HMAC, as RFC 2104, section 5, allows. */
  static final int SIGNATURE_BYTES = 16;

  private static final int HASH_BYTES = 8;
  private static final String ALGORITHM = "HmacSHA256";

  private final SecretKeySpec key;

  private TokenKey(byte[] secret) {
    this.key = new SecretKeySpec(secret, ALGORITHM);
  }

  /** Returns a random key. */
  public static TokenKey random() {
    byte[] secret = new byte[LEAST_BYTES];
    new SecureRandom().nextBytes(secret);
    return new TokenKey(secret);
  }

  /** Returns the key that all servers of a fleet share. */
  public static TokenKey of(byte[] secret) {
    if (secret.length < LEAST_BYTES) {
      throw new IllegalArgumentException(
          "found a secret of %s bytes, expected %s or more: make one with openssl rand -base64 32"
              .formatted(secret.length, LEAST_BYTES));
    }
    return new TokenKey(secret);
  }

  /** Returns a key for another purpose, whose signatures are not valid for tokens. */
  public TokenKey derived(String purpose) {
    return new TokenKey(mac(purpose.getBytes(StandardCharsets.UTF_8)));
  }

  /** Returns a keyed hash of a text, as 16 hexadecimal digits. */
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

  /** Whether the bytes after {@code length} are the signature of the bytes before. */
  boolean isSigned(byte[] bytes, int length) {
    return MessageDigest.isEqual(
        sign(bytes, length), Arrays.copyOfRange(bytes, length, bytes.length));
  }

  @Override
  public String toString() {
    return "TokenKey[secret]";
  }
}
