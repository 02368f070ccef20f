// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.UInt64Value;
import dev.sluice.Transaction;
import dev.sluice.envoy.RateLimitDescriptor;
import dev.sluice.envoy.RateLimitDescriptor.Entry;
import dev.sluice.envoy.RateLimitRequest;
import dev.sluice.limit.Limits;
import dev.sluice.rules.RuleBook;
import dev.sluice.rules.RuleMatch;
import dev.sluice.server.rls.DescriptorCharges.DescriptorCharge;
import dev.sluice.server.rls.RlsPart.OverridePolicy;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.PlainRequest;
import dev.sluice.web.UnusableRequestException;
import dev.sluice.web.WebRequest;
import dev.sluice.yaml.LimitFiles;
import dev.sluice.yaml.Problem;
import dev.sluice.yaml.Severity;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * The rule book beside a small model of its matching, on random books and requests. Each test has a
 * {@linkplain FreshSeed fresh seed}.
 *
 * <p>The model shares no code with the book: it matches by regular expressions, rule by rule, and
 * finds circles by reachability.
 */
final class RuleBookModelTest {

  private static final int BOOKS = 60;
  private static final int ASKED = 60;
  private static final String NONE = "no rule";
  private static final String REFUSED = "refused";
  private static final String DENIED = "denied";
  private static final String UNLIMITED = "unlimited";

  /** All take any text as an id; the number of a limit is 1 more than its place here. */
  private static final List<String> LIMITS = List.of("A", "B", "C", "D");

  @TempDir private Path folder;

  @RegisterExtension final FreshSeed seed = new FreshSeed();

  private final SplittableRandom random = seed.random();

  @BeforeEach
  void writeLimits() throws IOException {
    StringBuilder text = new StringBuilder("names:\n");
    for (int i = 0; i < LIMITS.size(); i++) {
      text.append("  - {number: %s, name: %s, id: string}%n".formatted(i + 1, LIMITS.get(i)));
    }
    LIMITS.forEach(name -> text.append(name).append(": {burst: 100, count: 1, period: 1h}\n"));
    Files.writeString(folder.resolve("limits.yml"), text);
  }

  private LimitFiles files(String rules) throws IOException {
    Files.writeString(folder.resolve("rules.yml"), rules);
    return LimitFiles.builder()
        .defaults(folder.resolve("limits.yml"))
        .companion(folder.resolve("rules.yml"), RuleBook.reader())
        .build();
  }

  @SafeVarargs
  private final <T> T one(T... of) {
    return of[random.nextInt(of.length)];
  }

  /** Each with the same probability. */
  private boolean in(int cases) {
    return random.nextInt(cases) == 0;
  }

  private <T> List<T> several(int most, Function<Integer, T> maker) {
    return IntStream.rangeClosed(1, 1 + random.nextInt(most)).mapToObj(maker::apply).toList();
  }

  private static String quoted(String text) {
    return '"' + text.replace("\\", "\\\\") + '"';
  }

  private static String list(List<String> texts) {
    return texts.stream()
        .map(RuleBookModelTest::quoted)
        .collect(Collectors.joining(", ", "[", "]"));
  }

  /** As the document says: "%" and ":" of values are escaped where there are several. */
  private static String joined(List<String> values) {
    return values.size() == 1
        ? values.get(0)
        : values.stream()
            .map(value -> value.replace("%", "%25").replace(":", "%3A"))
            .collect(Collectors.joining(":"));
  }

  // Requests

  /** A rule for requests. Without a limit it is unlimited, or denies. */
  private record PathRule(
      List<String> paths,
      List<String> methods,
      @Nullable String header,
      @Nullable Boolean ignoreCase,
      @Nullable Boolean methodOverride,
      boolean denies,
      @Nullable String limit,
      List<String> placeholders) {

    String yaml() {
      StringBuilder text = new StringBuilder("  - {path: " + list(paths));
      if (!methods.isEmpty()) {
        text.append(", methods: ").append(list(methods));
      }
      if (header != null) {
        text.append(", headers: {X-K: ").append(quoted(header)).append('}');
      }
      if (ignoreCase != null) {
        text.append(", ignoreCase: ").append(ignoreCase);
      }
      if (methodOverride != null) {
        text.append(", methodOverride: ").append(methodOverride);
      }
      if (limit == null) {
        return text + (denies ? ", deny: true}\n" : ", unlimited: true}\n");
      }
      String id =
          placeholders.isEmpty()
              ? "all"
              : placeholders.stream().map(p -> "{" + p + "}").collect(Collectors.joining(":"));
      return text + ", limit: %s, id: %s}%n".formatted(limit, quoted(id));
    }
  }

  /** What a client sends; the path's segments are not encoded. */
  private record Sent(
      String method, @Nullable String override, List<String> path, List<String> header) {}

  private String segment() {
    return one("a", "A", "b", "B", "\u00e9", "\u00c9", "a.b", "a:b");
  }

  private String pathPattern() {
    StringBuilder pattern = new StringBuilder();
    int length = random.nextInt(4);
    boolean hasVariable = false;
    for (int i = 0; i < length; i++) {
      boolean isVariable = !hasVariable && in(4);
      hasVariable |= isVariable;
      pattern.append('/').append(isVariable ? "{v}" : in(4) ? "*" : segment());
    }
    return in(3) ? pattern + "/**" : pattern.isEmpty() ? "/" : pattern.toString();
  }

  private PathRule pathRule() {
    List<String> paths = several(2, i -> pathPattern());
    boolean hasVariable = paths.stream().allMatch(path -> path.contains("{v}"));
    List<String> placeholders = new ArrayList<>();
    int count = random.nextInt(3);
    for (int i = 0; i < count; i++) {
      placeholders.add(
          one("path", "method", "header:X-K", "header:X-K|none", hasVariable ? "path:v" : "path"));
    }
    List<String> methods =
        in(2)
            ? List.of()
            : List.copyOf(new TreeSet<>(several(2, i -> one("GET", "POST", "DELETE"))));
    return new PathRule(
        paths,
        methods,
        in(3) ? one("*", "v*", "v1", "*1", "*:*") : null,
        in(2) ? random.nextInt(2) == 0 : null,
        in(3) ? random.nextInt(2) == 0 : null,
        in(2),
        in(6) ? null : one("A", "B"),
        placeholders);
  }

  private Sent sent() {
    List<String> header = new ArrayList<>();
    int lines = in(8) ? 2 : random.nextInt(2);
    for (int i = 0; i < lines; i++) {
      header.add(one("", "v", "v1", "a:b", "50%25", "V1"));
    }
    return new Sent(
        one("GET", "get", "HEAD", "POST", "Post", "DELETE"),
        in(3) ? one("DELETE", "post", "GET", "?") : null,
        random.nextInt(8) == 0 ? List.of() : several(3, i -> segment()),
        header);
  }

  /** Written in one of the ways that all applications read alike. */
  private PlainRequest request(Sent sent) {
    StringBuilder path = new StringBuilder();
    for (String segment : sent.path) {
      path.append(path.isEmpty() || in(2) ? "/" : "//");
      for (int i = 0; i < segment.length(); i++) {
        byte[] bytes = segment.substring(i, i + 1).getBytes(StandardCharsets.UTF_8);
        if (bytes.length > 1 || in(4)) {
          for (byte b : bytes) {
            path.append(
                String.format(Locale.ROOT, in(2) ? "%%%02x" : "%%%02X", Byte.toUnsignedInt(b)));
          }
        } else {
          path.append(segment.charAt(i));
        }
      }
    }
    if (path.isEmpty() || in(3)) {
      path.append('/');
    }
    PlainRequest.Builder request = WebRequest.builder(sent.method, path.toString());
    sent.header.forEach(value -> request.header("X-K", value));
    if (sent.override != null) {
      request.header("X-HTTP-Method-Override", sent.override);
    }
    return request.peer("192.0.2.7").build();
  }

  /** Null where the pattern is not for the path. */
  private static @Nullable Matcher match(String pattern, List<String> path, boolean ignoreCase) {
    StringBuilder form = new StringBuilder();
    for (String segment : pattern.split("/", -1)) {
      form.append(
          switch (segment) {
            case "" -> "";
            case "**" -> "(?:/[^/]+)*";
            case "*" -> "/[^/]+";
            case "{v}" -> "/(?<v>[^/]+)";
            default -> "/" + Pattern.quote(segment);
          });
    }
    int flags = ignoreCase ? Pattern.CASE_INSENSITIVE | Pattern.UNICODE_CASE : 0;
    String text = path.stream().map(segment -> "/" + segment).collect(Collectors.joining());
    Matcher matcher = Pattern.compile(form.toString(), flags).matcher(text);
    return matcher.matches() ? matcher : null;
  }

  private static boolean isValue(String pattern, String value) {
    String form =
        Pattern.compile("\\\\([\\\\*])|\\*|[^\\\\*]+|\\\\")
            .matcher(pattern)
            .replaceAll(
                part ->
                    Matcher.quoteReplacement(
                        part.group().equals("*")
                            ? ".*"
                            : Pattern.quote(part.group(1) == null ? part.group() : part.group(1))));
    return Pattern.compile(form, Pattern.DOTALL).matcher(value).matches();
  }

  /** What a rule says of a request by one of its methods; null if it is not for it. */
  private static @Nullable String said(
      PathRule rule, Sent sent, String asked, boolean ignoreCase, boolean override) {
    boolean folds = rule.ignoreCase == null ? ignoreCase : rule.ignoreCase;
    boolean follows = rule.methodOverride == null ? override : rule.methodOverride;
    String method = follows ? asked : sent.method.toUpperCase(Locale.ROOT);
    boolean isMethod =
        rule.methods.isEmpty()
            || rule.methods.contains(method)
            || (method.equals("HEAD") && rule.methods.contains("GET"));
    if (!isMethod
        || (rule.header != null && sent.header.stream().noneMatch(v -> isValue(rule.header, v)))) {
      return null;
    }
    Matcher found = null;
    for (int i = 0; found == null && i < rule.paths.size(); i++) {
      found = match(rule.paths.get(i), sent.path, folds);
    }
    if (found == null) {
      return null;
    }
    if (rule.limit == null) {
      return rule.denies ? DENIED : UNLIMITED;
    }
    List<String> values = new ArrayList<>();
    for (String placeholder : rule.placeholders) {
      String value =
          switch (placeholder) {
            case "method" -> method;
            case "path" -> "/" + String.join("/", sent.path);
            case "path:v" -> found.group("v");
            default -> sent.header.size() == 1 ? sent.header.get(0) : "";
          };
      boolean isHeader = placeholder.startsWith("header");
      if (isHeader && sent.header.size() > 1) {
        return REFUSED;
      }
      if (isHeader && value.isEmpty()) {
        if (!placeholder.endsWith("|none")) {
          return REFUSED;
        }
        value = "none";
      }
      values.add(folds && placeholder.startsWith("path") ? value.toLowerCase(Locale.ROOT) : value);
    }
    String id = values.isEmpty() ? "all" : joined(values);
    return (LIMITS.indexOf(rule.limit) + 1) + ":" + id;
  }

  /** What the first rule for each of its methods says. */
  private static Set<String> expected(
      List<PathRule> rules, Sent sent, boolean ignoreCase, boolean override) {
    Set<String> methods = new LinkedHashSet<>(List.of(sent.method.toUpperCase(Locale.ROOT)));
    if (sent.override != null && sent.override.matches("[A-Za-z]+")) {
      methods.add(sent.override.toUpperCase(Locale.ROOT));
    }
    Set<String> all = new TreeSet<>();
    for (String method : methods) {
      for (PathRule rule : rules) {
        String said = said(rule, sent, method, ignoreCase, override);
        if (said != null) {
          all.add(said);
          break;
        }
      }
    }
    for (String strictest : List.of(REFUSED, DENIED)) {
      if (all.contains(strictest)) {
        return Set.of(strictest);
      }
    }
    if (all.size() > 1) {
      all.remove(UNLIMITED);
    }
    return all.isEmpty() ? Set.of(NONE) : all;
  }

  private static Set<String> found(Limits limits, PlainRequest request) {
    try {
      RuleMatch match = RuleBook.of(limits).match(request, ClientAddress.direct()).orElse(null);
      if (match == null) {
        return Set.of(NONE);
      }
      return switch (match.verdict()) {
        case DENIES -> Set.of(DENIED);
        case UNLIMITED -> Set.of(UNLIMITED);
        case CHARGES ->
            match.enforced(limits, 1).stream()
                .map(Transaction::bucketKey)
                .collect(Collectors.toCollection(TreeSet::new));
      };
    } catch (UnusableRequestException e) {
      return Set.of(REFUSED);
    }
  }

  @Test
  void requests_areChargedWhatTheModelSays() throws IOException {
    Map<String, Integer> outcomes = new TreeMap<>();
    for (int book = 0; book < BOOKS; book++) {
      List<PathRule> rules = several(8, i -> pathRule());
      boolean ignoreCase = in(3);
      boolean override = !in(3);
      String text =
          "ignoreCase: %s%nmethodOverride: %s%nrules:%n".formatted(ignoreCase, override)
              + rules.stream().map(PathRule::yaml).collect(Collectors.joining());
      Limits limits = files(text).load();
      for (int i = 0; i < ASKED; i++) {
        Sent sent = sent();
        Set<String> expected = expected(rules, sent, ignoreCase, override);
        assertThat(found(limits, request(sent))).as("%s by%n%s", sent, text).isEqualTo(expected);
        outcomes.merge(expected.iterator().next().replaceAll(":.*", ""), 1, Integer::sum);
      }
    }
    assertThat(outcomes)
        .as("each kind of outcome is tried")
        .containsKeys(NONE, REFUSED, DENIED, UNLIMITED, "1", "2");
  }

  // Descriptors

  /** A key, and the pattern of its value, null for any. */
  private record Wanted(String key, @Nullable String pattern) {}

  /** A rule for descriptors. Without a limit it is unlimited, or denies. */
  private record EntryRule(
      @Nullable String domain,
      List<Wanted> entries,
      boolean denies,
      Set<String> limits,
      List<Integer> places,
      Set<String> replaces) {

    String yaml() {
      String written =
          entries.stream()
              .map(
                  one ->
                      one.pattern == null
                          ? one.key
                          : "{%s: %s}".formatted(one.key, quoted(one.pattern)))
              .collect(Collectors.joining(", "));
      String id =
          places.isEmpty()
              ? "all"
              : places.stream().map(p -> "{" + (p + 1) + "}").collect(Collectors.joining(":"));
      String charges =
          limits.isEmpty()
              ? denies ? "deny: true" : "unlimited: true"
              : limits.stream()
                  .map(name -> "{limit: %s, id: %s}".formatted(name, quoted(id)))
                  .collect(Collectors.joining(", ", "limits: [", "]"));
      return "  - {%sentries: [%s], %s%s}%n"
          .formatted(
              domain == null ? "" : "domain: " + domain + ", ",
              written,
              replaces.isEmpty() ? "" : "replaces: " + list(List.copyOf(replaces)) + ", ",
              charges);
    }

    boolean isFor(String ofDomain, RateLimitDescriptor descriptor) {
      boolean matches =
          (domain == null || domain.equals(ofDomain))
              && entries.size() == descriptor.getEntriesCount();
      for (int i = 0; matches && i < entries.size(); i++) {
        Wanted one = entries.get(i);
        Entry entry = descriptor.getEntries(i);
        matches =
            one.key.equals(entry.getKey())
                && (one.pattern == null || isValue(one.pattern, entry.getValue()));
      }
      return matches;
    }

    String id(RateLimitDescriptor descriptor) {
      List<String> values = new ArrayList<>();
      for (int place : places) {
        Entry entry = descriptor.getEntries(place);
        boolean isGrouped =
            entry.getKey().equals("remote_address") && entry.getValue().equals("2001:db8:7:7::5");
        values.add(isGrouped ? "2001:db8:7:7::" : entry.getValue());
      }
      String id = values.isEmpty() ? "all" : joined(values);
      return places.size() == 1 && id.matches("\\**") ? id + "*" : id;
    }
  }

  private String key() {
    return one("k", "l", "remote_address");
  }

  private Set<String> someLimits() {
    return new TreeSet<>(several(2, i -> one("A", "B", "C", "D")));
  }

  private EntryRule entryRule(boolean mayReplace) {
    List<Wanted> entries =
        several(
            2,
            i ->
                new Wanted(
                    key(),
                    in(2) ? null : one("a", "a*", "ab", "*", "A", "*b", "a*:*b", "\\*", "**")));
    List<Integer> places = new ArrayList<>();
    for (int i = random.nextInt(3); i > 0; i--) {
      places.add(random.nextInt(entries.size()));
    }
    return new EntryRule(
        one(null, null, "d", "e"),
        entries,
        in(2),
        in(5) ? Set.of() : someLimits(),
        places,
        mayReplace && in(3) ? someLimits() : Set.of());
  }

  private RateLimitDescriptor descriptor() {
    RateLimitDescriptor.Builder descriptor = RateLimitDescriptor.newBuilder();
    several(2, i -> Entry.newBuilder().setKey(key()).setValue(value()).build())
        .forEach(descriptor::addEntries);
    if (in(2)) {
      descriptor.setHitsAddend(UInt64Value.of(random.nextInt(4)));
    }
    return descriptor.setIsNegativeHits(in(6)).build();
  }

  private String value() {
    return one("", "a", "ab", "A", "a:b", "a:bb", "%25", "*", "**", "2001:db8:7:7::5", "192.0.2.7");
  }

  /** Whether limits replace themselves or each other where the rules of a domain may meet. */
  private static boolean hasCircle(List<EntryRule> rules, String domain) {
    int size = LIMITS.size();
    boolean[][] reaches = new boolean[size][size];
    for (EntryRule rule : rules) {
      if (rule.domain == null || rule.domain.equals(domain)) {
        for (String own : rule.limits) {
          for (String replaced : rule.replaces) {
            reaches[LIMITS.indexOf(own)][LIMITS.indexOf(replaced)] = true;
          }
        }
      }
    }
    for (int over = 0; over < size; over++) {
      for (int from = 0; from < size; from++) {
        for (int to = 0; to < size; to++) {
          reaches[from][to] |= reaches[from][over] && reaches[over][to];
        }
      }
    }
    return IntStream.range(0, size).anyMatch(i -> reaches[i][i]);
  }

  /** The cost of each bucket, with "-" before those that get it back. */
  private static Map<String, Long> expected(List<EntryRule> rules, RateLimitRequest request) {
    List<@Nullable EntryRule> matched = new ArrayList<>();
    for (RateLimitDescriptor descriptor : request.getDescriptorsList()) {
      matched.add(
          rules.stream()
              .filter(rule -> rule.isFor(request.getDomain(), descriptor))
              .findFirst()
              .orElse(null));
    }
    Map<String, Long> costs = new TreeMap<>();
    for (int i = 0; i < matched.size(); i++) {
      EntryRule rule = matched.get(i);
      RateLimitDescriptor descriptor = request.getDescriptors(i);
      for (String limit : rule == null ? Set.<String>of() : rule.limits) {
        boolean isReplaced = false;
        for (int j = 0; j < matched.size(); j++) {
          EntryRule other = matched.get(j);
          isReplaced |= j != i && other != null && other.replaces.contains(limit);
        }
        if (!isReplaced) {
          long hits = descriptor.hasHitsAddend() ? descriptor.getHitsAddend().getValue() : 1;
          String bucket = (LIMITS.indexOf(limit) + 1) + ":" + rule.id(descriptor);
          costs.merge((descriptor.getIsNegativeHits() ? "-" : "") + bucket, hits, Long::sum);
        }
      }
      if (rule != null && rule.limits.isEmpty() && rule.denies) {
        costs.merge(DENIED, 1L, Long::sum);
      }
    }
    return costs;
  }

  private static Map<String, Long> found(Limits limits, RateLimitRequest request) {
    DescriptorCharges charges =
        DescriptorCharges.of(request, OverridePolicy.IGNORE, one -> {}, limits);
    Map<String, Long> costs = new TreeMap<>();
    for (DescriptorCharge charge : charges.all()) {
      Transaction asked = charge.asked();
      costs.merge(
          asked == null ? DENIED : asked.bucketKey(), asked == null ? 1 : charge.cost(), Long::sum);
    }
    charges.refunds().forEach(one -> costs.put("-" + one.givenBack().bucketKey(), one.cost()));
    return costs;
  }

  @Test
  void descriptors_areChargedWhatTheModelSays_andCirclesAreRefused() throws IOException {
    int circles = 0;
    int replaced = 0;
    for (int book = 0; book < 3 * BOOKS; book++) {
      boolean mayReplace = in(2);
      List<EntryRule> rules = several(10, i -> entryRule(mayReplace));
      String text = "rules:\n" + rules.stream().map(EntryRule::yaml).collect(Collectors.joining());
      boolean circle =
          hasCircle(rules, "d") || hasCircle(rules, "e") || hasCircle(rules, "another");
      List<Problem> mistakes =
          files(text).lint().stream().filter(p -> p.severity() == Severity.MISTAKE).toList();
      assertThat(mistakes.isEmpty()).as("%s%s", text, mistakes).isEqualTo(!circle);
      if (circle) {
        assertThat(mistakes).allMatch(one -> one.message().contains(" replace"));
        circles++;
        continue;
      }
      Limits limits = files(text).load();
      for (int i = 0; i < ASKED; i++) {
        RateLimitRequest request =
            RateLimitRequest.newBuilder()
                .setDomain(one("d", "e", "another"))
                .addAllDescriptors(several(4, n -> descriptor()))
                .build();
        Map<String, Long> expected = expected(rules, request);
        assertThat(found(limits, request)).as("%s by%n%s", request, text).isEqualTo(expected);
        replaced += expected.isEmpty() ? 0 : 1;
      }
    }
    assertThat(circles).as("books with circles").isGreaterThan(5);
    assertThat(replaced).as("requests that are charged").isGreaterThan(500);
  }
}
