package dev.sluice.web;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads the path of a URI, for adapters that get it as the client sent it. Pure and stateless;
 * takes time linear in the path.
 */
public final class WebPath {

  private WebPath() {}

  /**
   * Returns a path in the one form that rules compare: percent escapes decoded, path parameters
   * ({@code ;a=b}), empty segments, {@code .} and {@code ..} removed. A {@code ..} at the root is
   * dropped.
   *
   * @param path as the client sent it, without the query
   * @return a path that starts with a slash and does not end with one, unless it is the root
   * @throws UnusableRequestException if applications may read the path in different ways: it does
   *     not start with a slash, has a malformed escape, or an escaped slash, backslash or control
   *     character
   */
  public static String normalized(String path) {
    if (!path.startsWith("/")) {
      throw new UnusableRequestException("the path does not start with a slash");
    }
    List<String> kept = new ArrayList<>();
    for (String segment : PathPattern.segments(path)) {
      String name = decodedSegment(segment);
      if (name == null || !isPlain(name)) {
        throw new UnusableRequestException("the path has an ambiguous or malformed escape");
      }
      if (name.equals("..")) {
        if (!kept.isEmpty()) {
          kept.remove(kept.size() - 1);
        }
      } else if (!name.isEmpty() && !name.equals(".")) {
        kept.add(name);
      }
    }
    return "/" + String.join("/", kept);
  }

  private static boolean isPlain(String name) {
    return name.chars().noneMatch(c -> c == '/' || c == '\\' || c < ' ' || c == 0x7f);
  }

  /**
   * Decodes one segment of a path, and drops its parameters.
   *
   * @param segment the text between two slashes, as the client sent it
   * @return the segment's name, null for a malformed escape
   */
  public static @Nullable String decodedSegment(String segment) {
    int parameters = segment.indexOf(';');
    String name = parameters < 0 ? segment : segment.substring(0, parameters);
    // In a path, a plus is a plus.
    return name.indexOf('%') < 0 ? name : QueryString.decoded(name.replace("+", "%2B"));
  }
}
