// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.direct;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/*
 * The same id is often used many times in a row, for example by a client that floods the server, or
 * for a limit with a single bucket. Copying and hashing a text takes about a third of the time of a
 * decision. If a text equals the previous text, the bytes and the hash of the previous text are
 * therefore reused.
 *
 * The text and the hash are cached only after two equal hashes in a row. If every text were cached,
 * each call would write a reference into an old object, which slows the garbage collector down. All
 * code that writes the bytes calls room(), which clears the cache.
 */

/**
 * A reusable buffer that passes a text, bytes or a number to a store as UTF-8, without allocating.
 *
 * <p>Not thread-safe: each thread has {@linkplain #ofThisThread its own buffer}, which is valid
 * until the thread's next call to Sluice.
 */
public final class IdBytes extends CacheLinePadding {

  private static final ThreadLocal<IdBytes> OWN = ThreadLocal.withInitial(IdBytes::new);
  private static final int FIRST_CAPACITY = 256; // includes the padding
  private static final int MOST_DIGITS = 20;
  private static final int PADDING = 8; // for the hash, which reads whole words
  // The longest text that is cached, since a cached text stays in memory.
  private static final int LONGEST_KEPT = 256;
  // Arrays that are larger than this are later replaced by smaller arrays, to save memory.
  private static final int LONGEST_ARRAY = 1 << 14;

  private byte[] bytes = new byte[FIRST_CAPACITY];
  private int length;
  private int uses; // how often room() was called

  private final SipHash hash = new SipHash(0, 0);
  private @Nullable SipHash hashedAfter;
  private boolean hashed; // whether hash is the hash of hashedAfter followed by the bytes
  private boolean comesAgain; // whether the last two hashes were equal
  private @Nullable String kept; // the ASCII text of the bytes, if cached

  /** Creates an empty buffer. */
  public IdBytes() {}

  /**
   * Returns the buffer of this thread.
   *
   * @return the buffer, which still has the thread's previous id
   */
  public static IdBytes ofThisThread() {
    return OWN.get();
  }

  /**
   * Sets the id to a text.
   *
   * @return whether the whole id is ASCII
   */
  @CanIgnoreReturnValue
  public boolean set(CharSequence text) {
    if (text instanceof String string) {
      return set(string);
    }
    int to = text.length();
    byte[] target = room(to);
    int use = uses;
    int seen = 0;
    try {
      for (int i = 0; i < to; i++) {
        char c = text.charAt(i);
        target[i] = (byte) c;
        seen |= c;
      }
    } finally {
      if (uses != use) { // charAt ran user code, which called Sluice on this thread
        forget();
      }
    }
    return uses == use ? set(text, to, seen) : set(text.toString());
  }

  private boolean set(String text) {
    if (kept != null && kept.equals(text)) {
      return true;
    }
    int to = text.length();
    boolean ascii = set(text, to, copy(text, to, room(to)));
    if (ascii && comesAgain && to <= LONGEST_KEPT) {
      kept = text;
      comesAgain = false; // set again after two equal hashes in a row
    }
    return ascii;
  }

  /** Keeps the copied bytes if the whole text is ASCII; otherwise encodes the text again. */
  private boolean set(CharSequence text, int to, int seen) {
    if (seen < 0x80) {
      length = to;
      return true;
    }
    set(Utf8.encode(text));
    return false;
  }

  /**
   * Copies whole words, because the hash reads whole words: reading a word is slow while single
   * bytes of the word are still in the processor's store buffer. The deprecated {@code
   * String.getBytes} drops the upper half of each char, which is zero in ASCII text; the caller
   * encodes other texts again.
   */
  @SuppressWarnings("deprecation")
  private static int copy(String text, int to, byte[] target) {
    text.getBytes(0, to, target, 0);
    int seen = 0;
    for (int i = 0; i < to; i++) {
      seen |= text.charAt(i);
    }
    return seen;
  }

  /**
   * Sets the id to bytes.
   *
   * @param utf8 the id, which is copied
   * @return whether the whole id is ASCII
   */
  @CanIgnoreReturnValue
  public boolean set(byte[] utf8) {
    return set(utf8, 0, utf8.length);
  }

  /**
   * Sets the id to a part of an array.
   *
   * @param source the array from which the id is copied
   * @return whether the whole id is ASCII
   */
  @CanIgnoreReturnValue
  public boolean set(byte[] source, int from, int count) {
    byte[] target = room(count);
    System.arraycopy(source, from, target, 0, count);
    length = count;
    int seen = 0;
    for (int i = 0; i < length; i++) { // checks the copy, since the caller can change its array
      seen |= target[i];
    }
    return seen >= 0;
  }

  /** Sets the id to a number in decimal digits. */
  public void set(long number) {
    byte[] target = room(MOST_DIGITS);
    int digits = number < 0 ? 1 : 0;
    for (long rest = number / 10; rest != 0; rest /= 10) {
      digits++;
    }
    length = digits + 1;
    long rest = number;
    for (int at = length - 1; at >= 0; at--) {
      target[at] = (byte) ('0' + Math.abs(rest % 10));
      rest /= 10;
    }
    if (number < 0) {
      target[0] = '-';
    }
  }

  /**
   * Returns the array of the id, which begins at index 0.
   *
   * @return the array itself, which can be longer than the id; callers must not write to it
   */
  public byte[] bytes() {
    return bytes;
  }

  /** Returns the number of bytes of the id. */
  public int length() {
    return length;
  }

  /**
   * Returns the hash of a limit's prefix followed by the id.
   *
   * @return the finished hash; valid until the next call to this object
   */
  public SipHash hashAfter(SipHash prefixHash) {
    if (!isHashedAfter(prefixHash)) {
      hashed = false;
      long before = hash.first();
      hash.message(prefixHash, bytes, 0, length).end();
      comesAgain = hash.first() == before;
      if (comesAgain) {
        hashedAfter = prefixHash;
        hashed = true;
      }
    }
    return hash;
  }

  /** Returns whether the hash of the prefix followed by the current id is cached. */
  boolean isHashedAfter(SipHash prefixHash) {
    return hashed && hashedAfter == prefixHash;
  }

  /**
   * Returns the hash of the bytes, which must be a whole bucket key.
   *
   * @return the finished hash; valid until the next call to this object
   */
  public SipHash hashKey(SipHash keyedHash) {
    hashed = false;
    return hash.key(keyedHash, bytes, length).end();
  }

  private void forget() {
    hashed = false;
    if (kept != null) {
      kept = null;
    }
  }

  /** Returns an array for the next id; discards the previous id. */
  private byte[] room(int needed) {
    forget();
    uses++;
    boolean small = needed + PADDING <= LONGEST_ARRAY;
    if (bytes.length < needed + PADDING || (small && bytes.length > LONGEST_ARRAY)) {
      bytes = new byte[needed + PADDING + FIRST_CAPACITY];
    }
    return bytes;
  }

  @Override
  public String toString() {
    return new String(bytes, 0, length, StandardCharsets.UTF_8);
  }

  /**
   * An encoder for UTF-8 that encodes different texts as different bytes. An unpaired surrogate is
   * encoded as three bytes; the JDK's encoder replaces every unpaired surrogate by a question mark.
   */
  private static final class Utf8 {

    private Utf8() {}

    static byte[] encode(CharSequence text) {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream(3 * text.length());
      text.codePoints().forEach(point -> encode(point, bytes));
      return bytes.toByteArray();
    }

    private static void encode(int point, ByteArrayOutputStream bytes) {
      if (point < 0x80) {
        bytes.write(point);
      } else if (point < 0x800) {
        bytes.write(0xc0 | (point >> 6));
        bytes.write(continuation(point));
      } else if (point < 0x10000) {
        bytes.write(0xe0 | (point >> 12));
        bytes.write(continuation(point >> 6));
        bytes.write(continuation(point));
      } else {
        bytes.write(0xf0 | (point >> 18));
        bytes.write(continuation(point >> 12));
        bytes.write(continuation(point >> 6));
        bytes.write(continuation(point));
      }
    }

    private static int continuation(int bits) {
      return 0x80 | (bits & 0x3f);
    }
  }
}
