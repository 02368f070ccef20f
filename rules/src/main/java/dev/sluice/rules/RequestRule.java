// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import dev.sluice.internal.text.SafeText;
import dev.sluice.internal.text.Suggestion;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IpAddress;
import dev.sluice.rules.RuleBook.Explanation.Skipped;
import dev.sluice.rules.RuleBook.RequestForm;
import dev.sluice.rules.RuleFinder.AnyRule;
import dev.sluice.rules.RuleMatch.RuleCharge;
import dev.sluice.rules.RuleMatch.RuleCharging;
import dev.sluice.rules.RuleMatch.RuleCharging.Charged;
import dev.sluice.rules.Template.Source;
import dev.sluice.web.AddressRange;
import dev.sluice.web.PathPattern;
import dev.sluice.web.RequestFacts;
import dev.sluice.web.RequestWord;
import dev.sluice.web.UnusableRequestException;
import dev.sluice.web.VaryBy;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiPredicate;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A rule for requests. If the rule has no field for a part of a request, the rule matches any value
 * of this part.
 *
 * @param methods the methods in upper case; empty for any method
 * @param hosts the host names in lower case, {@code *.example.com} for all subdomains; empty for
 *     any host
 * @param paths the path patterns, at least one
 * @param headers the pattern for each header, by the header's name
 * @param clients the ranges of client addresses; empty for any address
 * @param ignoresCase whether paths are compared in lower case; if true, the rule's paths are in
 *     lower case
 * @param methodOverride whether a method override in the request replaces the request's method
 */
record RequestRule(
    List<String> methods,
    List<String> hosts,
    List<PathPattern> paths,
    Map<String, ValuePattern> headers,
    List<AddressRange> clients,
    boolean ignoresCase,
    boolean methodOverride,
    RuleCharging<RequestRule.Context> charging)
    implements AnyRule {

  /** A request that matches the rule, with the values of the path variables. */
  record Context(RequestFacts facts, Map<String, String> variables) {}

  /** The context of a request that the rule matches, or the reason why it does not match. */
  record Result(@Nullable Context context, Supplier<String> mismatch) {

    /** Returns a mismatch, whose text is computed only for explanations. */
    static Result no(Supplier<String> mismatch) {
      return new Result(null, mismatch);
    }
  }

  /** Returns the first segment of each path; empty if one of the first segments is not fixed. */
  List<String> leadingSegments() {
    List<String> segments = new ArrayList<>(paths.size());
    for (PathPattern path : paths) {
      String segment = path.leadingSegment();
      if (segment == null) {
        return List.of();
      }
      segments.add(segment);
    }
    return segments;
  }

  /** Describes what the rule matches: its methods, if the rule has any, and its paths. */
  String words() {
    return (methods.isEmpty() ? "" : String.join(",", methods) + " ") + listed(paths);
  }

  /** Returns a summary of the rule: its paths, and the parts of a request that it uses. */
  RequestForm form() {
    Set<String> words = new LinkedHashSet<>();
    if (!methods.isEmpty()) {
      words.add("method");
    }
    if (!hosts.isEmpty()) {
      words.add("host");
    }
    if (!clients.isEmpty()) {
      words.add("ip");
    }
    headers.keySet().forEach(header -> words.add("header:" + header));
    for (var charged : charging.limits()) {
      for (String placeholder : charged.id().placeholders()) {
        int bar = placeholder.indexOf('|');
        words.add(bar < 0 ? placeholder : placeholder.substring(0, bar));
      }
      if (!charged.cost().header().isEmpty()) {
        words.add("header:" + charged.cost().header());
      }
    }
    return new RequestForm(line(), listed(paths), words);
  }

  /** Whether a method override in the request can change the result of the rule. */
  boolean readsMethodOverride() {
    return methodOverride && form().words().contains("method");
  }

  /**
   * Returns the charges of the rule for all spellings of the request's values.
   *
   * @param skipped receives each limit in shadow mode that needs a value which the request lacks,
   *     since a limit in shadow mode must not refuse a request
   */
  RuleMatch charge(Context context, Consumer<Skipped> skipped) {
    List<RuleCharge> charges = new ArrayList<>(charging.limits().size());
    for (Charged<Context> charged : charging.limits()) {
      try {
        context
            .facts()
            .inEachSpelling(
                facts -> Optional.ofNullable(charged.charge(new Context(facts, context.variables))))
            .forEach(charge -> charge.ifPresent(charges::add));
      } catch (UnusableRequestException e) {
        if (!charged.shadow()) {
          throw e;
        }
        skipped.accept(new Skipped(charged.limit(), e.detail()));
      }
    }
    return new RuleMatch(line(), charging.verdict(), charges, List.of());
  }

  /** Matches one interpretation of a request against the rule. */
  Result match(RequestFacts reading) {
    RequestFacts facts = reading.as(ignoresCase, methodOverride);
    String method = facts.method();
    if (!methods.isEmpty() && !methods.contains(method)) {
      return Result.no(
          () ->
              "the rule is for the method %s, not %s"
                  .formatted(String.join(", ", methods), SafeText.quote(method)));
    }
    Map<String, String> variables = null;
    for (int i = 0; variables == null && i < paths.size(); i++) {
      variables = paths.get(i).match(facts);
    }
    if (variables == null) {
      return Result.no(
          () ->
              "the rule is for the path %s, not %s"
                  .formatted(listed(paths), SafeText.quote(facts.pathText())));
    }
    String host = hosts.isEmpty() ? null : RequestWord.host(facts.request());
    if (!hosts.isEmpty() && (host == null || hosts.stream().noneMatch(h -> isFor(h, host)))) {
      return Result.no(
          () ->
              "the rule is for the host %s, not %s"
                  .formatted(listed(hosts), host == null ? "none" : SafeText.quote(host)));
    }
    for (Map.Entry<String, ValuePattern> header : headers.entrySet()) {
      String name = header.getKey();
      List<String> values = facts.headers(name);
      // A proxy may have joined the lines of a header; an application reads the first line.
      if (values.stream()
          .noneMatch(
              value ->
                  header.getValue().matches(value)
                      || header.getValue().matches(RequestFacts.firstLine(name, value)))) {
        return Result.no(
            () ->
                "the rule needs the header %s: %s%s"
                    .formatted(
                        name, header.getValue(), values.isEmpty() ? ", which is absent" : ""));
      }
    }
    IpAddress client = clients.isEmpty() ? null : facts.address();
    if (!clients.isEmpty()
        && (client == null || clients.stream().noneMatch(range -> range.contains(client)))) {
      return Result.no(
          () ->
              "the rule is for clients from %s, not %s"
                  .formatted(listed(clients), client == null ? "an unknown address" : client));
    }
    return new Result(new Context(facts, variables), () -> "");
  }

  private static boolean isFor(String pattern, String host) {
    return pattern.startsWith("*.")
        ? host.endsWith(pattern.substring(1)) && host.length() >= pattern.length()
        : pattern.equals(host);
  }

  private static String listed(List<?> values) {
    return values.stream().map(Object::toString).collect(Collectors.joining(", "));
  }

  /**
   * {@inheritDoc}
   *
   * <p>Each value of the other rule must be covered by a single value of this rule. The method does
   * not detect that several values of this rule cover a value of the other rule together.
   */
  @Override
  public boolean covers(AnyRule rule) {
    return rule instanceof RequestRule other
        && coversAll(methods, other.methods, String::equals)
        && (methods.isEmpty() || methodOverride == other.methodOverride)
        && coversAll(
            hosts, other.hosts, RequestRule::isFor) // isFor can also compare two patterns of hosts
        && coversAll(clients, other.clients, AddressRange::covers)
        && coversHeaders(other.headers)
        && coversAll(paths, other.paths, PathPattern::covers);
  }

  @Override
  public boolean skipsIpv4() {
    boolean isForIpv6 = clients.stream().allMatch(range -> range.toString().contains(":"));
    return charging.skipsIpv4() && (clients.isEmpty() || !isForIpv6);
  }

  private static <T> boolean coversAll(List<T> some, List<T> others, BiPredicate<T, T> covers) {
    return some.isEmpty()
        || (!others.isEmpty()
            && others.stream().allMatch(o -> some.stream().anyMatch(one -> covers.test(one, o))));
  }

  private boolean coversHeaders(Map<String, ValuePattern> others) {
    return headers.entrySet().stream()
        .allMatch(
            header -> {
              ValuePattern other = others.get(header.getKey());
              return other != null && header.getValue().covers(other);
            });
  }

  /**
   * A placeholder that stands for a value of a request.
   *
   * @param word the placeholder without braces
   * @param ignoresCase whether the rule compares paths in lower case
   * @param groups whether the value is an address that is grouped because of the id's format
   */
  record RequestSource(String word, boolean ignoresCase, VaryBy varyBy, boolean groups)
      implements Source<RequestRule.Context> {

    /**
     * Reads a placeholder of a rule.
     *
     * @param paths the paths of the rule; each path must have the variable that the placeholder
     *     names
     */
    static RequestSource parse(String word, List<PathPattern> paths, boolean ignoresCase) {
      VaryBy varyBy = RequestWord.parse(word);
      String variable = varyBy.pathVariable();
      for (PathPattern path : paths) {
        if (variable != null && !path.variables().contains(variable)) {
          throw new IllegalArgumentException(
              "found {%s}, but the path %s has no variable of that name%s"
                  .formatted(word, path, Suggestion.didYouMean(variable, path.variables())));
        }
      }
      return new RequestSource(word, ignoresCase, varyBy, false);
    }

    @Override
    public RequestSource in(IdFormat format) {
      VaryBy adapted = varyBy.in(format);
      return adapted == varyBy ? this : new RequestSource(word, ignoresCase, adapted, true);
    }

    @Override
    public @Nullable String value(RequestRule.Context context) {
      return varyBy.value(context.facts(), context.variables());
    }

    @Override
    public void requireFits(IdFormat format) {
      varyBy.requireFits(format);
    }

    @Override
    public boolean skipsIpv4() {
      return word.startsWith("ip/") && word.indexOf('|') < 0; // else IPv4 clients share a bucket
    }

    @Override
    public @Nullable String nearest(String value) {
      int bar = word.indexOf('|');
      String source = bar < 0 ? word : word.substring(0, bar);
      if (bar >= 0 && value.equals(word.substring(bar + 1))) {
        return value;
      }
      if (source.equals("ip") || source.startsWith("ip/")) {
        int bits = source.equals("ip") ? 0 : Integer.parseInt(source.substring("ip/".length()));
        return GroupedAddress.lowest(value) == null ? null : GroupedAddress.of(value, bits);
      }
      return switch (source.startsWith("path:") ? "path:" : source) {
        case "host" -> value.toLowerCase(Locale.ROOT);
        case "method" -> value.toUpperCase(Locale.ROOT);
        case "path" -> ofPath(value.startsWith("/") ? value : "/" + value);
        case "path:" -> ofPath(value);
        default -> groups ? GroupedAddress.of(value) : value;
      };
    }

    private String ofPath(String value) {
      return ignoresCase ? PathPattern.folded(value) : value;
    }
  }
}
