// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.IpAddress;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/*
 * Only the application knows how it interprets a request that can be interpreted in several ways.
 * So a request is charged for each possible interpretation (reading). These parts can be ambiguous:
 *
 *  - the path (see WebPath);
 *  - the method, which a header or the query can override;
 *  - a cookie, a parameter or a header: applications differ in decoding escapes, in separating
 *    parameters at ";", and in comparing names without case or with "_" for other characters;
 *  - a header with a comma: nginx and Envoy join the lines of a repeated header for Sluice, but not
 *    for the application, which may read the first line.
 *
 * The path and the method decide which rules match the request, so each pair of a path and a method
 * is one reading. If a rule book matches headers, headers with similar names make further readings.
 * A cookie, parameter or header is interpreted only if a rule uses its value. An application may
 * read two of them in two ways, for example one parameter by another name, so an id of several
 * values is computed for each combination. All interpretations together are at most MOST_READINGS:
 * a client must not multiply the charges and the work of one request.
 */
/**
 * A request with the values that rules compute from the request; each value is computed once. Other
 * code that matches requests by {@link PathPattern}, {@link VaryBy} and {@link AddressRange}, such
 * as the server's rule book, uses this class too. Not thread-safe; for one request. Never blocks.
 */
public final class RequestFacts {

  private static final NavigableSet<String> OVERRIDES =
      Stream.of("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override")
          .flatMap(name -> SimilarHeaders.spellings(name).stream())
          .collect(Collectors.toCollection(() -> new TreeSet<>(String.CASE_INSENSITIVE_ORDER)));
  private static final Pattern METHOD =
      Pattern.compile("[%1$s]*([A-Za-z_-]{1,64})[%1$s]*".formatted(Credentials.BLANK));
  private static final int MOST_READINGS = 16;
  private static final Pattern MANGLED =
      Pattern.compile("^[ \\[\\]]+|(?<=[^\\[\\]])[\\[\\]].*|\\x00.*", Pattern.DOTALL);

  private static final Pattern OPEN_BRACKET = Pattern.compile("(?<=.)\\[", Pattern.DOTALL);

  /** Express parses what follows "j:" as JSON; a JSON text or number has endless spellings. */
  private static final Pattern JSON_SCALAR = Pattern.compile("j:\\s*[\"0-9-].*", Pattern.DOTALL);

  /**
   * Several lines of a header that a proxy has joined at commas. Many applications read only the
   * first line. Other texts with a comma, such as {@code CN=a,O=b} or a user agent, do not match.
   */
  private static final Pattern JOINED =
      Pattern.compile("([^\\s,=\"(){}\\[\\]<>]++=*+)\\s*+,.*", Pattern.DOTALL);

  /** Headers with a list of values, which applications read as a whole. */
  private static final Pattern LIST =
      Pattern.compile(
          "(?:Accept|If|Sec|X-Forwarded)-.*|Accept|Cache-Control|Connection|Forwarded|Prefer|TE|Via",
          Pattern.CASE_INSENSITIVE);

  /** How applications decode a cookie. Tomcat 11 keeps a cookie's quotes; most servers do not. */
  private static final List<UnaryOperator<String>> OF_COOKIE =
      List.of(
          value -> value,
          value -> Escapes.lenient(PlainRequest.unquoted(value), false),
          value -> Escapes.lenient(PlainRequest.unquoted(value), true),
          value -> Escapes.unslashed(PlainRequest.unquoted(value)));

  /** How applications decode a query. Express does not decode escapes that are not UTF-8. */
  private static final List<QueryString.Decoding> OF_QUERY =
      List.of(Escapes::ofForm, Escapes::decoded, Escapes::ofUtf8Form);

  private final WebRequest request;
  private final SimilarHeaders similarHeaders;
  private final ClientAddress client;
  private final boolean methodOverride;
  private final @Nullable String override;
  // The values to use for parts of the request that can be read in several ways.
  private final Map<String, List<String>> chosen;
  // The number of interpretations of the request's path, method and headers.
  private final int siblings;
  // Null if no header with a similar name comes first; otherwise the only headers whose own values
  // come first.
  private final @Nullable Set<String> exactHeaders;
  private @Nullable List<List<String>> paths;
  private @Nullable List<RequestFacts> readings;
  // The ways to read each ambiguous part that the current computation uses, except chosen parts.
  private @Nullable Map<String, List<List<String>>> ambiguous;
  private boolean requestLineMatters;
  private boolean addressKnown;
  private @Nullable IpAddress address;

  /**
   * Creates a {@code RequestFacts} for a request.
   *
   * @param request the request
   * @param client finds the client's address
   */
  public RequestFacts(WebRequest request, ClientAddress client) {
    this(request, client, true);
  }

  /**
   * Creates a {@code RequestFacts} for a request, with or without method overrides.
   *
   * @param request the request
   * @param client finds the client's address
   * @param methodOverride whether to look for method overrides; false if no rule uses the method
   */
  public RequestFacts(WebRequest request, ClientAddress client, boolean methodOverride) {
    this.request = request;
    this.similarHeaders = new SimilarHeaders(request);
    this.client = client;
    this.methodOverride = methodOverride;
    this.override = null;
    this.exactHeaders = null;
    this.siblings = 1;
    this.chosen = Map.of();
  }

  private RequestFacts(
      RequestFacts facts,
      @Nullable List<List<String>> paths,
      @Nullable String override,
      @Nullable Set<String> exactHeaders,
      int siblings,
      Map<String, List<String>> chosen) {
    this.request = facts.request;
    this.similarHeaders = facts.similarHeaders;
    this.client = facts.client;
    this.methodOverride = facts.methodOverride;
    this.override = override;
    this.exactHeaders = exactHeaders;
    this.siblings = siblings;
    this.chosen = chosen;
    this.paths = paths;
    this.addressKnown = facts.addressKnown;
    this.address = facts.address;
  }

  /**
   * Returns the request.
   *
   * @return the request
   */
  public WebRequest request() {
    return request;
  }

  /**
   * Returns each interpretation of the request: each combination of a path with the request's own
   * method or a method override. A request is charged for all interpretations, since only the
   * application knows how it interprets the request.
   *
   * @return at least one interpretation of the request, nearly always exactly one; the first has
   *     the request's own path and method
   * @throws UnusableRequestException if the request has too many interpretations, or
   *     interpretations that cannot be computed
   */
  public List<RequestFacts> readings() {
    List<RequestFacts> each = readings;
    if (each == null) {
      List<List<String>> all = paths();
      Set<String> overrides = methodOverride ? overrides() : Set.of();
      if (all.size() * (1 + overrides.size()) > MOST_READINGS) {
        throw new UnusableRequestException(
            "the request has too many combinations of method overrides and interpretations of its path");
      }
      each = all.size() == 1 && overrides.isEmpty() ? List.of(this) : readings(all, overrides);
      readings = each;
    }
    return each;
  }

  /**
   * Returns each interpretation of the request for rules that match headers. If the request has a
   * header with a similar name, such as {@code X_Api_Key} for {@code X-Api-Key}, each of the {@link
   * #readings()} is repeated with the headers of similar names in place of the headers themselves;
   * if the request has both headers, once with each of them.
   *
   * @param headers the names of the headers that the rules match
   * @return at least one interpretation of the request, nearly always exactly one
   * @throws UnusableRequestException see {@link #readings()}
   */
  public List<RequestFacts> readings(Collection<String> headers) {
    List<RequestFacts> each = readings();
    List<String> swapped =
        headers.stream().filter(header -> !similarHeaders.values(header).isEmpty()).toList();
    if (swapped.isEmpty()) {
      return each;
    }
    List<Set<String>> exact = new ArrayList<>(List.of(Set.of()));
    for (int i = 0; i < swapped.size(); i++) {
      String header = swapped.get(i);
      if (!request.headers(header).isEmpty()) {
        List.copyOf(exact).forEach(names -> exact.add(with(names, header)));
      }
      if (i == swapped.size() - 1) {
        exact.removeIf(names -> names.size() == swapped.size()); // these are the readings in each
      }
      if (each.size() * (1 + exact.size()) > MOST_READINGS) {
        throw new UnusableRequestException(
            "the request has too many interpretations, since some of its headers have similar names");
      }
    }
    int count = each.size() * (1 + exact.size());
    List<RequestFacts> all = new ArrayList<>(count);
    each.forEach(
        one -> all.add(new RequestFacts(one, one.paths, one.override, null, count, chosen)));
    for (Set<String> names : exact) {
      each.forEach(
          one -> all.add(new RequestFacts(one, one.paths, one.override, names, count, chosen)));
    }
    return List.copyOf(all);
  }

  private static Set<String> with(Set<String> names, String name) {
    return Stream.concat(names.stream(), Stream.of(name)).collect(Collectors.toUnmodifiableSet());
  }

  private List<RequestFacts> readings(List<List<String>> all, Set<String> overrides) {
    int count = all.size() * (1 + overrides.size());
    List<RequestFacts> each = new ArrayList<>(count);
    for (List<String> path : all) {
      each.add(new RequestFacts(this, List.of(path), null, exactHeaders, count, chosen));
      for (String method : overrides) {
        each.add(new RequestFacts(this, List.of(path), method, exactHeaders, count, chosen));
      }
    }
    return List.copyOf(each);
  }

  /** Returns the request's method overrides, in upper case. */
  private Set<String> overrides() {
    Set<String> methods = new LinkedHashSet<>();
    Iterable<String> names = request.headerNames();
    for (String header : names == null ? OVERRIDES : names) {
      // All headers in OVERRIDES begin with an X, and few other headers begin with an X.
      if (header.regionMatches(true, 0, "X", 0, 1) && OVERRIDES.contains(header)) {
        for (String line : request.headers(header)) {
          Stream.of(line.split(",", -1)).forEach(method -> addMethod(method, methods));
        }
      }
    }
    String query = request.query();
    if (query != null
        && (query.indexOf('%') >= 0 || query.toLowerCase(Locale.ROOT).contains("method"))) {
      String[] beforeFragment = query.split("#", 2);
      QueryString.values(
              beforeFragment[0], name -> isLike("_method", name), "[&;]", Escapes::ofForm)
          .forEach(method -> addMethod(method, methods));
    }
    methods.remove(upperCase(request.method()));
    return methods;
  }

  /** Adds a method. */
  private static void addMethod(String text, Set<String> methods) {
    Matcher method = METHOD.matcher(text);
    if (method.matches()) {
      methods.add(upperCase(method.group(1)));
    }
  }

  private static String upperCase(String method) {
    return method.toUpperCase(Locale.ROOT);
  }

  /**
   * Returns the method of this interpretation of the request.
   *
   * @return the method in upper case
   */
  public String method() {
    requestLineMatters = true;
    return override == null ? upperCase(request.method()) : override;
  }

  /**
   * Returns this interpretation of the request, with the path and the method in the form that a
   * rule compares.
   *
   * @param ignoreCase whether the path is converted to lower case, by Unicode's simple folding
   * @param methodOverride whether the method is the override, not the request's own method
   * @return this object, or a copy with another path or method
   */
  public RequestFacts as(boolean ignoreCase, boolean methodOverride) {
    if (!ignoreCase && (methodOverride || override == null)) {
      return this;
    }
    List<String> path = ignoreCase ? path().stream().map(PathPattern::folded).toList() : path();
    return new RequestFacts(
        this, List.of(path), methodOverride ? override : null, exactHeaders, siblings, chosen);
  }

  /**
   * Computes a value once for each way in which applications decode the cookies, parameters and
   * headers that the value uses. If the value uses several of them, each combination is one way.
   *
   * @param value computes the value
   * @param <T> the value's type
   * @return the distinct results; nearly always a single result
   * @throws UnusableRequestException if there are more than 16 ways, together with the other
   *     interpretations of the request
   */
  public <T> List<T> inEachSpelling(Function<RequestFacts, T> value) {
    ambiguous = null;
    T own = value.apply(this);
    if (ambiguous == null) {
      return List.of(own); // nearly all requests are read in one way
    }
    Set<T> results = new LinkedHashSet<>();
    results.add(own);
    List<RequestFacts> ways = new ArrayList<>();
    addWays(ways);
    for (int i = 0; i < ways.size(); i++) {
      if (siblings * (1 + ways.size()) > MOST_READINGS) {
        throw new UnusableRequestException(
            "applications can read the request's values in more than %s ways"
                .formatted(MOST_READINGS));
      }
      RequestFacts way = ways.get(i);
      results.add(value.apply(way));
      way.addWays(ways);
      requestLineMatters |= way.requestLineMatters;
    }
    return List.copyOf(results);
  }

  /**
   * Adds a copy of this object for each further value of each ambiguous part. A copy chooses this
   * value and the first values of the earlier parts, so that later parts remain ambiguous in it and
   * each combination is added once.
   */
  private void addWays(List<RequestFacts> ways) {
    Map<String, List<String>> first = new HashMap<>(chosen);
    Map<String, List<List<String>>> parts = ambiguous;
    for (var part :
        parts == null ? Set.<Map.Entry<String, List<List<String>>>>of() : parts.entrySet()) {
      for (List<String> values : part.getValue()) {
        Map<String, List<String>> choice = new HashMap<>(first);
        choice.put(part.getKey(), values);
        if (first.containsKey(part.getKey())) {
          ways.add(new RequestFacts(this, paths, override, exactHeaders, siblings, choice));
        } else {
          first = choice;
        }
      }
    }
  }

  /** Returns the chosen values of an ambiguous part of the request, by default the first ones. */
  private List<String> chosen(String part, Set<List<String>> ways) {
    if (ways.size() > 1) {
      Map<String, List<List<String>>> parts = ambiguous;
      if (parts == null) {
        parts = new LinkedHashMap<>();
        ambiguous = parts;
      }
      parts.put(part, List.copyOf(ways));
    }
    return ways.iterator().next();
  }

  /**
   * Computes a value for each interpretation of the request, and for each way of decoding the
   * request. Use this method for values that do not depend on a rule's paths and methods.
   *
   * @param value computes the value
   * @param <T> the value's type
   * @return the distinct results; a single one if {@code value} uses no ambiguous part of a request
   * @throws UnusableRequestException if the request has too many interpretations
   */
  public <T> List<T> inEachReading(Function<RequestFacts, T> value) {
    Set<T> results = new LinkedHashSet<>(inEachSpelling(value));
    for (RequestFacts reading : requestLineMatters ? readings() : List.<RequestFacts>of()) {
      results.addAll(reading.inEachSpelling(value));
    }
    return List.copyOf(results);
  }

  /** Returns the values of a cookie in the chosen way of reading. */
  List<String> cookies(String name) {
    String part = "cookie " + name;
    List<String> values = chosen.get(part);
    if (values != null) {
      return values;
    }
    Set<List<String>> ways = new LinkedHashSet<>();
    for (List<String> sent : sentCookies(name)) {
      for (List<String> each : eachOf(sent, Blanks.strippedOf(sent))) {
        OF_COOKIE.forEach(decoding -> ways.add(each.stream().map(decoding).toList()));
      }
    }
    if (ways.stream().flatMap(List::stream).anyMatch(JSON_SCALAR.asMatchPredicate())) {
      throw new UnusableRequestException(
          "the cookie %s contains a JSON text or number; send the plain value".formatted(name));
    }
    return chosen(part, ways);
  }

  /**
   * Returns the values of a cookie; then those of cookies with similar names or after a comma,
   * since ASP.NET splits cookies at commas; then each value of {@linkplain CookieInside a cookie
   * inside another}, of which ASP.NET reads the last one.
   */
  private Set<List<String>> sentCookies(String name) {
    List<String> own = request.cookies(name);
    Set<String> others = new LinkedHashSet<>();
    Set<List<String>> inside = new LinkedHashSet<>();
    for (String line : request.headers("Cookie")) {
      boolean comma = line.indexOf(',') >= 0;
      String separated = line.replace(',', ';');
      PlainRequest.eachCookie(
          separated,
          (found, value) -> {
            boolean same = found.equals(name);
            if (same ? comma : isLike(name, Blanks.stripped(Escapes.lenient(found, false)))) {
              others.add(value);
            }
          });
      for (String pair : separated.split(";", -1)) {
        CookieInside found = CookieInside.of(pair.strip());
        if (found != null && isLike(name, Escapes.lenient(found.name(), false))) {
          inside.add(List.of(PlainRequest.unquoted(found.value())));
        }
      }
    }
    own.forEach(others::remove);
    Set<List<String>> sent = new LinkedHashSet<>(eachOf(own, List.copyOf(others)));
    sent.addAll(inside);
    return sent;
  }

  /** Returns the values of a query parameter in the chosen way of reading. */
  List<String> parameters(String name) {
    String part = "query " + name;
    List<String> values = chosen.get(part);
    if (values != null) {
      return values;
    }
    String query = request.query();
    boolean semicolon = query != null && query.indexOf(';') >= 0;
    boolean plain = query == null || query.chars().allMatch(c -> c < 0x7f && c != '%' && c != '+');
    Predicate<String> isOther = found -> !found.equals(name) && isLike(name, found);
    Set<List<String>> ways = new LinkedHashSet<>();
    for (String separators : semicolon ? List.of("&", "[&;]") : List.of("&")) {
      for (QueryString.Decoding decoding : plain ? OF_QUERY.subList(0, 1) : OF_QUERY) {
        List<String> own = QueryString.values(query, name::equals, separators, decoding);
        List<String> other = QueryString.values(query, isOther, separators, decoding);
        for (List<String> each : eachOf(own, other)) {
          ways.addAll(eachOf(each, Blanks.strippedOf(each)));
        }
      }
    }
    return chosen(part, ways);
  }

  /** Returns both lists, or only the first list if the other list is empty. */
  private static List<List<String>> eachOf(List<String> values, List<String> others) {
    return others.isEmpty() ? List.of(values) : List.of(values, others);
  }

  /** Whether some application treats two names as equal: PHP treats "[" and "_" as equal. */
  private static boolean isLike(String name, String found) {
    return mangled(found).equals(mangled(name))
        || mangled(OPEN_BRACKET.matcher(found).replaceFirst("_")).equals(mangled(name));
  }

  /**
   * Normalizes a name as PHP, qs and ASP.NET do: ignores the case, leading spaces and a leading
   * "[", treats a dot or space as "_", and drops all text from the next bracket or zero byte on.
   */
  private static String mangled(String name) {
    return MANGLED.matcher(name).replaceAll("").replaceAll("[. ]", "_").toLowerCase(Locale.ROOT);
  }

  /**
   * Returns the normalized values of a header. In the header {@code Authorization}, the scheme is
   * written with one capital letter, as in {@code Bearer}, and followed by one space.
   *
   * @param name the name, in upper, lower or mixed case
   * @return one value for each line of the header
   */
  public List<String> headers(String name) {
    List<String> exact = request.headers(name);
    List<String> similar = similarHeaders.values(name);
    if (similar.isEmpty() && exact.stream().noneMatch(Credentials.SEPARATOR.asPredicate())) {
      return normalized(name, exact); // as for nearly all requests
    }
    String part = "header " + name.toLowerCase(Locale.ROOT);
    List<String> values = chosen.get(part);
    if (values != null) {
      return values;
    }
    boolean swaps =
        exactHeaders != null
            && !similar.isEmpty()
            && exactHeaders.stream().noneMatch(name::equalsIgnoreCase);
    Set<List<String>> ways = new LinkedHashSet<>();
    for (List<String> each : swaps ? eachOf(similar, exact) : eachOf(exact, similar)) {
      ways.add(normalized(name, each));
    }
    for (List<String> lines : List.copyOf(ways)) {
      ways.add(lines.stream().map(line -> firstLine(name, line)).toList());
    }
    return chosen(part, ways);
  }

  /**
   * Returns the part of a header's value that an application reads if the value is several lines
   * that a proxy has joined at commas, or if the value is several tokens.
   *
   * @param name the header's name, in upper, lower or mixed case
   * @param value one of the header's {@linkplain #headers values}
   * @return the text before the first comma; the whole value if the value cannot be several lines
   */
  public static String firstLine(String name, String value) {
    boolean credentials = Credentials.areIn(name);
    String line = credentials ? Credentials.firstToken(value) : value;
    int start = credentials ? line.indexOf(' ') + 1 : 0; // behind the scheme
    Matcher joined = JOINED.matcher(line).region(start, line.length());
    return joined.matches() && !LIST.matcher(name).matches()
        ? line.substring(0, joined.end(1))
        : line;
  }

  private static List<String> normalized(String name, List<String> values) {
    return values.stream()
        .map(value -> Credentials.areIn(name) ? Credentials.canonical(value) : value.strip())
        .toList();
  }

  /**
   * Normalizes a text that is compared with the values of a {@linkplain #headers header} or with
   * prefixes of these values.
   *
   * @param name the header's name, in upper, lower or mixed case
   * @param text a header's value or a prefix of this value
   * @return the text; in the header {@code Authorization}, the scheme has one capital letter, as in
   *     {@code Bearer}, and {@code token=} is left out
   */
  public static String comparable(String name, String text) {
    return Credentials.areIn(name) ? Credentials.comparable(text) : text;
  }

  /**
   * Returns the segments of the request's path; if the request has several paths, the segments of
   * the first path.
   */
  List<String> path() {
    requestLineMatters = true;
    return paths().get(0);
  }

  /**
   * Returns the request's path; if the request has several paths, the first path.
   *
   * @return the path without empty segments
   */
  public String pathText() {
    return "/" + String.join("/", path());
  }

  /** Returns the segments of each path of the request. */
  List<List<String>> paths() {
    List<List<String>> segments = paths;
    if (segments == null) {
      List<String> texts = request.paths();
      segments =
          texts.size() == 1
              ? List.of(PathPattern.segments(texts.get(0)))
              : texts.stream().map(PathPattern::segments).distinct().toList();
      paths = segments;
    }
    return segments;
  }

  /**
   * Returns the first segment of each path of the request, both unchanged and in lower case. A
   * pattern whose {@linkplain PathPattern#leadingSegment() leading segment} is not among the
   * returned segments does not match the request.
   *
   * @return the first segments, each once; empty for the path {@code /}
   */
  public List<String> leadingSegments() {
    return paths().stream()
        .filter(path -> !path.isEmpty())
        .flatMap(path -> Stream.of(path.get(0), PathPattern.folded(path.get(0))))
        .distinct()
        .toList();
  }

  /**
   * Returns the client's full address, even if IPv6 addresses are grouped by range.
   *
   * @return the address, null if the connection has none
   */
  public @Nullable IpAddress address() {
    if (!addressKnown) {
      address = client.find(request);
      addressKnown = true;
    }
    return address;
  }

  /** Returns the lowest address of the client's range; null if the connection has no address. */
  @Nullable IpAddress groupedAddress() {
    IpAddress found = address();
    return found == null ? null : client.grouped(found);
  }

  /** Groups an address, or the lowest address of a range; returns any other text unchanged. */
  String grouped(String text) {
    try {
      IpAddress sent = IpAddress.parse(IdFormat.ipAddress().canonical(text, Strictness.LENIENT));
      return sent == null ? text : client.grouped(sent).toString();
    } catch (InvalidIdException e) {
      return text; // the id's format refuses the text
    }
  }

  /**
   * Returns the cost in a header of the request, or in a header with a similar name if that cost is
   * higher. A cost of 0 counts as 1, since the client sets the header and must not be able to avoid
   * the charge.
   *
   * @param header the header's name
   * @param otherwise the number of tokens for a request without the header
   * @return the number of tokens; at least 1 if the header is present
   * @throws UnusableRequestException if the header occurs twice, or is not a whole number
   */
  public long cost(String header, long otherwise) {
    long exact = cost(header, request.headers(header), otherwise);
    return Math.max(exact, cost(header, similarHeaders.values(header), exact));
  }

  private static long cost(String header, List<String> values, long otherwise) {
    if (values.isEmpty()) {
      return otherwise;
    }
    String text = values.get(0).strip();
    if (values.size() > 1 || !text.matches("[0-9]{1,18}")) {
      throw new UnusableRequestException(
          "send the cost in header %s once, as a whole number".formatted(header));
    }
    return Math.max(1, Long.parseLong(text));
  }
}
