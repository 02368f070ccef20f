// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import org.jspecify.annotations.Nullable;

/**
 * The part of a bucket key that selects its server, in a Cluster and on a ring.
 *
 * <p>If all keys of a batch have the same tag, the buckets are on one server, which decides on the
 * batch at one instant. A tag has two disadvantages. The tag is written in braces inside the key;
 * Boulder writes no braces, so Boulder does not find the bucket. Buckets with the same tag cannot
 * be distributed over several servers.
 */
public enum HashTag {

  /** The whole key. Keys are written unchanged and are shared with Boulder. */
  NONE,

  /**
   * The id: {@code 3:1000} becomes <code>3:{1000}</code>. With this tag, all buckets of one id are
   * on one server.
   */
  ID,

  /**
   * The part of the id before the first colon: {@code 4:1000:example.com} becomes <code>
   * 4:{1000}:example.com </code>. With this tag, all buckets of one account are on one server. Do
   * not use the tag ACCOUNT for limits whose ids are IPv6 addresses: all addresses with the same
   * first 16 bits would be on one server.
   */
  ACCOUNT;

  String apply(String key) {
    return switch (this) {
      case NONE -> key;
      case ID -> braced(key, key.length());
      case ACCOUNT -> {
        int end = key.indexOf(':', key.indexOf(':') + 1);
        yield braced(key, end < 0 ? key.length() : end);
      }
    };
  }

  /**
   * Returns the key from which {@link #apply} made a text; null if {@link #apply} cannot make this
   * text.
   */
  @Nullable String undo(String text) {
    int start = text.indexOf(':') + 1;
    boolean tagged = this != NONE && start > 0 && text.startsWith("{", start);
    int colon = this == ACCOUNT ? text.indexOf(':', start) : -1;
    int end = (colon < 0 ? text.length() : colon) - 1;
    String key =
        tagged && end > start
            ? text.substring(0, start) + text.substring(start + 1, end) + text.substring(end + 1)
            : text;
    return apply(key).equals(text) ? key : null;
  }

  /**
   * Puts the tag of a key in braces. Different keys stay different, since the first colon is always
   * before the braces.
   */
  private static String braced(String key, int end) {
    int start = key.indexOf(':') + 1;
    return start == 0 || end == start
        ? key
        : key.substring(0, start) + "{" + key.substring(start, end) + "}" + key.substring(end);
  }
}
