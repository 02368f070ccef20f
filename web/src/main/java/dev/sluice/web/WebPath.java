// SPDX-License-Identifier: Apache-2.0
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
    List<String> names = new ArrayList<>();
    for (String segment : PathPattern.segments(path)) {
      String name = decodedSegment(segment);
      if (name == null || !isPlain(name)) {
        throw new UnusableRequestException("the path has an ambiguous or malformed escape");
      }
      names.add(name);
    }
    return joined(names);
  }

  /**
   * Returns every path that an application may take a path for, for frameworks that find a handler
   * by segments which they decode one by one. There an escaped slash belongs to a segment's name;
   * {@link #normalized} refuses such a path, as containers do.
   *
   * @param path as the client sent it, without the query
   * @return normalized paths: one whose names keep an escaped slash as {@code %2F}, and, if a name
   *     has a slash or backslash, one where these separate segments
   * @throws UnusableRequestException for a malformed escape
   */
  public static List<String> readings(String path) {
    List<String> names = names(path);
    return names.stream().anyMatch(WebPath::splits)
        ? List.of(kept(names), split(names))
        : List.of(kept(names));
  }

  /**
   * Returns every path that any application may take a path for, for servers that do not know the
   * application behind them. As {@link #readings}; what may be read in still more ways is refused.
   * An escaped slash, or a backslash, must not stand beside the other one, beside a segment {@code
   * .} or {@code ..}, or in a parameter.
   *
   * @param path as the client sent it, without the query
   * @return normalized paths, one or two
   * @throws UnusableRequestException if there may be more readings, or the path does not start with
   *     a slash, has a malformed escape or a control character
   */
  public static List<String> readingsOfAny(String path) {
    if (!path.startsWith("/")) {
      throw new UnusableRequestException("the path does not start with a slash");
    }
    List<String> names = names(path);
    String all = String.join("/", names);
    boolean slash = names.stream().anyMatch(name -> name.contains("/"));
    boolean backslash = all.contains("\\");
    boolean splits = slash || backslash;
    if (all.chars().anyMatch(WebPath::isControl)
        || (slash && backslash)
        || (splits && hasDots(all))
        || splitsInAParameter(path)) {
      throw new UnusableRequestException("the path has an ambiguous or malformed escape");
    }
    return splits ? List.of(kept(names), split(names)) : List.of(joined(names));
  }

  private static List<String> names(String path) {
    List<String> names = new ArrayList<>();
    for (String segment : PathPattern.segments(path)) {
      String name = decodedSegment(segment);
      if (name == null) {
        throw new UnusableRequestException("the path has a malformed escape");
      }
      names.add(name);
    }
    return names;
  }

  /** The reading of applications for which an escaped slash belongs to a name. */
  private static String kept(List<String> names) {
    return joined(names.stream().map(name -> name.replace("/", "%2F")).toList());
  }

  /** The reading of applications that decode a path as a whole. */
  private static String split(List<String> names) {
    return joined(PathPattern.segments(String.join("/", names).replace('\\', '/')));
  }

  private static boolean splits(String name) {
    return name.indexOf('/') >= 0 || name.indexOf('\\') >= 0;
  }

  /** For those that decode before they drop parameters, a path goes on there. */
  private static boolean splitsInAParameter(String path) {
    if (path.indexOf(';') < 0) {
      return false; // nearly all
    }
    for (String segment : PathPattern.segments(path)) {
      int parameters = segment.indexOf(';');
      String decoded = parameters < 0 ? "" : decoded(segment.substring(parameters));
      if (decoded == null || splits(decoded)) {
        return true;
      }
    }
    return false;
  }

  private static boolean hasDots(String decodedPath) {
    return PathPattern.segments(decodedPath.replace('\\', '/')).stream()
        .anyMatch(name -> name.equals(".") || name.equals(".."));
  }

  private static boolean isControl(int c) {
    return c < ' ' || c == 0x7f;
  }

  /** Resolves {@code .} and {@code ..}. */
  private static String joined(List<String> names) {
    List<String> kept = new ArrayList<>();
    for (String name : names) {
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
    return !splits(name) && name.chars().noneMatch(WebPath::isControl);
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
    return decoded(name);
  }

  private static @Nullable String decoded(String text) {
    // In a path, a plus is a plus.
    return text.indexOf('%') < 0 ? text : QueryString.decoded(text.replace("+", "%2B"));
  }
}
