// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
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
   * by segments which they decode one by one. There an escaped slash belongs to a segment's name,
   * and {@code ..} is a name like others; {@link #normalized} refuses the one and resolves the
   * other, as containers do.
   *
   * @param path as the client sent it, without the query
   * @return one whose names keep an escaped slash as {@code %2F}; if a name has a slash or
   *     backslash, one where these separate segments; if a segment is {@code .} or {@code ..}, one
   *     that keeps it. The first ones are normalized
   * @throws UnusableRequestException for a malformed escape
   */
  public static List<String> readings(String path) {
    List<String> names = names(path);
    boolean splits = names.stream().anyMatch(WebPath::splits);
    if (!splits && names.stream().noneMatch(WebPath::isDots)) {
      return List.of(joined(names)); // nearly all
    }
    Set<String> readings = new LinkedHashSet<>();
    readings.add(joined(kept(names)));
    if (splits) {
      readings.add(split(names));
    }
    readings.add(unresolved(kept(names)));
    return List.copyOf(readings);
  }

  /**
   * Returns a path as an application finds it that does not resolve {@code .} and {@code ..}. For
   * containers that resolve them, while a framework in them looks at what the client sent.
   *
   * @param path as the client sent it, without the query
   * @return the path, otherwise normalized; null if it has no such segment, or a malformed escape
   */
  public static @Nullable String unresolved(String path) {
    if (!path.contains("/.") && path.indexOf('%') < 0) {
      return null; // nearly all
    }
    List<String> names = names(path, WebPath::decodedSegment);
    return names != null && names.stream().anyMatch(WebPath::isDots)
        ? unresolved(kept(names))
        : null;
  }

  /**
   * Returns every path that any application may take a path for, for servers that do not know the
   * application behind them. As {@link #readings}; beside them, for applications that know no
   * parameters, those that keep {@code ;a=b} in the name. What may be read in still more ways is
   * refused. An escaped slash, or a backslash, must not stand beside the other one, beside a
   * segment {@code .} or {@code ..}, or in a parameter. All segments {@code .} and {@code ..} must
   * be written in the same way: plainly, escaped, or with parameters.
   *
   * @param path as the client sent it, without the query
   * @return one to four; the first one is normalized
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
    boolean dots = names.stream().anyMatch(WebPath::isDots);
    boolean parameters = path.indexOf(';') >= 0;
    if (!splits && !dots && !parameters) {
      return List.of(joined(names)); // nearly all
    }
    if (dots) {
      requireOneWayOfDots(path);
    }
    Set<String> readings = new LinkedHashSet<>();
    addReadings(names, splits, readings);
    if (parameters) {
      addReadings(namesWithParameters(path), splits, readings);
    }
    return List.copyOf(readings);
  }

  private static void addReadings(List<String> names, boolean splits, Set<String> readings) {
    if (splits) {
      readings.add(joined(kept(names)));
      readings.add(split(names));
    } else {
      readings.add(joined(names));
      readings.add(unresolved(names));
    }
  }

  /** Some resolve plain ones only, or before they drop parameters. */
  private static void requireOneWayOfDots(String path) {
    Set<String> ways = new HashSet<>();
    for (String segment : PathPattern.segments(path)) {
      String name = decodedSegment(segment);
      if (name != null && isDots(name)) {
        ways.add(
            (segment.indexOf('%') >= 0 ? "escaped" : "") + (segment.indexOf(';') >= 0 ? ";" : ""));
      }
    }
    if (ways.size() > 1) {
      throw new UnusableRequestException(
          "the path has segments . and .. that are written in different ways");
    }
  }

  private static List<String> names(String path) {
    return required(names(path, WebPath::decodedSegment));
  }

  private static List<String> namesWithParameters(String path) {
    return required(names(path, WebPath::decoded));
  }

  private static List<String> required(@Nullable List<String> names) {
    if (names == null) {
      throw new UnusableRequestException("the path has a malformed escape");
    }
    return names;
  }

  /** Returns null for a malformed escape. */
  private static @Nullable List<String> names(String path, Decoding decoding) {
    List<String> names = new ArrayList<>();
    for (String segment : PathPattern.segments(path)) {
      String name = decoding.name(segment);
      if (name == null) {
        return null;
      }
      names.add(name);
    }
    return names;
  }

  /** How a segment is read; null for a malformed escape. */
  private interface Decoding {
    @Nullable String name(String segment);
  }

  /** As applications have them for which an escaped slash belongs to a name. */
  private static List<String> kept(List<String> names) {
    return names.stream().map(name -> name.replace("/", "%2F")).toList();
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
    return PathPattern.segments(decodedPath.replace('\\', '/')).stream().anyMatch(WebPath::isDots);
  }

  private static boolean isDots(String name) {
    return name.equals(".") || name.equals("..");
  }

  private static boolean isControl(int c) {
    return c < ' ' || c == 0x7f;
  }

  private static String unresolved(List<String> names) {
    return "/" + String.join("/", names.stream().filter(name -> !name.isEmpty()).toList());
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
