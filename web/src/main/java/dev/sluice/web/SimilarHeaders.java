// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The headers of a request whose names are equal in CGI, which treats "-" like "_". Reads the names
 * of the request's headers once, since a client can send thousands of them. Not thread-safe.
 */
final class SimilarHeaders {

  private static final List<String> SEPARATORS = List.of("-", "_");

  private final WebRequest request;
  private boolean namesAreRead;
  // The names by their form in CGI; empty if no name has a "_", null if the names are unknown.
  private @Nullable Map<String, Set<String>> names;

  SimilarHeaders(WebRequest request) {
    this.request = request;
  }

  /** Returns the values of the headers that CGI cannot distinguish from the given header. */
  List<String> values(String name) {
    if (name.indexOf('-') < 0 && name.indexOf('_') < 0) {
      return List.of();
    }
    Map<String, Set<String>> known = names();
    Collection<String> similar =
        known == null ? spellings(name) : known.getOrDefault(inCgi(name), Set.of());
    List<String> values = new ArrayList<>();
    for (String other : similar) {
      if (!other.equalsIgnoreCase(name)) {
        values.addAll(request.headers(other));
      }
    }
    return values;
  }

  private @Nullable Map<String, Set<String>> names() {
    if (!namesAreRead) {
      Iterable<String> sent = request.headerNames();
      names = sent == null ? null : byFormInCgi(sent);
      namesAreRead = true;
    }
    return names;
  }

  private static Map<String, Set<String>> byFormInCgi(Iterable<String> sent) {
    List<String> all = new ArrayList<>();
    sent.forEach(all::add);
    if (all.stream().noneMatch(name -> name.indexOf('_') >= 0)) {
      return Map.of(); // as for nearly all requests
    }
    Map<String, Set<String>> names = new HashMap<>();
    for (String name : all) {
      names
          .computeIfAbsent(inCgi(name), form -> new TreeSet<>(String.CASE_INSENSITIVE_ORDER))
          .add(name);
    }
    return names;
  }

  private static String inCgi(String name) {
    return name.replace('-', '_').toUpperCase(Locale.ROOT);
  }

  /** Returns a header's name, and the names that are equal in CGI. */
  static Set<String> spellings(String name) {
    List<String> names = new ArrayList<>(List.of(""));
    for (String part : name.split("-", 5)) {
      List<String> longer = new ArrayList<>();
      for (String separator : names.get(0).isEmpty() ? List.of("") : SEPARATORS) {
        names.forEach(start -> longer.add(start + separator + part));
      }
      names = longer;
    }
    names.add(name.replace('-', '_')); // the only other name in CGI if there are many dashes
    Set<String> each = new TreeSet<>(String.CASE_INSENSITIVE_ORDER);
    each.addAll(names);
    return each;
  }
}
