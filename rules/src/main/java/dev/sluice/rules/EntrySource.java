// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IpAddress;
import dev.sluice.rules.DescriptorRule.Wanted;
import dev.sluice.rules.Template.Source;
import dev.sluice.text.Suggestion;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The value of an entry. One that holds an address is grouped as {@code {ip}} and {@code {ip/BITS}}
 * of a request are, so that a client has one bucket at every door. Immutable and thread-safe.
 *
 * @param entry the entry
 * @param index its place, from 0
 * @param bits the length of the mask of {@code {KEY/BITS}}; 0 without one
 * @param address whether the value is an address, to be grouped
 */
record EntrySource(Wanted entry, int index, int bits, boolean address)
    implements Source<List<Entry>> {

  private static final Pattern RANGE = Pattern.compile("(.+)/([1-9][0-9]{0,2})");
  private static final int MOST_BITS = 128;

  /** The source of a rule whose entries are not known after a mistake. */
  private static final EntrySource UNKNOWN =
      new EntrySource(new Wanted("", ValuePattern.ANY), 0, 0, false);

  /**
   * Reads a placeholder of a rule: the key of an entry or its place, and perhaps a mask.
   *
   * @param entries the rule's; empty after a mistake in them
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
  public @Nullable String value(List<Entry> entries) {
    String value = entries.get(index).value();
    return address ? GroupedAddress.of(value, bits) : value;
  }

  @Override
  public @Nullable String known() {
    return bits > 0 ? "::/" + bits : null;
  }

  @Override
  public @Nullable String nearest(String value) {
    if (bits > 0 && IpAddress.parse(value) == null && GroupedAddress.lowest(value) == null) {
      return null;
    }
    String asked = address ? GroupedAddress.of(value, bits) : value;
    // Whether a pattern takes a value that is grouped later cannot be told.
    return address || entry.value().matches(value) ? asked : null;
  }
}
