// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import java.util.List;
import org.jspecify.annotations.Nullable;

/*
 * Why from the right.
 *
 * Each proxy appends what it saw: its own peer. So the last element was written by the proxy next
 * to us, and the one before it by the proxy before that. The elements that the client sent itself
 * stand left of all these. Read from the left, a header could be made to say anything: an open
 * quote, sent by the client, would swallow the elements of honest proxies. Read from the right,
 * each honest element is whole before any character of the client's is looked at, and reading ends
 * where trust ends.
 */

/**
 * The elements of a list header, the last of the last line first. Nothing is read before it is
 * asked for. Not thread-safe.
 */
final class RightToLeft {

  private final List<String> lines;
  private int line;
  private int end;

  RightToLeft(List<String> lines) {
    this.lines = lines;
    this.line = lines.size();
    this.end = -1;
  }

  /** The next element to the left, without the blanks around it; null where there is none. */
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
