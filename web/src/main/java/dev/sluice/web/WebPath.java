// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import java.nio.charset.Charset;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/*
 * Applications process a path in different ways, and in different orders:
 *
 *  - they decode its segments separately, so that an escaped slash is a part of a name, or decode
 *    the whole path first, so that the slash separates two names;
 *  - they treat a backslash as a slash;
 *  - they drop parameters, or keep them in the name;
 *  - they resolve "." and "..", or treat them as names; in "/a//../b", ".." removes the empty
 *    segment, or empty segments are dropped first;
 *  - they treat the segment after two slashes at the start as a host;
 *  - in PHP, they run the script that a segment names, on the rest of the path or on no path.
 */
/**
 * Computes the readings of a URI's path: all interpretations of the path by known applications. Use
 * this class in an adapter that receives the path as the client sent it. Takes time linear in the
 * length of the path.
 */
public final class WebPath {

  /**
   * A PHP script's name. The router of a framework, whose script has one of three names, also reads
   * {@code /index.phplogin}; all other scripts end with their segment.
   */
  private static final Pattern SCRIPT =
      Pattern.compile("/(index|app|app_dev)\\.php|\\.php(?=/)", Pattern.CASE_INSENSITIVE);

  /** With the path itself, each script's three readings make 16, as many as a request may have. */
  private static final int MOST_SCRIPTS = 5;

  private WebPath() {}

  /**
   * Returns every interpretation of a path by applications that drop parameters ({@code ;a=b}), as
   * known containers and frameworks do. A returned path has no percent escapes and no empty
   * segments.
   *
   * <p>An escaped slash ({@code %2F}) or a backslash is a part of a name in one interpretation of a
   * path, and separates two names in another interpretation. Segments {@code .} and {@code ..} are
   * resolved in one interpretation of a path, and kept in another interpretation. A path that
   * begins with two slashes or backslashes also has interpretations without its first segment,
   * which URL libraries treat as a host.
   *
   * @param path the path as the client sent it, without the query
   * @return at least one path, nearly always exactly one; each path starts with a slash, and does
   *     not end with a slash unless the path is the root
   * @throws UnusableRequestException if the path has interpretations that this method does not
   *     compute. A path must have only one kind of escaped slashes, backslashes and escaped
   *     backslashes. A path with one of these must have no segment {@code .} or {@code ..}, and no
   *     escaped slash or backslash in a parameter. All segments {@code .} and {@code ..} must be
   *     written in the same way: plainly, escaped, or with parameters. The path must start with a
   *     slash, and have no malformed escape, no control character, and no unescaped {@code #} or
   *     space
   */
  public static List<String> readings(String path) {
    return readings(path, false);
  }

  /**
   * Returns the results of {@link #readings}, the interpretations of the path by applications that
   * keep parameters ({@code ;a=b}) in the name, and those by PHP scripts: {@code /index.php/login}
   * is {@code /login} for Symfony, and {@code /wp-login.php/x} runs the script {@code
   * /wp-login.php}. An escaped semicolon is also read as the start of a parameter: nginx decodes
   * the path if {@code proxy_pass} has one. Use this method in a server that does not know which
   * application handles the request.
   *
   * @param path the path as the client sent it, without the query
   * @return at least one path
   * @throws UnusableRequestException see {@link #readings}; also if the path has more than 5 names
   *     of PHP scripts
   */
  public static List<String> readingsOfAny(String path) {
    List<String> readings = readings(path, true);
    if (path.contains("%3b") || path.contains("%3B")) {
      Set<String> both = new LinkedHashSet<>(readings);
      both.addAll(readings(path.replace("%3b", ";").replace("%3B", ";"), true));
      readings = List.copyOf(both);
    }
    if (readings.stream().noneMatch(one -> one.indexOf('.') >= 0 && SCRIPT.matcher(one).find())) {
      return readings; // nearly all paths
    }
    Set<String> all = new LinkedHashSet<>(readings);
    readings.forEach(reading -> addReadingsOfScripts(reading, all));
    return List.copyOf(all);
  }

  /**
   * Adds the path of each script that a path names. For a framework's router, also adds the rest of
   * the path: at the root, since the web server can hide the script's folder, and in this folder.
   */
  private static void addReadingsOfScripts(String path, Set<String> readings) {
    int scripts = 0;
    Matcher name = SCRIPT.matcher(path);
    while (name.find()) {
      if (++scripts > MOST_SCRIPTS) {
        throw new UnusableRequestException("the path has more than 5 names of PHP scripts");
      }
      String script = path.substring(0, name.end());
      readings.add(script);
      if (name.group(1) != null) {
        String rest = path.substring(name.end());
        String folder = script.substring(0, script.lastIndexOf('/') + 1);
        readings.add("/" + String.join("/", PathPattern.segments(rest)));
        readings.add("/" + String.join("/", PathPattern.segments(folder + "/" + rest)));
      }
    }
  }

  private static List<String> readings(String path, boolean keepsParameters) {
    if (isPlain(path)) {
      return List.of(path); // nearly all paths are plain
    }
    requireReadable(path);
    List<String> names = names(path, WebPath::decodedSegment);
    String all = String.join("/", names);
    boolean slash = names.stream().anyMatch(name -> name.contains("/"));
    boolean backslash = all.contains("\\");
    boolean splits = slash || backslash;
    if (all.chars().anyMatch(Character::isISOControl)
        || (slash && backslash)
        || (path.indexOf('\\') >= 0 && (path.contains("%5c") || path.contains("%5C")))
        || (splits && hasDots(all))
        || splitsInAParameter(path)) {
      throw new UnusableRequestException("the path has an ambiguous or malformed escape");
    }
    boolean dots = names.stream().anyMatch(WebPath::isDots);
    boolean parameters = keepsParameters && path.indexOf(';') >= 0;
    boolean hosts = beginsWithTwo(path);
    if (!splits && !dots && !parameters && !hosts) {
      return List.of(joined(names));
    }
    if (dots) {
      requireOneWayOfDots(path);
    }
    Set<String> readings = new LinkedHashSet<>();
    addReadings(names, splits, readings);
    if (parameters) {
      addReadings(names(path, Escapes::decoded), splits, readings);
    }
    if (dots) {
      readings.add(resolvedWithEmpty(path, WebPath::decodedSegment));
      if (parameters) {
        readings.add(resolvedWithEmpty(path, Escapes::decoded));
      }
    }
    for (String reading : hosts ? List.copyOf(readings) : List.<String>of()) {
      int second = reading.indexOf('/', 1);
      readings.add(second < 0 ? "/" : reading.substring(second));
    }
    return List.copyOf(readings);
  }

  /** Whether the path has only one interpretation, since it is ASCII without special characters. */
  private static boolean isPlain(String path) {
    char last = 0;
    for (int i = 0; i < path.length(); i++) {
      char c = path.charAt(i);
      boolean special = c <= ' ' || c >= 0x7f || c == '%' || c == ';' || c == '\\' || c == '#';
      boolean afterSlash = last == '/' && (c == '/' || c == '.');
      if (special || afterSlash || (i == 0 && c != '/')) {
        return false;
      }
      last = c;
    }
    return last != '/' ? last != 0 : path.length() == 1;
  }

  private static void requireReadable(String path) {
    if (!path.startsWith("/")) {
      throw new UnusableRequestException("the path does not start with a slash");
    }
    if (path.indexOf('#') >= 0 || path.indexOf(' ') >= 0) {
      throw new UnusableRequestException(
          "the path has a \"#\" or a space; send %23 or %20 instead");
    }
  }

  private static void addReadings(List<String> names, boolean splits, Set<String> readings) {
    if (splits) {
      List<String> kept = names.stream().map(name -> name.replace("/", "%2F")).toList();
      readings.add(joined(kept));
      readings.add(joined(PathPattern.segments(String.join("/", names).replace('\\', '/'))));
    } else {
      readings.add(joined(names));
      readings.add("/" + String.join("/", names.stream().filter(n -> !n.isEmpty()).toList()));
    }
  }

  /**
   * Returns the interpretations of a path by applications that decode the path in another charset
   * than UTF-8. Some applications decode each run of consecutive escapes separately, others decode
   * all bytes together. In the returned paths, an escaped slash separates segments.
   *
   * @param charset the charset of the escapes
   * @param path the path as the client sent it, without the query
   * @return at least one path
   */
  public static List<String> readingsIn(Charset charset, String path) {
    String plain = path.replaceAll(";[^/]*", "");
    Set<String> readings = new LinkedHashSet<>();
    addReadings(PathPattern.segments(Escapes.inRuns(plain, charset)), false, readings);
    addReadings(PathPattern.segments(Escapes.asAWhole(plain, charset)), false, readings);
    return List.copyOf(readings);
  }

  /** Returns whether the path begins with two slashes when dots and parameters are removed. */
  private static boolean beginsWithTwo(String path) {
    if (!path.contains("//") && path.chars().noneMatch(c -> "%;\\".indexOf(c) >= 0)) {
      return false; // nearly all paths contain none of these characters
    }
    List<String> names = new ArrayList<>();
    for (String segment : path.substring(1).split("/", -1)) {
      addResolved(String.valueOf(decodedSegment(segment)), names);
    }
    String first = names.isEmpty() ? "a" : names.get(0);
    return first.startsWith("/") || first.startsWith("\\") || (first.isEmpty() && names.size() > 1);
  }

  /**
   * Throws if dot segments are written in several ways, since some applications resolve only the
   * dot segments that are written in one of these ways.
   */
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

  /** Resolves dots as RFC 3986: in {@code /a//../b}, the dots remove the empty segment. */
  private static String resolvedWithEmpty(String path, Decoding decoding) {
    List<String> names = new ArrayList<>();
    for (String segment : path.substring(1).split("/", -1)) {
      addResolved(String.valueOf(decoding.name(segment)), names);
    }
    return "/" + String.join("/", names.stream().filter(name -> !name.isEmpty()).toList());
  }

  private static List<String> names(String path, Decoding decoding) {
    List<String> names = new ArrayList<>();
    for (String segment : PathPattern.segments(path)) {
      String name = decoding.name(segment);
      if (name == null) {
        throw new UnusableRequestException("the path has a malformed escape");
      }
      names.add(name);
    }
    return names;
  }

  /** Decodes a segment to a name; returns null if an escape is malformed. */
  private interface Decoding {
    @Nullable String name(String segment);
  }

  /** Returns whether a parameter has an escaped slash. */
  private static boolean splitsInAParameter(String path) {
    if (path.indexOf(';') < 0) {
      return false; // nearly all paths have no parameters
    }
    for (String segment : PathPattern.segments(path)) {
      int parameters = segment.indexOf(';');
      String decoded = parameters < 0 ? "" : Escapes.decoded(segment.substring(parameters));
      if (decoded == null
          || decoded.indexOf('/') >= 0
          || decoded.indexOf('\\') >= 0
          || decoded.chars().anyMatch(Character::isISOControl)) {
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

  /** Joins names to a path, and resolves {@code .} and {@code ..}. */
  private static String joined(List<String> names) {
    List<String> kept = new ArrayList<>();
    names.stream().filter(name -> !name.isEmpty()).forEach(name -> addResolved(name, kept));
    return "/" + String.join("/", kept);
  }

  private static void addResolved(String name, List<String> names) {
    if (!isDots(name)) {
      names.add(name);
    } else if (name.equals("..") && !names.isEmpty()) {
      names.remove(names.size() - 1);
    }
  }

  /**
   * Decodes one segment of a path, and drops its parameters.
   *
   * @param segment the text between two slashes, as the client sent it
   * @return the segment's name, null if an escape is malformed
   */
  public static @Nullable String decodedSegment(String segment) {
    int parameters = segment.indexOf(';');
    return Escapes.decoded(parameters < 0 ? segment : segment.substring(0, parameters));
  }
}
