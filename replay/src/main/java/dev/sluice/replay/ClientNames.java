// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.IpAddress;
import java.nio.charset.StandardCharsets;
import java.security.InvalidKeyException;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.util.HexFormat;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * How results show the names and ids of clients. Names are hashed with a secret key of this
 * process. Without a secret key, anybody could hash all IPv4 addresses and find the address behind
 * a hash. Thread-safe; never blocks.
 */
public enum ClientNames {
  /** Shows names and ids unchanged, except that control characters are escaped. */
  SHOW,
  /** Shows a hash. Equal names have equal hashes only within one process. */
  HASH,
  /** Shows only the beginning of a name, such as {@code 203.0.113.x}. */
  MASK;

  private static final String ALGORITHM = "HmacSHA256";
  private static final byte[] SECRET = new byte[32];
  private static final int HASH_BYTES = 6;
  private static final int MASK_SHOWS = 3;

  static {
    new SecureRandom().nextBytes(SECRET);
  }

  /** Returns a name in the form in which results show it, without control characters. */
  public String of(String name) {
    return switch (this) {
      case SHOW -> SafeText.printable(name);
      case HASH -> name.isEmpty() ? name : hash(name);
      case MASK -> SafeText.printable(masked(name));
    };
  }

  private static String masked(String name) {
    IpAddress address = IpAddress.parse(name.split("/", 2)[0]); // an id can be a range of addresses
    if (address != null) {
      String text = address.toString();
      int dot = text.lastIndexOf('.');
      String[] groups = text.split(":", -1);
      return groups.length > 2
          ? groups[0] + ":" + groups[1] + ":x"
          : text.substring(0, dot + 1) + "x";
    }
    return name.substring(0, Math.min(MASK_SHOWS, name.length() / 2)) + "…";
  }

  private static String hash(String name) {
    try {
      Mac mac = Mac.getInstance(ALGORITHM);
      mac.init(new SecretKeySpec(SECRET, ALGORITHM));
      byte[] hash = mac.doFinal(name.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(hash, 0, HASH_BYTES);
    } catch (NoSuchAlgorithmException | InvalidKeyException e) {
      throw new IllegalStateException(e);
    }
  }
}
