// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.tls;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.InvalidKeyException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/*
 * The JDK reads private keys only in PKCS #8. The older formats PKCS #1 and SEC 1 contain a key
 * without the name of the algorithm. So this class wraps an older format in PKCS #8, which is
 *
 *   SEQUENCE { INTEGER 0, SEQUENCE { OID algorithm, parameters }, OCTET STRING { the older form } }
 *
 * The algorithm parameters of RSA are NULL. The parameters of EC are the curve, which SEC 1
 * contains under the tag [0].
 */

/**
 * Reads a private key in PEM without a password: in PKCS #8, or in the older formats PKCS #1 (RSA)
 * and SEC 1 (EC). Stateless.
 */
public final class PemKey {

  private static final Pattern BLOCK =
      Pattern.compile(
          "-----BEGIN ([A-Z0-9 ]*PRIVATE KEY)-----(.*?)-----END \\1-----", Pattern.DOTALL);
  private static final Pattern SPACE = Pattern.compile("\\s+");
  private static final int SEQUENCE = 0x30;
  private static final int OCTETS = 0x04;
  private static final int CURVE = 0xA0;
  private static final byte[] ZERO = HexFormat.of().parseHex("020100");
  private static final byte[] RSA = HexFormat.of().parseHex("06092A864886F70D0101010500");
  private static final byte[] EC = HexFormat.of().parseHex("06072A8648CE3D0201");
  private static final int SHORT = 0x80;
  private static final int ONE_BYTE = 0xFF;
  private static final String OF_ANOTHER_KIND =
      ", expected an RSA or EC key: openssl pkcs8 -topk8 -nocrypt -in THIS.key -out NEW.key";

  private PemKey() {}

  /** Reads the first RSA or EC key in the content of a PEM file. */
  public static PrivateKey read(byte[] pem) throws InvalidKeyException {
    Matcher block = BLOCK.matcher(new String(pem, StandardCharsets.ISO_8859_1));
    if (!block.find()) {
      throw new InvalidKeyException(
          "no readable key; write PEM that starts with -----BEGIN PRIVATE KEY-----");
    }
    String kind = block.group(1);
    String text = block.group(2);
    if (kind.startsWith("ENCRYPTED") || text.contains("ENCRYPTED")) {
      throw new InvalidKeyException(
          "found a key with a password, expected a key without: openssl pkey -in THIS.key -out"
              + " PLAIN.key");
    }
    try {
      byte[] der = Base64.getDecoder().decode(SPACE.matcher(text).replaceAll(""));
      return switch (kind) {
        case "PRIVATE KEY" -> pkcs8(der);
        case "RSA PRIVATE KEY" -> key("RSA", wrapped(RSA, der));
        case "EC PRIVATE KEY" -> key("EC", wrapped(joined(EC, curve(der)), der));
        default -> throw new InvalidKeyException("found a " + kind + OF_ANOTHER_KIND);
      };
    } catch (InvalidKeyException e) {
      throw e;
    } catch (GeneralSecurityException | RuntimeException e) {
      throw new InvalidKeyException("found a damaged " + kind + OF_ANOTHER_KIND, e);
    }
  }

  private static PrivateKey pkcs8(byte[] der) throws GeneralSecurityException {
    for (String algorithm : new String[] {"RSA", "EC"}) {
      try {
        return key(algorithm, der);
      } catch (GeneralSecurityException e) {
        // The key is not for this algorithm; the loop tries the next algorithm.
      }
    }
    throw new InvalidKeyException(
        "found a key of another kind, or a damaged key" + OF_ANOTHER_KIND);
  }

  private static PrivateKey key(String algorithm, byte[] pkcs8) throws GeneralSecurityException {
    return KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(pkcs8));
  }

  private static byte[] wrapped(byte[] algorithm, byte[] key) {
    return value(SEQUENCE, joined(joined(ZERO, value(SEQUENCE, algorithm)), value(OCTETS, key)));
  }

  private static byte[] value(int tag, byte[] content) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.write(tag);
    int length = content.length;
    if (length < SHORT) {
      out.write(length);
    } else if (length <= ONE_BYTE) {
      out.write(SHORT | 1);
      out.write(length);
    } else {
      out.write(SHORT | 2); // two bytes are enough for any key
      out.write(length >> Byte.SIZE);
      out.write(length);
    }
    out.writeBytes(content);
    return out.toByteArray();
  }

  private static byte[] joined(byte[] first, byte[] second) {
    byte[] both = Arrays.copyOf(first, first.length + second.length);
    System.arraycopy(second, 0, both, first.length, second.length);
    return both;
  }

  /** Returns the curve of an EC key in SEC 1: the content of the value with the tag [0]. */
  private static byte[] curve(byte[] der) {
    int at = start(der, 0);
    while (at < der.length) {
      int content = start(der, at);
      int end = content + length(der, at);
      if ((der[at] & 0xFF) == CURVE) {
        return Arrays.copyOfRange(der, content, end);
      }
      at = end;
    }
    throw new IllegalArgumentException("no curve");
  }

  /** Returns the position of the content of the DER value that begins at {@code at}. */
  private static int start(byte[] der, int at) {
    int first = der[at + 1] & 0xFF;
    return at + 2 + (first < SHORT ? 0 : first & ~SHORT);
  }

  private static int length(byte[] der, int at) {
    int first = der[at + 1] & 0xFF;
    if (first < SHORT) {
      return first;
    }
    int length = 0;
    for (int i = 0; i < (first & ~SHORT); i++) {
      length = (length << Byte.SIZE) | (der[at + 2 + i] & 0xFF);
    }
    return length;
  }
}
