// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import dev.sluice.internal.text.SafeText;
import dev.sluice.rules.ChargeReader.Reserving;
import dev.sluice.rules.DescriptorRule.Wanted;
import dev.sluice.rules.RuleBook.DescriptorEntry;
import dev.sluice.rules.RuleFinder.AnyRule;
import dev.sluice.rules.RuleMatch.RuleCharging;
import dev.sluice.rules.RuleMatch.RuleCharging.Charged;
import dev.sluice.rules.RuleMatch.Verdict;
import dev.sluice.rules.internal.Replacements;
import dev.sluice.web.AddressRange;
import dev.sluice.web.PathPattern;
import dev.sluice.web.RequestFacts;
import dev.sluice.yaml.internal.Fields;
import dev.sluice.yaml.internal.Node;
import dev.sluice.yaml.internal.Problems;
import dev.sluice.yaml.internal.Values;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Parses the rules of one file, one after the other. Not thread-safe. */
final class RuleReader {

  private static final List<String> CHARGES =
      concat(List.of("unlimited", "deny", "unmatched", "limits"), ChargeReader.FIELDS);
  private static final List<String> OF_DESCRIPTORS = List.of("domain", "entries", "replaces");
  private static final List<String> OF_REQUESTS =
      List.of("methods", "host", "path", "headers", "clients");

  /** Fields of a rule or of a rule book that change how requests are compared with rules. */
  static final List<String> COMPARING = List.of("ignoreCase", "methodOverride");

  private static final List<String> ALL =
      concat(concat(OF_DESCRIPTORS, concat(OF_REQUESTS, COMPARING)), CHARGES);
  private static final String ANY_VALUE = "a value; \"*\" for any";
  private static final String ENTRY = "a key, or key: value";

  private final LimitReferences limits;
  private final Problems problems;
  private final Replacements replacements = new Replacements();
  private final List<InDomain> reserving = new ArrayList<>();
  private final Set<String> domains = new HashSet<>();
  private final boolean ignoreCase;
  private final boolean methodOverride;

  /**
   * Makes a reader of rules.
   *
   * @param book the fields at the top level of the file
   */
  RuleReader(Fields book, LimitReferences limits, Problems problems) {
    this.limits = limits;
    this.problems = problems;
    this.ignoreCase = flag(book, "ignoreCase", false);
    this.methodOverride = flag(book, "methodOverride", true);
  }

  private boolean flag(Fields fields, String name, boolean otherwise) {
    Node node = fields.find(name);
    Boolean value = node == null ? null : Values.bool(node, problems);
    return value == null ? otherwise : value;
  }

  /** A limit with the field {@code by}, and the domain of the limit's rule; null for any domain. */
  private record InDomain(@Nullable String domain, Reserving one) {

    /** Whether one of the two limits reserves tokens that the other limit settles. */
    boolean meets(InDomain other) {
      return one.limit().equals(other.one.limit())
          && one.shadow() == other.one.shadow()
          && one.settles() != other.one.settles()
          && (domain == null || other.domain == null || domain.equals(other.domain));
    }
  }

  /** Reports mistakes that involve several rules, such as limits that replace each other. */
  void end() {
    replacements.report(problems);
    for (InDomain each : reserving) {
      if (reserving.stream().noneMatch(each::meets)) {
        Reserving one = each.one;
        problems.mistake(
            one.at(),
            (one.settles()
                    ? "found a rule that settles %1$s, but no rule of its domain reserves it%2$s; add \"by\" to the rule that charges %1$s when a request begins"
                    : "found a rule that reserves %1$s, but no rule of its domain settles it%2$s; add a rule with \"settles: %1$s\" for the end of the request")
                .formatted(SafeText.printable(one.limit()), one.shadow() ? " in shadow" : ""));
      }
    }
  }

  /**
   * Reads a rule and reports the rule's mistakes.
   *
   * @return the rule; null if the rule is neither for descriptors nor for requests
   */
  @Nullable AnyRule read(Node item) {
    Node.Mapping map = Values.map(item, "a rule as {path, limits} or {entries, limits}", problems);
    if (map == null) {
      return null;
    }
    Fields fields = Fields.of(map, item, ALL, problems);
    boolean descriptor = OF_DESCRIPTORS.stream().anyMatch(name -> fields.find(name) != null);
    for (String name : descriptor ? concat(OF_REQUESTS, COMPARING) : List.<String>of()) {
      if (fields.find(name) != null) {
        problems.mistake(
            fields.at(name),
            "found the field %s beside entries, expected one or the other: a rule is for descriptors or for requests"
                .formatted(name));
      }
    }
    if (!descriptor && OF_REQUESTS.stream().noneMatch(name -> fields.find(name) != null)) {
      problems.mistake(item, "the field path or entries is missing; path: /** is for all requests");
    }
    return descriptor ? descriptorRule(fields) : requestRule(fields);
  }

  private AnyRule descriptorRule(Fields fields) {
    Node domain = fields.find("domain");
    String name = domain == null ? null : Values.text(domain, "a domain", problems);
    if (domain != null && name != null && domains.add(name)) {
      warnOfStar(domain, name, problems);
    }
    Node entries = fields.require("entries");
    List<Wanted> wanted = wanted(entries);
    boolean whole = entries instanceof Node.Sequence list && list.items().size() == wanted.size();
    ChargeReader<List<DescriptorEntry>> charges =
        ChargeReader.ofDescriptors(whole ? wanted : List.of(), limits, problems);
    List<String> replaces = replaces(fields.find("replaces"));
    RuleCharging<List<DescriptorEntry>> charging = charging(fields, charges);
    replacements.add(name, charges.limits(), replaces, fields.owner(), "");
    charges.reserving().forEach(one -> reserving.add(new InDomain(name, one)));
    return new DescriptorRule(name, wanted, replaces, charging);
  }

  /** Warns about a star in a domain, since there it does not stand for other text. */
  static void warnOfStar(Node node, String domain, Problems problems) {
    if (domain.contains("*")) {
      problems.warning(
          node,
          "found the domain %s, which matches only a domain of exactly this name; a rule without domain is for all domains"
              .formatted(SafeText.quote(domain)));
    }
  }

  private List<String> replaces(@Nullable Node node) {
    List<String> names = new ArrayList<>();
    Node.Sequence list = Values.list(node, "a list of names of limits", problems);
    for (Node item : list == null ? List.<Node>of() : list.items()) {
      String text = Values.text(item, "the name of a limit", problems);
      if (text != null && text.isBlank()) {
        problems.mistake(item, "found an empty name, expected the name of a limit");
      } else if (text != null) {
        names.add(text);
        var unused = limits.find(item, text); // the call reports an unknown limit
      }
    }
    return List.copyOf(names);
  }

  private List<Wanted> wanted(@Nullable Node node) {
    List<Wanted> wanted = new ArrayList<>();
    Node.Sequence list = Values.list(node, "a list of entries, each " + ENTRY, problems);
    if (list != null) {
      for (Node item : list.items()) {
        Wanted one = wantedEntry(item);
        if (one != null) {
          wanted.add(one);
        }
      }
      if (list.items().isEmpty()) {
        problems.mistake(list, "found an empty list, expected at least one entry");
      }
    }
    return wanted;
  }

  private @Nullable Wanted wantedEntry(Node item) {
    if (!(item instanceof Node.Mapping map)) {
      String key = Values.text(item, ENTRY, problems);
      return key == null ? null : new Wanted(key, ValuePattern.ANY);
    }
    if (map.entries().size() != 1) {
      problems.mistake(
          item,
          "found %s keys in one entry, expected one: begin each entry with \"- \""
              .formatted(map.entries().size()));
      return null;
    }
    Node.Entry entry = map.entries().get(0);
    ValuePattern value = pattern(entry.value());
    return value == null ? null : new Wanted(entry.key().text(), value);
  }

  private @Nullable ValuePattern pattern(Node node) {
    return parsed(node, ANY_VALUE, ValuePattern::parse);
  }

  private AnyRule requestRule(Fields fields) {
    Node pathNode = fields.find("path");
    List<PathPattern> paths =
        pathNode == null
            ? List.of(PathPattern.parse("/**"))
            : list(pathNode, "a path such as /login", PathPattern::parse);
    boolean ignoresCase = flag(fields, "ignoreCase", ignoreCase);
    ChargeReader<RequestRule.Context> charges =
        ChargeReader.ofRequests(paths, ignoresCase, limits, problems);
    return new RequestRule(
        methods(fields.find("methods")),
        list(fields.find("host"), "a host such as api.example.com", RuleReader::host),
        ignoresCase ? paths.stream().map(PathPattern::ignoringCase).toList() : paths,
        headers(fields.find("headers")),
        list(
            fields.find("clients"),
            "an address or a range such as 10.0.0.0/8",
            AddressRange::parse),
        ignoresCase,
        flag(fields, "methodOverride", methodOverride),
        charging(fields, charges));
  }

  private List<String> methods(@Nullable Node node) {
    List<String> methods = new ArrayList<>(list(node, "a method such as POST", RuleReader::method));
    if (methods.contains("GET") && !methods.contains("HEAD")) {
      methods.add("HEAD"); // applications handle HEAD in the same way as GET
    }
    return methods;
  }

  private static String method(String text) {
    if (!text.matches("[A-Z][A-Z_-]*")) {
      throw new IllegalArgumentException(
          "found \"%s\", expected an upper-case word such as POST".formatted(text));
    }
    return text;
  }

  private static String host(String text) {
    String name = text.endsWith(".") ? text.substring(0, text.length() - 1) : text;
    String host = name.startsWith("*.") ? name.substring(2) : name;
    if (!host.matches("[A-Za-z0-9_-]+([.][A-Za-z0-9_-]+)*+|\\[[0-9A-Fa-f:.]+]")) {
      throw new IllegalArgumentException(
          "found \"%s\", expected a host without port, or *.example.com for all its subdomains"
              .formatted(text));
    }
    return name.toLowerCase(Locale.ROOT);
  }

  private Map<String, ValuePattern> headers(@Nullable Node node) {
    Map<String, ValuePattern> headers = new LinkedHashMap<>();
    if (node instanceof Node.Mapping map) {
      for (Node.Entry entry : map.entries()) {
        String name = entry.key().text().toLowerCase(Locale.ROOT);
        ChargeReader.requireHeader(entry.key(), problems);
        ValuePattern value =
            parsed(
                entry.value(),
                ANY_VALUE,
                text -> ValuePattern.parse(RequestFacts.comparable(name, text)));
        if (value != null && headers.put(name, value) != null) {
          problems.mistake(
              entry.key(), "found the header %s again, expected it once".formatted(name));
        }
      }
    } else if (node != null && !(node instanceof Node.Broken)) {
      problems.wrongKind(node, "a map of headers to values; \"*\" for any value");
    }
    return headers;
  }

  /** Parses one value, or a list of values. */
  private <T> List<T> list(@Nullable Node node, String expected, Function<String, T> parser) {
    List<T> values = new ArrayList<>();
    List<Node> items =
        node instanceof Node.Sequence list
            ? list.items()
            : node == null ? List.of() : List.of(node);
    for (Node item : items) {
      T value = parsed(item, expected, parser);
      if (value != null) {
        values.add(value);
      }
    }
    if (node instanceof Node.Sequence && items.isEmpty()) {
      problems.mistake(node, "found an empty list, expected " + expected);
    }
    return values;
  }

  private <T> @Nullable T parsed(Node node, String expected, Function<String, T> parser) {
    String text = Values.text(node, expected, problems);
    try {
      return text == null ? null : parser.apply(text);
    } catch (IllegalArgumentException e) {
      problems.mistake(node, String.valueOf(e.getMessage()));
      return null;
    }
  }

  /** Parses a rule's limits, or its field {@code unlimited}, {@code deny} or {@code unmatched}. */
  private <C> RuleCharging<C> charging(Fields fields, ChargeReader<C> reader) {
    int line = fields.owner().line();
    if (isAlone(fields, "unlimited")) {
      return new RuleCharging<>(line, Verdict.UNLIMITED, List.of());
    }
    if (isAlone(fields, "deny")) {
      return new RuleCharging<>(line, Verdict.DENIES, List.of());
    }
    if (isAlone(fields, "unmatched")) { // the request passes, and nothing is charged
      return new RuleCharging<>(line, Verdict.CHARGES, List.of());
    }
    Node list = fields.find("limits");
    List<Charged<C>> charged = new ArrayList<>();
    if (list instanceof Node.Sequence sequence) {
      refuseBeside(fields, ChargeReader.FIELDS, "limits");
      for (Node item : sequence.items()) {
        reader.read(item, charged);
      }
      if (sequence.items().isEmpty()) {
        problems.mistake(
            list,
            "found an empty list, expected at least one limit, or unlimited: true, or deny: true");
      }
    } else if (list != null) {
      if (!(list instanceof Node.Broken)) {
        problems.wrongKind(list, "a list of limits, each {limit, id}");
      }
    } else if (fields.find("limit") == null && fields.find("settles") == null) {
      problems.mistake(fields.owner(), "the field limit, limits, unlimited or deny is missing");
    } else {
      reader.read(fields, charged);
    }
    return new RuleCharging<>(line, Verdict.CHARGES, List.copyOf(charged));
  }

  /** Whether a rule has the given field; reports fields that contradict this field. */
  private boolean isAlone(Fields fields, String field) {
    Node node = fields.find(field);
    if (node == null) {
      return false;
    }
    Boolean written = Values.bool(node, problems);
    if (written != null && !written) {
      problems.mistake(node, "found %s: false, expected true, or a limit instead".formatted(field));
    }
    refuseBeside(fields, CHARGES.stream().filter(other -> !other.equals(field)).toList(), field);
    return true;
  }

  private void refuseBeside(Fields fields, List<String> others, String field) {
    for (String other : others) {
      if (fields.find(other) != null) {
        problems.mistake(
            fields.at(other),
            "found the field %s beside %s, expected one or the other".formatted(other, field));
      }
    }
  }

  private static List<String> concat(List<String> one, List<String> other) {
    List<String> both = new ArrayList<>(one);
    both.addAll(other);
    return List.copyOf(both);
  }
}
