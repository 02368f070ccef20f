// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import org.jspecify.annotations.Nullable;

/**
 * The part of a bucket key that decides on its server, in a Cluster and on a ring.
 *
 * <p>A batch whose keys have one tag stays on one server, and is decided on at one moment there.
 * The price: the tag stands in braces in the key, so that Boulder, which writes none, doesn't find
 * the bucket; and buckets with one tag cannot be spread.
 */
public enum HashTag {

  /** The whole key; keys are written as they are, and are shared with Boulder. */
  NONE,

  /** The id: {@code 3:1000} becomes <code>3:{1000}</code>; all limits of one id are together. */
  ID,

  /**
   * The id up to its first colon: {@code 4:1000:example.com} becomes <code>4:{1000}:example.com
   * </code>; all limits of one account are together. Not for limits whose ids are IPv6 addresses:
   * all addresses with the same first 16 bits would be on one server.
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

  /** Returns the key of which {@link #apply} made a text; null if it made no such text. */
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

  /** Two keys never become one: the first colon is left of the braces, where there is no other. */
  private static String braced(String key, int end) {
    int start = key.indexOf(':') + 1;
    return start == 0 || end == start
        ? key
        : key.substring(0, start) + "{" + key.substring(start, end) + "}" + key.substring(end);
  }
}
