// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import java.util.List;
import org.jspecify.annotations.Nullable;

/*
 * Why the header is read from the right.
 *
 * Each proxy appends the address from which it received the request. So the last element was
 * written by the proxy that sent the request to this server, and the element before was written by
 * the previous proxy. Elements written by the client are to the left of all elements of proxies. If
 * the header were read from the left, a client could forge the client's address: an unclosed quote
 * would hide the elements of honest proxies. If the header is read from the right, all elements of
 * honest proxies are complete before any character from the client is read, and reading stops at
 * the first address that is not a trusted proxy.
 */

/** Iterates over the elements of a list header from the last to the first, as far as needed. */
final class RightToLeft {

  private final List<String> lines;
  private int line;
  private int end;

  RightToLeft(List<String> lines) {
    this.lines = lines;
    this.line = lines.size();
    this.end = -1;
  }

  /** Returns the next element to the left, stripped; null if there is no further element. */
  @Nullable String next() {
    if (end < 0) {
      if (--line < 0) {
        return null;
      }
      end = lines.get(line).length();
    }
    String text = lines.get(line);
    int start = end;
    boolean quoted = false;
    while (start > 0 && (quoted || text.charAt(start - 1) != ',')) {
      quoted ^= text.charAt(start - 1) == '"';
      start--;
    }
    String element = text.substring(start, end).strip();
    end = start - 1;
    return element;
  }
}
