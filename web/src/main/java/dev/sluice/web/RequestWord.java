// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.internal.text.SafeText;
import dev.sluice.internal.text.Suggestion;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Parses the words that name a source of ids in a request: {@code ip}, {@code ip/48}, {@code
 * header:X-Api-Key}, {@code cookie:session}, {@code query:user}, {@code path:account} (a variable
 * of the path), {@code path}, {@code method}, {@code host}. A text after "|" replaces a missing
 * value: {@code header:X-Api-Key|anonymous}. Thread-safe.
 */
public final class RequestWord {

  private static final List<String> FORMS =
      List.of(
          "ip",
          "ip/BITS",
          "header:NAME",
          "cookie:NAME",
          "query:NAME",
          "path:VARIABLE",
          "path",
          "method",
          "host");
  private static final Pattern RANGE = Pattern.compile("ip/([1-9][0-9]{0,2})");
  private static final Pattern NAMED =
      Pattern.compile("(header|cookie|query|path):([!#$%&'*+.^_`~0-9A-Za-z-]+)");

  /** A name or an address, with an optional dot at its end and an optional port. */
  private static final Pattern HOST =
      Pattern.compile("([A-Za-z0-9_-]+(?:[.][A-Za-z0-9_-]+)*+|\\[[0-9A-Fa-f:.]+])[.]?(?::[0-9]*)?");

  private RequestWord() {}

  /**
   * Reads a word.
   *
   * @param word the word, in one of the forms that the class comment lists
   * @return the source of the id
   * @throws IllegalArgumentException if the word names no source
   */
  public static VaryBy parse(String word) {
    return parse(word, List.of());
  }

  /**
   * Reads a word.
   *
   * @param word the word, in one of the forms that the class comment lists
   * @param others the forms of the words that the caller reads itself, for the message
   * @return the source of the id
   * @throws IllegalArgumentException if the word names no source
   */
  public static VaryBy parse(String word, List<String> others) {
    int bar = word.indexOf('|');
    if (bar < 0) {
      return source(word, others);
    }
    if (bar == word.length() - 1) {
      throw new IllegalArgumentException(
          "nothing follows \"|\" in %s, expected the id for a missing value"
              .formatted(SafeText.quote(word)));
    }
    return source(word.substring(0, bar), others).orId(word.substring(bar + 1));
  }

  private static VaryBy source(String word, List<String> others) {
    return switch (word) {
      case "ip" -> VaryBy.clientAddress();
      case "path" -> VaryBy.path();
      case "method" -> VaryBy.method();
      case "host" -> VaryBy.function("the host", RequestWord::host);
      default -> named(word, others);
    };
  }

  private static VaryBy named(String word, List<String> others) {
    Matcher range = RANGE.matcher(word);
    if (range.matches() && Integer.parseInt(range.group(1)) <= 128) {
      return VaryBy.clientIpv6Range(Integer.parseInt(range.group(1)));
    }
    Matcher named = NAMED.matcher(word);
    if (named.matches()) {
      String name = named.group(2);
      return switch (named.group(1)) {
        case "header" -> VaryBy.header(name);
        case "cookie" -> VaryBy.cookie(name);
        case "query" -> VaryBy.queryParameter(name);
        default -> VaryBy.pathVariable(name);
      };
    }
    int colon = word.indexOf(':');
    String start = colon <= 0 ? word : word.substring(0, colon + 1);
    List<String> forms = new ArrayList<>(FORMS);
    forms.addAll(others);
    List<String> words = forms.stream().map(form -> form.replaceFirst(":.*", ":")).toList();
    throw new IllegalArgumentException(
        "found %s, expected %s or %s%s"
            .formatted(
                SafeText.quote(word),
                String.join(", ", forms.subList(0, forms.size() - 1)),
                forms.get(forms.size() - 1),
                words.contains(start) ? "" : Suggestion.didYouMean(start, words)));
  }

  /**
   * Returns the host to which a request is addressed.
   *
   * @param request the request
   * @return the host in lower case, without port and final dot; null if the request has none
   * @throws UnusableRequestException if the request has several hosts, or an invalid host
   */
  public static @Nullable String host(WebRequest request) {
    List<String> hosts = request.headers("Host");
    if (hosts.isEmpty() || (hosts.size() == 1 && hosts.get(0).isBlank())) {
      return null;
    }
    Matcher host = HOST.matcher(hosts.get(0).strip());
    if (hosts.size() > 1 || !host.matches()) {
      throw new UnusableRequestException(
          "the request has an invalid Host header; send one name or address, with at most one port");
    }
    return host.group(1).toLowerCase(Locale.ROOT);
  }
}
