// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import dev.sluice.internal.text.SafeText;
import dev.sluice.internal.text.Suggestion;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.IpAddress;
import dev.sluice.rules.DescriptorRule.Wanted;
import dev.sluice.rules.RuleBook.DescriptorEntry;
import dev.sluice.rules.RuleFinder.AnyRule;
import dev.sluice.rules.RuleMatch.RuleCharging;
import dev.sluice.rules.Template.Source;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A rule for descriptors. The rule matches a descriptor that has as many entries as the rule, with
 * the same keys in the same order.
 *
 * @param domain the domain of the descriptors; null for any domain
 * @param replaces the limits that are not charged for any other descriptor of the same request if
 *     this rule matches
 */
record DescriptorRule(
    @Nullable String domain,
    List<Wanted> wanted,
    List<String> replaces,
    RuleCharging<List<DescriptorEntry>> charging)
    implements AnyRule {

  /** The key and the value pattern that a rule requires in one entry. */
  record Wanted(String key, ValuePattern value) {}

  /** Returns why the rule does not match a descriptor; null if the rule matches. */
  @Nullable String mismatch(String ofDomain, List<DescriptorEntry> entries) {
    if (domain != null && !domain.equals(ofDomain)) {
      return "the rule is for the domain %s, not %s"
          .formatted(SafeText.quote(domain), SafeText.quote(ofDomain));
    }
    if (wanted.size() != entries.size()) {
      return "the rule needs %s, the descriptor has %s"
          .formatted(counted(wanted.size()), counted(entries.size()));
    }
    for (int i = 0; i < wanted.size(); i++) {
      Wanted one = wanted.get(i);
      DescriptorEntry entry = entries.get(i);
      if (!one.key.equals(entry.key())) {
        return "the rule needs the key %s in entry %s, not %s"
            .formatted(SafeText.quote(one.key), i + 1, SafeText.quote(entry.key()));
      }
      if (!one.value.matches(entry.value())) {
        return "the rule needs %s = %s in entry %s, not %s"
            .formatted(
                one.key,
                SafeText.quote(one.value.toString()),
                i + 1,
                SafeText.quote(entry.value()));
      }
    }
    return null;
  }

  private static String counted(int entries) {
    return entries == 1 ? "1 entry" : entries + " entries";
  }

  /** Returns whether the rule matches a descriptor; the caller has checked the keys. */
  boolean matchesValues(String ofDomain, List<DescriptorEntry> entries) {
    if (domain != null && !domain.equals(ofDomain)) {
      return false;
    }
    for (int i = 0; i < wanted.size(); i++) {
      if (!wanted.get(i).value.matches(entries.get(i).value())) {
        return false;
      }
    }
    return true;
  }

  /** Returns the charges of the rule for a descriptor that the rule matches. */
  RuleMatch match(List<DescriptorEntry> entries) {
    RuleMatch match = charging.match(entries);
    return replaces.isEmpty()
        ? match
        : new RuleMatch(match.line(), match.verdict(), match.charges(), replaces);
  }

  /** Describes what the rule matches, such as {@code edge: remote_address, path=/a*}. */
  String words() {
    String entries =
        wanted.stream()
            .map(one -> one.value.equals(ValuePattern.ANY) ? one.key : one.key + "=" + one.value)
            .collect(Collectors.joining(", "));
    return domain == null ? entries : domain + ": " + entries;
  }

  List<String> keys() {
    return wanted.stream().map(Wanted::key).toList();
  }

  @Override
  public boolean covers(AnyRule rule) {
    if (!(rule instanceof DescriptorRule other)
        || (domain != null && !domain.equals(other.domain))
        || wanted.size() != other.wanted.size()) {
      return false;
    }
    for (int i = 0; i < wanted.size(); i++) {
      Wanted own = wanted.get(i);
      Wanted its = other.wanted.get(i);
      if (!own.key.equals(its.key) || !own.value.covers(its.value)) {
        return false;
      }
    }
    return true;
  }

  /**
   * A placeholder that stands for the value of an entry. Addresses are grouped in the same way as
   * by {@code {ip}} and {@code {ip/BITS}} in a rule for requests, so a client has the same bucket
   * in every protocol.
   *
   * @param entry the entry whose value the placeholder takes
   * @param index the index of the entry, from 0
   * @param bits the prefix length in {@code {KEY/BITS}}; 0 if the placeholder has no prefix length
   * @param address whether the value is an address to be grouped
   */
  record EntrySource(Wanted entry, int index, int bits, boolean address)
      implements Source<List<DescriptorEntry>> {

    private static final Pattern RANGE = Pattern.compile("(.+)/([1-9][0-9]{0,2})");
    private static final int MOST_BITS = 128;

    /** The source that is used for every placeholder if the rule's entries have a mistake. */
    private static final EntrySource UNKNOWN =
        new EntrySource(new Wanted("", ValuePattern.ANY), 0, 0, false);

    /**
     * Parses a placeholder: the key or the number of an entry, optionally with a prefix length.
     *
     * @param entries the entries of the rule; empty if the entries have a mistake
     */
    static EntrySource parse(String word, List<Wanted> entries) {
      if (entries.isEmpty()) {
        return UNKNOWN;
      }
      List<String> keys = entries.stream().map(Wanted::key).toList();
      int place = place(word, keys);
      if (place >= 0) {
        return new EntrySource(entries.get(place), place, 0, false);
      }
      Matcher range = RANGE.matcher(word);
      place = range.matches() ? place(range.group(1), keys) : -1;
      int bits = place < 0 ? 0 : Integer.parseInt(range.group(2));
      if (place < 0 || bits > MOST_BITS) {
        throw new IllegalArgumentException(
            "found {%s}, expected a key of the rule's entries, %s, or the number of an entry; {KEY/BITS} is the range of an IPv6 address%s"
                .formatted(
                    word,
                    keys.stream().map(key -> "{" + key + "}").collect(Collectors.joining(", ")),
                    Suggestion.didYouMean(range.matches() ? range.group(1) : word, keys)));
      }
      return new EntrySource(entries.get(place), place, bits, true);
    }

    private static int place(String word, List<String> keys) {
      int place = keys.indexOf(word);
      if (place < 0 && word.matches("[1-9][0-9]{0,3}") && Integer.parseInt(word) <= keys.size()) {
        place = Integer.parseInt(word) - 1;
      }
      if (place >= 0 && keys.indexOf(word) != keys.lastIndexOf(word)) {
        throw new IllegalArgumentException(
            "found {%s}, which is the key of two entries, expected a number: {%s} for the first one"
                .formatted(word, place + 1));
      }
      return place;
    }

    @Override
    public EntrySource in(IdFormat format) {
      return bits > 0 || !GroupedAddress.isIn(entry.key(), format)
          ? this
          : new EntrySource(entry, index, 0, true);
    }

    @Override
    public @Nullable String value(List<DescriptorEntry> entries) {
      String value = entries.get(index).value();
      return address ? GroupedAddress.of(value, bits) : value;
    }

    @Override
    public void requireFits(IdFormat format) {
      if (bits > 0) {
        var unused = format.canonical("::/" + bits, Strictness.LENIENT);
      }
    }

    @Override
    public boolean skipsIpv4() {
      return bits > 0 && entry.value().pieces().stream().noneMatch(text -> text.contains(":"));
    }

    @Override
    public @Nullable String nearest(String value) {
      if (bits > 0 && IpAddress.parse(value) == null && GroupedAddress.lowest(value) == null) {
        return null;
      }
      String asked = address ? GroupedAddress.of(value, bits) : value;
      // An id contains a grouped address; the pattern is for the address before grouping, so the
      // pattern cannot be compared with the id.
      return address || entry.value().matches(value) ? asked : null;
    }
  }
}
