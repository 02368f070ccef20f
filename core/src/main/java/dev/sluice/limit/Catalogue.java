// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import dev.sluice.internal.text.SafeText;
import dev.sluice.internal.text.Suggestion;
import dev.sluice.limit.InvalidRequestException.Field;
import dev.sluice.limit.InvalidRequestException.UnknownLimitException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The limit names of an application. Each limit name and each limit number occurs once.
 *
 * <p>Immutable and thread-safe.
 */
public final class Catalogue {

  private static final Catalogue SAMPLES =
      of(
          LimitName.builder(101, "LoginsPerIPAddress")
              .id(IdFormat.ipAddress())
              .message("too many logins ({burst}) from this IP address in the last {period}")
              .build(),
          LimitName.builder(102, "FailedLoginsPerIPAddress")
              .id(IdFormat.ipAddress())
              .message("too many failed logins ({burst}) from this IP address in the last {period}")
              .build(),
          LimitName.builder(103, "LoginsPerUserPerIPAddress")
              .id(IdFormat.joined(IdFormat.ipAddress(), IdFormat.string()))
              .message(
                  "too many logins ({burst}) as \"{id.2}\" from this IP address in the last"
                      + " {period}")
              .build(),
          LimitName.builder(104, "ApiCallsPerKey")
              .id(IdFormat.string())
              .message("too many API calls ({burst}) with this key in the last {period}")
              .build(),
          LimitName.builder(105, "SignUpsPerIPAddress")
              .id(IdFormat.ipAddress())
              .message("too many sign-ups ({burst}) from this IP address in the last {period}")
              .build(),
          LimitName.builder(106, "SignUpsPerIPv6Range")
              .id(IdFormat.ipv6Range(64))
              .message(
                  "too many sign-ups ({burst}) from this /64 subnet of IPv6 addresses in the last"
                      + " {period}")
              .build());

  private final SortedMap<String, LimitName> byName;
  private final Map<Integer, LimitName> byNumber;

  private Catalogue(Collection<LimitName> names) {
    SortedMap<String, LimitName> byName = new TreeMap<>();
    Map<Integer, LimitName> byNumber = new HashMap<>();
    for (LimitName name : names) {
      LimitName sameName = byName.put(Objects.requireNonNull(name, "name").name(), name);
      Integer number = name.number();
      LimitName sameNumber = number == null ? null : byNumber.put(number, name);
      if (sameName != null) {
        boolean isSame = Objects.equals(number, sameName.number());
        throw new IllegalArgumentException(
            "found the name %s twice%s, expected each name once"
                .formatted(
                    name,
                    isSame ? "" : " (%s and %s)".formatted(numbered(sameName), numbered(name))));
      }
      if (sameNumber != null) {
        throw new IllegalArgumentException(
            "found the number %s twice (for %s and %s), expected each number once"
                .formatted(number, sameNumber, name));
      }
    }
    this.byName = Collections.unmodifiableSortedMap(byName);
    this.byNumber = byNumber;
  }

  private static String numbered(LimitName name) {
    return name.number() == null ? "without a number" : "with the number " + name.number();
  }

  /**
   * Returns a catalogue of names.
   *
   * @param names the names
   * @return the catalogue
   * @throws IllegalArgumentException if two names have the same text or number
   */
  public static Catalogue of(LimitName... names) {
    return new Catalogue(Arrays.asList(names));
  }

  /**
   * Returns names that most services need, numbered from 101: logins, API calls, sign-ups.
   *
   * @return the catalogue
   */
  public static Catalogue samples() {
    return SAMPLES;
  }

  /**
   * Returns a catalogue with the names of this catalogue and of another catalogue.
   *
   * @param other the catalogue to add
   * @return a new catalogue
   * @throws IllegalArgumentException if two names have the same text or number
   */
  public Catalogue plus(Catalogue other) {
    List<LimitName> names = new ArrayList<>(byName.values());
    names.addAll(other.byName.values());
    return new Catalogue(names);
  }

  /**
   * Returns the names in alphabetical order.
   *
   * @return an unmodifiable collection
   */
  public Collection<LimitName> names() {
    return byName.values();
  }

  /**
   * Returns the limit name with the given text.
   *
   * @param name the text of the name
   * @return the name, null if the catalogue does not have it
   */
  public @Nullable LimitName find(String name) {
    return byName.get(name);
  }

  /**
   * Returns the limit name with the given number.
   *
   * @param number the number
   * @return the name, null if no name has the number
   */
  public @Nullable LimitName find(int number) {
    return byNumber.get(number);
  }

  /**
   * Returns the limit name with the given text, or throws an exception.
   *
   * @param name the text of the name
   * @return the name
   * @throws UnknownLimitException if the name is unknown; the message suggests a similar name
   */
  public LimitName get(String name) {
    LimitName found = find(Objects.requireNonNull(name, "limit"));
    if (found == null) {
      throw new UnknownLimitException(
          "no limit has the name %s%s"
              .formatted(
                  SafeText.quote(name),
                  byName.isEmpty()
                      ? ": the catalogue has no names; pass Limits to Limiter.of"
                      : Suggestion.didYouMean(name, byName.keySet())));
    }
    return found;
  }

  /**
   * Checks that no other limit of this catalogue has the name or the number of a given limit. Two
   * limits with the same number would share buckets, and two limits with the same name would share
   * metrics.
   *
   * @param name a name, in this catalogue or not
   * @throws InvalidRequestException if the catalogue has the limit's number with another name, or
   *     the limit's name with another number
   */
  public void requireNoClash(LimitName name) {
    Integer number = name.number();
    LimitName sameNumber = number == null ? null : byNumber.get(number);
    if (sameNumber != null && !sameNumber.equals(name)) {
      throw new InvalidRequestException(
          Field.LIMIT,
          "the limit %s has the number %s, which is the number of %s in the catalogue: both limits would share buckets; choose another number"
              .formatted(name, number, sameNumber));
    }
    LimitName sameName = byName.get(name.name());
    if (sameName != null && !sameName.equals(name)) {
      throw new InvalidRequestException(
          Field.LIMIT,
          "found the limit %s %s, but the catalogue has this limit %s; use the catalogue's limit, or choose another name"
              .formatted(name, numbered(name), numbered(sameName)));
    }
  }

  @Override
  public String toString() {
    return "names " + byName.keySet();
  }

  /**
   * Returns whether both catalogues have the same names, with equal formats, texts and settings.
   */
  @Override
  public boolean equals(@Nullable Object other) {
    return this == other
        || (other instanceof Catalogue that
            && byName.equals(that.byName)
            && byName.values().stream()
                .allMatch(name -> name.describesLike(that.byName.get(name.name()))));
  }

  @Override
  public int hashCode() {
    return byName.hashCode();
  }
}
