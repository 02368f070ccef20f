// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.limit.IpAddress;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.NavigableSet;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/*
 * Nobody but the application knows how it reads a request that can be read in several ways. So a
 * request is charged for each of them:
 *
 *  - its path (see WebPath);
 *  - its method, which a header or the query may override;
 *  - a cookie, a parameter or a header, where escapes are decoded or not, ";" separates parameters
 *    or does not, and names are compared without case or with "_" for other characters.
 *
 * The first two decide which rules are for the request: each pair of them is a reading. The third
 * decides on a value alone, so it is looked at only where a rule takes such a value.
 */
/**
 * A request with the values that rules derive from it, each computed once. For code that matches
 * requests by {@link PathPattern}, {@link VaryBy} and {@link AddressRange} itself, as the server's
 * rule book does. Not thread-safe; for one request. Never blocks.
 */
public final class RequestFacts {

  private static final List<String> SEPARATORS = List.of("-", "_");
  private static final NavigableSet<String> OVERRIDES =
      Stream.of("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override")
          .flatMap(name -> underscored(name).stream())
          .collect(Collectors.toCollection(() -> new TreeSet<>(String.CASE_INSENSITIVE_ORDER)));
  private static final Pattern METHOD =
      Pattern.compile("[%1$s]*([A-Za-z_-]{1,64})[%1$s]*".formatted(Credentials.BLANK));
  private static final int MOST_READINGS = 16;
  private static final Pattern MANGLED =
      Pattern.compile("^ +|^\\[|(?<=.)[\\[\\]].*|\\x00.*", Pattern.DOTALL);

  private static final Pattern OPEN_BRACKET = Pattern.compile("(?<=.)\\[", Pattern.DOTALL);

  /** Express reads JSON behind "j:". A text or a number there can be written without end. */
  private static final Pattern JSON_SCALAR = Pattern.compile("j:\\s*[\"0-9-].*", Pattern.DOTALL);

  /** How an application reads an escape in a cookie, a plus in a query, or a name. */
  private enum Spelling {
    AS_SENT,
    PERCENT,
    FORM,
    QUOTED,
    OTHER_NAME,
    SEMICOLON;

    /** Tomcat 11 hands the quotes of a cookie on; most others take them away. */
    String ofCookie(String value) {
      return switch (this) {
        case AS_SENT, OTHER_NAME, SEMICOLON -> value;
        case PERCENT -> Escapes.lenient(PlainRequest.unquoted(value), false);
        case FORM -> Escapes.lenient(PlainRequest.unquoted(value), true);
        case QUOTED -> Escapes.unslashed(PlainRequest.unquoted(value));
      };
    }

    /** Express leaves a value as it is whose bytes are not UTF-8; most others replace the bytes. */
    QueryString.Decoding ofQuery() {
      return switch (this) {
        case PERCENT -> Escapes::decoded;
        case FORM -> Escapes::ofUtf8Form;
        case AS_SENT, QUOTED, OTHER_NAME, SEMICOLON -> Escapes::ofForm;
      };
    }
  }

  private final WebRequest request;
  private final ClientAddress client;
  private final boolean methodOverride;
  private final @Nullable String override;
  private final Spelling spelling;
  private @Nullable List<List<String>> paths;
  private @Nullable List<RequestFacts> readings;
  private boolean spellingMatters;
  private boolean requestLineMatters;
  private boolean addressKnown;
  private @Nullable IpAddress address;

  /**
   * Starts to look at a request.
   *
   * @param request the request
   * @param client how the client's address is found
   */
  public RequestFacts(WebRequest request, ClientAddress client) {
    this(request, client, true);
  }

  /**
   * Starts to look at a request for rules of which perhaps none looks at the method.
   *
   * @param request the request
   * @param client how the client's address is found
   * @param methodOverride whether to look for methods that the request asks to have; false where no
   *     rule looks at the method
   */
  public RequestFacts(WebRequest request, ClientAddress client, boolean methodOverride) {
    this.request = request;
    this.client = client;
    this.methodOverride = methodOverride;
    this.override = null;
    this.spelling = Spelling.AS_SENT;
  }

  private RequestFacts(
      RequestFacts facts,
      @Nullable List<List<String>> paths,
      @Nullable String override,
      Spelling spelling) {
    this.request = facts.request;
    this.client = facts.client;
    this.methodOverride = facts.methodOverride;
    this.override = override;
    this.spelling = spelling;
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
   * Returns the request in each way in which the application may read it: by each path, and by each
   * method that it has or asks to have. Which of them the application goes by is its own affair, so
   * a request is charged what each of them says.
   *
   * @return at least one, nearly always one; the request's own path and method first
   * @throws UnusableRequestException if there may be more of them
   */
  public List<RequestFacts> readings() {
    List<RequestFacts> each = readings;
    if (each == null) {
      List<List<String>> all = paths();
      Set<String> overrides = methodOverride ? overrides() : Set.of();
      if (all.size() * (1 + overrides.size()) > MOST_READINGS) {
        throw new UnusableRequestException(
            "the request asks for many methods, and can be read in too many ways");
      }
      each = all.size() == 1 && overrides.isEmpty() ? List.of(this) : readings(all, overrides);
      readings = each;
    }
    return each;
  }

  private List<RequestFacts> readings(List<List<String>> all, Set<String> overrides) {
    List<RequestFacts> each = new ArrayList<>();
    for (List<String> path : all) {
      each.add(new RequestFacts(this, List.of(path), null, spelling));
      for (String method : overrides) {
        each.add(new RequestFacts(this, List.of(path), method, spelling));
      }
    }
    return List.copyOf(each);
  }

  /** The methods that the request asks to have instead of its own, in upper case. */
  private Set<String> overrides() {
    Set<String> methods = new LinkedHashSet<>();
    Iterable<String> names = request.headerNames();
    for (String header : names == null ? OVERRIDES : names) {
      // All of them begin with an X, and few other headers do.
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

  /** Node takes more than ASCII's spaces away around a header's value. */
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
   * Returns the method of this reading, whose case does not count.
   *
   * @return the method in upper case
   */
  public String method() {
    requestLineMatters = true;
    return override == null ? upperCase(request.method()) : override;
  }

  /**
   * Returns this reading as a rule has it that says how it compares.
   *
   * @param ignoreCase whether the path is in lower case, by Unicode's simple folding
   * @param methodOverride whether the method is the one that the request asks to have; else it is
   *     the request's own
   * @return this, or another one that has one path as this has
   */
  public RequestFacts as(boolean ignoreCase, boolean methodOverride) {
    if (!ignoreCase && (methodOverride || override == null)) {
      return this;
    }
    List<String> path = ignoreCase ? path().stream().map(PathPattern::folded).toList() : path();
    return new RequestFacts(this, List.of(path), methodOverride ? override : null, spelling);
  }

  /**
   * Computes something in each way in which the application may read the values of cookies,
   * parameters and headers: their escapes, what separates them, and their names.
   *
   * @param value computes it
   * @param <T> what it is
   * @return each result once; one, unless the first call came upon a value that can be read in
   *     several ways
   */
  public <T> List<T> inEachSpelling(Function<RequestFacts, T> value) {
    T own = value.apply(this);
    if (!spellingMatters) {
      return List.of(own); // nearly all
    }
    Set<T> results = new LinkedHashSet<>();
    results.add(own);
    for (Spelling other : Spelling.values()) {
      if (other != spelling) {
        results.add(value.apply(new RequestFacts(this, paths, override, other)));
      }
    }
    return List.copyOf(results);
  }

  /**
   * Computes something that no rule's path and methods restrict, in each way in which the
   * application may read the request.
   *
   * @param value computes it
   * @param <T> what it is
   * @return each result once; one, unless the first call came upon what can be read in several ways
   * @throws UnusableRequestException if that can be read in still more ways
   */
  public <T> List<T> inEachReading(Function<RequestFacts, T> value) {
    Set<T> results = new LinkedHashSet<>(inEachSpelling(value));
    for (RequestFacts reading : requestLineMatters ? readings() : List.<RequestFacts>of()) {
      results.addAll(reading.inEachSpelling(value));
    }
    return List.copyOf(results);
  }

  /** The values of a cookie, in this spelling. */
  List<String> cookies(String name) {
    List<String> values = named(request.cookies(name), otherCookies(name));
    for (String value : values) {
      spellingMatters |= value.chars().anyMatch(c -> "%+\\\"".indexOf(c) >= 0);
      if (JSON_SCALAR.matcher(Spelling.PERCENT.ofCookie(value)).matches()) {
        throw new UnusableRequestException(
            "found JSON of a text or a number in the cookie %s, expected the value itself"
                .formatted(name));
      }
    }
    return values.stream().map(spelling::ofCookie).toList();
  }

  /** By another name, or behind a comma, which separates cookies for ASP.NET. */
  private List<String> otherCookies(String name) {
    List<String> values = new ArrayList<>();
    for (String line : request.headers("Cookie")) {
      boolean comma = line.indexOf(',') >= 0;
      PlainRequest.eachCookie(
          line.replace(',', ';'),
          (found, value) -> {
            boolean same = found.equals(name);
            if (same ? comma : isLike(name, Escapes.lenient(found, false))) {
              values.add(value);
            }
          });
    }
    return values;
  }

  /** The values of a parameter of the query, in this spelling. */
  List<String> parameters(String name) {
    String query = request.query();
    QueryString.Decoding decoding = spelling.ofQuery();
    String separators = spelling == Spelling.SEMICOLON ? "[&;]" : "&";
    Predicate<String> isOther = found -> !found.equals(name) && isLike(name, found);
    spellingMatters |= query != null && query.chars().anyMatch(c -> "+;".indexOf(c) >= 0);
    List<String> values =
        named(
            QueryString.values(query, name::equals, separators, decoding),
            QueryString.values(query, isOther, separators, decoding));
    spellingMatters |= values.stream().anyMatch(value -> value.indexOf('\uFFFD') >= 0);
    return values;
  }

  /** Some applications know a value by another name than others do. */
  private List<String> named(List<String> values, List<String> ofOtherNames) {
    spellingMatters |= !ofOtherNames.isEmpty();
    return spelling == Spelling.OTHER_NAME && !ofOtherNames.isEmpty() ? ofOtherNames : values;
  }

  /** Whether some application takes a name for another; for PHP, a bracket may be "_". */
  private static boolean isLike(String name, String found) {
    return mangled(found).equals(mangled(name))
        || mangled(OPEN_BRACKET.matcher(found).replaceFirst("_")).equals(mangled(name));
  }

  /** As PHP, qs and ASP.NET see a name: without case, brackets, and what is behind a zero. */
  private static String mangled(String name) {
    return MANGLED.matcher(name).replaceAll("").replaceAll("[. ]", "_").toLowerCase(Locale.ROOT);
  }

  /**
   * Returns the values of a header, in one form where several mean the same: an {@code
   * Authorization} has its scheme as {@code Bearer} is written, and one space behind it.
   *
   * @param name the name, in any case
   * @return one for each line
   */
  public List<String> headers(String name) {
    List<String> others = new ArrayList<>();
    underscored(name).stream().skip(1).forEach(other -> others.addAll(request.headers(other)));
    return named(request.headers(name), others).stream()
        .map(value -> Credentials.areIn(name) ? Credentials.canonical(value) : value.strip())
        .toList();
  }

  /** A header's name, and then those that CGI cannot tell from it, as they have "_" for "-". */
  private static List<String> underscored(String name) {
    List<String> names = new ArrayList<>(List.of(""));
    for (String part : name.split("-", 5)) {
      List<String> longer = new ArrayList<>();
      for (String separator : names.get(0).isEmpty() ? List.of("") : SEPARATORS) {
        names.forEach(start -> longer.add(start + separator + part));
      }
      names = longer;
    }
    return names;
  }

  /**
   * Returns a text that values of a {@linkplain #headers header} are compared with, or begin with,
   * in their form.
   *
   * @param name the header's name, in any case
   * @param text the text, or a beginning of one
   * @return the text, with the scheme of an {@code Authorization} as {@code Bearer} is written
   */
  public static String comparable(String name, String text) {
    return Credentials.areIn(name) ? Credentials.scheme(text) : text;
  }

  /** The segments of the request's path, of the first one where there are several. */
  List<String> path() {
    requestLineMatters = true;
    return paths().get(0);
  }

  /**
   * Returns the path of this reading, of the first one where there are several.
   *
   * @return the path without empty segments
   */
  public String pathText() {
    return "/" + String.join("/", path());
  }

  /** The segments of each path by which a rule may know the request. */
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
   * Returns the first segment of each path by which a rule may know the request, as it is and in
   * lower case. A pattern with a {@linkplain PathPattern#leadingSegment() leading segment} that is
   * not among them does not match it.
   *
   * @return the segments, each once; none for the path {@code /}
   */
  public List<String> leadingSegments() {
    return paths().stream()
        .filter(path -> !path.isEmpty())
        .flatMap(path -> Stream.of(path.get(0), PathPattern.folded(path.get(0))))
        .distinct()
        .toList();
  }

  /**
   * Returns the client's address, not grouped.
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

  /** The client's address, grouped; null where the connection has none. */
  @Nullable IpAddress groupedAddress() {
    IpAddress found = address();
    return found == null ? null : client.grouped(found);
  }

  /**
   * Returns the cost that a header of the request says. 0 counts as 1: a header is the client's,
   * and a client must not choose to be charged nothing.
   *
   * @param header the header's name
   * @param otherwise tokens for a request without the header
   * @return tokens; at least 1 where the header is there
   * @throws UnusableRequestException if the header is there twice, or is not a whole number
   */
  public long cost(String header, long otherwise) {
    List<String> values = request.headers(header);
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
