// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.IdFormats.JoinedFormat;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import java.net.URI;
import java.net.URISyntaxException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The declaration of a limit: its name, an optional number, the id format, and the denial message.
 *
 * <p>The bucket keys of a limit begin with the limit's number, or with its name if the limit has no
 * number. If the number (or name) at the start of the keys changes, the limit gets new, full
 * buckets.
 *
 * <p>Immutable and thread-safe. Two names are equal if they have the same number and name.
 */
public final class LimitName {

  /**
   * The prefix of the bucket keys of trials: a trial's key is this prefix and the key of an
   * ordinary transaction on the same id.
   */
  private static final String START_OF_TRIALS = "shadow-";

  private static final Pattern NAME = Pattern.compile("[A-Za-z][A-Za-z0-9_.-]{0,99}");
  private static final Pattern PLACEHOLDER = Pattern.compile("\\{([^{}]*)}");
  private static final double DEFAULT_JITTER = 0.03;
  private static final int FIRST_OF_DOORS = 2_000_000_000;
  private static final int LAST_OF_DOORS = FIRST_OF_DOORS + 99;

  /** The names of the Sluice server's own limits, by their reserved numbers. */
  private static final Map<Integer, String> DOORS =
      Map.of(
          FIRST_OF_DOORS + 1, "cl.throttle",
          FIRST_OF_DOORS + 2, "rls.override",
          FIRST_OF_DOORS + 3, "reservation.cancel");

  private static final Pattern KNOWN =
      Pattern.compile("burst|count|period|goPeriod|rate|id|id\\.[1-9]");

  /** The number, 0 if the limit has none. */
  private final int number;

  private final String name;
  private final String keyStart;
  private final IdFormat id;
  private final IdFormat overrideId;
  private final boolean overridesOnly;
  private final boolean disabledWithoutDefault;
  private final String message;

  /** The message's texts around its placeholders: n + 1 texts for n placeholders. */
  private final List<String> texts;

  private final List<String> placeholders;
  private final @Nullable String helpLink;
  private final double jitter;
  private final Duration longestWait;

  private LimitName(Builder builder) {
    this.number = builder.number;
    this.name = builder.name;
    this.keyStart = (number == 0 ? name : Integer.toString(number)) + ":";
    this.id = builder.id;
    this.overrideId = builder.overrideId == null ? builder.id : builder.overrideId;
    this.overridesOnly = builder.overridesOnly;
    this.disabledWithoutDefault = builder.disabledWithoutDefault;
    this.message = builder.message;
    this.texts = List.of(PLACEHOLDER.split(message, -1));
    this.placeholders =
        PLACEHOLDER.matcher(message).results().map(found -> found.group(1)).toList();
    this.helpLink = builder.helpLink;
    this.jitter = builder.jitter;
    this.longestWait = builder.longestWait;
    if (overrideId.parts().size() > id.parts().size()) {
      throw new IllegalArgumentException(
          "overrideId: found %s, expected the form of the id (%s) or its first parts"
              .formatted(overrideId.name(), id.name()));
    }
  }

  /**
   * Returns a builder for a limit without a number. The limit's bucket keys begin with its name.
   *
   * @param name a letter, then up to 99 letters, digits, "_", "." or "-"; must never change, and
   *     must not begin with {@code shadow-}
   * @return a builder
   * @throws IllegalArgumentException for a name that is not allowed
   */
  public static Builder builder(String name) {
    return new Builder(0, name);
  }

  /**
   * Returns a builder for a limit with a number. The limit's bucket keys begin with the number
   * instead of the name, so the keys are shorter, and the name can change later.
   *
   * @param number the limit's number, at least 1; must never change. The numbers from 2000000000 to
   *     2000000099 are reserved for Sluice's own limits
   * @param name a letter, then up to 99 letters, digits, "_", "." or "-"
   * @return a builder
   * @throws IllegalArgumentException for a number or name that is not allowed
   */
  public static Builder builder(int number, String name) {
    if (number < 1) {
      throw new IllegalArgumentException("number: found " + number + ", expected at least 1");
    }
    boolean reserved = number >= FIRST_OF_DOORS && number <= LAST_OF_DOORS;
    if (reserved && !Objects.requireNonNull(name, "name").equals(DOORS.get(number))) {
      throw new IllegalArgumentException(
          "number: found %s, expected another number: Sluice's own limits have the numbers from %s to %s"
              .formatted(number, FIRST_OF_DOORS, LAST_OF_DOORS));
    }
    return new Builder(number, name);
  }

  /**
   * Returns the names of the Sluice server's own limits, which no other limit may have.
   *
   * @return the names
   */
  public static Set<String> reserved() {
    return Set.copyOf(DOORS.values());
  }

  /**
   * Returns the number with which the bucket keys begin.
   *
   * @return the number, at least 1; null if the keys begin with the limit's name
   */
  public @Nullable Integer number() {
    return number == 0 ? null : number;
  }

  /**
   * Returns the limit's name, as it appears in files, messages and metrics.
   *
   * @return the name
   */
  public String name() {
    return name;
  }

  /**
   * Returns the format of an id in a transaction.
   *
   * @return the format
   */
  public IdFormat id() {
    return id;
  }

  /**
   * Returns the format of an id in an override. Overrides can spell an id differently from
   * transactions. The format of override ids can also consist of only the first parts of an id; an
   * override then applies to every id that starts with these parts.
   *
   * @return the format; by default the format of transaction ids
   */
  public IdFormat overrideId() {
    return overrideId;
  }

  /**
   * Returns whether the limit has only overrides: a default for this limit in a file is ignored.
   *
   * @return false unless declared
   */
  public boolean overridesOnly() {
    return overridesOnly;
  }

  /**
   * Returns whether the limit is disabled for an id that has neither a default nor an override. A
   * disabled limit allows every request for the id and stores nothing. If this method returns
   * false, limiters refuse a request for an id that has neither a default nor an override.
   *
   * @return true if a missing default disables the limit, or the limit has {@linkplain
   *     #overridesOnly overrides only}
   */
  public boolean disabledWithoutDefault() {
    return disabledWithoutDefault || overridesOnly;
  }

  /**
   * Returns the message for a denied client, with unfilled placeholders.
   *
   * @return the template; {@link #denial} fills it in
   */
  public String message() {
    return message;
  }

  /**
   * Returns the link to a page for denied clients.
   *
   * @return a link, null if there is none
   */
  public @Nullable String helpLink() {
    return helpLink;
  }

  /**
   * Returns the jitter: the largest share of a wait that a decision randomly adds to the wait in a
   * response, so that clients do not all retry at once. Any jitter above 0 adds up to one second to
   * a {@code Retry-After} header, because this header has whole seconds.
   *
   * @return a share from 0 to 1; the default is 0.03
   */
  public double jitter() {
    return jitter;
  }

  /**
   * Returns the longest time for which callers are allowed to wait for tokens of this limit, in any
   * process that shares its buckets.
   *
   * @return the longest wait; the default is zero, which allows no waiting
   */
  public Duration longestWait() {
    return longestWait;
  }

  /**
   * Returns the key of a bucket.
   *
   * @param canonicalId an id that {@link #id} has made canonical
   * @return the limit's number, or its name if it has no number, followed by ":" and the id
   */
  public String bucketKey(String canonicalId) {
    return keyStart + Objects.requireNonNull(canonicalId, "canonicalId");
  }

  /**
   * Returns the bucket key for an id that a person wrote, in an override file or on a command line.
   *
   * <p>If overrides of this limit have only the first parts of an id, {@code text} can be the whole
   * id or the first parts. For an id that shares a bucket with other ids, such as a name below a
   * registered domain, returns the key of the shared bucket.
   *
   * @param text the id
   * @param strictness whether an id that is not in canonical form is refused
   * @return the {@linkplain #bucketKey bucket key}
   * @throws InvalidIdException if the text has none of the accepted formats
   */
  public String keyOf(String text, Strictness strictness) {
    boolean whole =
        overridesByPrefix()
            && id.split(text).size() > overrideId.parts().size()
            && !endsWithAddress(text);
    IdFormat format = whole ? id : overrideId;
    return bucketKey(format.widened(format.canonical(text, strictness)));
  }

  /**
   * Returns whether a text is an override's id that ends with an address, which can contain ":".
   */
  private boolean endsWithAddress(String text) {
    if (!IdFormats.isAddress(overrideId.parts().get(overrideId.parts().size() - 1))) {
      return false;
    }
    try {
      var unused = overrideId.canonical(text, Strictness.LENIENT);
      return true;
    } catch (InvalidIdException e) {
      return false;
    }
  }

  /**
   * Returns an override's id from its bucket key; the inverse of {@link #bucketKey}.
   *
   * @param bucketKey the key for the canonical id of an override
   * @return the id
   * @throws InvalidIdException if the key belongs to another limit, or its id is not canonical
   */
  public String overrideIdOf(String bucketKey) {
    // Bucket keys contain override ids only if the limit's override ids are the first parts of ids.
    return idOf(bucketKey, overridesByPrefix() ? overrideId : id);
  }

  /**
   * Returns a transaction's id from its bucket key; the inverse of {@link #bucketKey}.
   *
   * @param bucketKey the key for the canonical id of a transaction
   * @return the id
   * @throws InvalidIdException if the key belongs to another limit, or its id is not canonical
   */
  public String idOf(String bucketKey) {
    return idOf(bucketKey, id);
  }

  private String idOf(String bucketKey, IdFormat form) {
    if (!bucketKey.startsWith(keyStart)) {
      throw new InvalidIdException(
          "found the bucket key %s, expected a key of %s, which starts with %s"
              .formatted(SafeText.quote(bucketKey), name, SafeText.quote(keyStart)));
    }
    String found = bucketKey.substring(keyStart.length());
    String canonical = form.canonical(found, Strictness.LENIENT);
    if (!canonical.equals(found)) {
      throw new InvalidIdException(
          "found the bucket key %s, expected its canonical form %s"
              .formatted(SafeText.quote(bucketKey), SafeText.quote(bucketKey(canonical))));
    }
    return found;
  }

  /** Throws an exception if an override's id is not canonical, so that it would never apply. */
  void requireCanonical(LimitOverride override) {
    // A format for overrides can refuse the text into which it converts ids.
    if (!isCanonical(override.id(), overrideId)
        && !isCanonical(override.id(), firstPartsOfOverrides())) {
      throw notCanonical(override.id(), "an override", overrideId);
    }
  }

  /** Throws an exception if a penalty's id is not canonical, so that it would never apply. */
  void requireCanonical(Penalty penalty) {
    if (!isCanonical(penalty.id(), id)) {
      throw notCanonical(penalty.id(), "a penalty", id);
    }
  }

  private static boolean isCanonical(String text, IdFormat form) {
    try {
      return form.canonical(text, Strictness.LENIENT).equals(text);
    } catch (InvalidIdException e) {
      return false;
    }
  }

  private InvalidIdException notCanonical(String text, String where, IdFormat form) {
    String found = "found the id %s in %s of %s".formatted(SafeText.quote(text), where, name);
    try {
      String canonical = SafeText.quote(form.canonical(text, Strictness.LENIENT));
      return new InvalidIdException(found + ", expected its canonical form " + canonical);
    } catch (InvalidIdException e) {
      return new InvalidIdException(found + ": " + e.getMessage());
    }
  }

  /** Returns the format of the part of a transaction's id that an override's id must equal. */
  private IdFormat firstPartsOfOverrides() {
    if (!overridesByPrefix()) {
      return id;
    }
    List<IdFormat> first = id.parts().subList(0, overrideId.parts().size());
    return first.size() == 1 ? first.get(0) : IdFormat.joined(first.toArray(IdFormat[]::new));
  }

  /** Returns the id that an override must have to apply to a transaction's id. */
  String overrideKey(String canonicalId) {
    return overridesByPrefix() && id instanceof JoinedFormat joined
        ? joined.firstParts(canonicalId, overrideId.parts().size())
        : canonicalId;
  }

  private boolean overridesByPrefix() {
    return overrideId.parts().size() < id.parts().size();
  }

  /**
   * Returns the message for a denied client, without the time for a retry.
   *
   * @param quota the exceeded quota
   * @param canonicalId the denied id
   * @return the message with filled placeholders
   */
  public String denial(Quota quota, String canonicalId) {
    StringBuilder filled = new StringBuilder(message.length() + 32);
    for (int i = 0; i < placeholders.size(); i++) {
      filled.append(texts.get(i)).append(fill(placeholders.get(i), quota, canonicalId));
    }
    return filled.append(texts.get(placeholders.size())).toString();
  }

  private String fill(String placeholder, Quota quota, String canonicalId) {
    return switch (placeholder) {
      case "burst" -> Long.toString(quota.burst());
      case "count" -> Long.toString(quota.count());
      case "period" -> GoDuration.shortened(quota.period());
      case "goPeriod" -> GoDuration.format(quota.period());
      case "rate" -> rate(quota);
      case "id" -> SafeText.printable(canonicalId);
      default ->
          SafeText.printable(
              part(canonicalId, Integer.parseInt(placeholder.substring("id.".length()))));
    };
  }

  /** Describes a quota, such as "10 per 1m, 20 at once". */
  private static String rate(Quota quota) {
    String rate = quota.count() + " per " + GoDuration.shortened(quota.period());
    return quota.burst() == quota.count() ? rate : rate + ", " + quota.burst() + " at once";
  }

  /** Returns the n-th part of a joined id, counted from 1. */
  private String part(String canonicalId, int n) {
    if (!(id instanceof JoinedFormat joined)) {
      return canonicalId;
    }
    int start = n == 1 ? 0 : joined.prefix(canonicalId, n - 1).length() + 1;
    int end =
        n == id.parts().size() ? canonicalId.length() : joined.prefix(canonicalId, n).length();
    return canonicalId.substring(start, end);
  }

  /** Returns whether another limit has the same number, name, formats, texts and settings. */
  boolean describesLike(@Nullable LimitName that) {
    return that != null
        && equals(that)
        && id.equals(that.id)
        && overrideId.equals(that.overrideId)
        && overridesOnly == that.overridesOnly
        && disabledWithoutDefault == that.disabledWithoutDefault
        && message.equals(that.message)
        && Objects.equals(helpLink, that.helpLink)
        && Double.compare(jitter, that.jitter) == 0
        && longestWait.equals(that.longestWait);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof LimitName that && number == that.number && name.equals(that.name);
  }

  @Override
  public int hashCode() {
    return 31 * number + name.hashCode();
  }

  @Override
  public String toString() {
    return name;
  }

  /** Makes a {@link LimitName}. Not thread-safe. */
  public static final class Builder {
    private final int number;
    private final String name;
    private IdFormat id = IdFormat.string();
    private @Nullable IdFormat overrideId;
    private boolean overridesOnly;
    private boolean disabledWithoutDefault;
    private String message;
    private @Nullable String helpLink;
    private double jitter = DEFAULT_JITTER;
    private Duration longestWait = Duration.ZERO;

    private Builder(int number, String name) {
      if (!NAME.matcher(Objects.requireNonNull(name, "name")).matches()) {
        throw new IllegalArgumentException(
            "name: found %s, expected a letter, then up to 99 letters, digits, \"_\", \".\" or \"-\""
                .formatted(SafeText.quote(name)));
      }
      if (number == 0 && name.startsWith(START_OF_TRIALS)) {
        throw new IllegalArgumentException(
            "name: found %s, but the bucket keys of trials begin with \"%s\"; give the limit a number, or choose another name"
                .formatted(SafeText.quote(name), START_OF_TRIALS));
      }
      if (DOORS.containsValue(name) && !name.equals(DOORS.get(number))) {
        throw new IllegalArgumentException(
            "name: found %s, expected another name: Sluice's own limit has this name"
                .formatted(SafeText.quote(name)));
      }
      this.number = number;
      this.name = name;
      this.message = "denied: at most {rate} (" + name + ")";
    }

    /**
     * Sets the format of the ids; the default is {@code string}.
     *
     * @param format the format
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder id(IdFormat format) {
      this.id = Objects.requireNonNull(format, "format");
      return this;
    }

    /**
     * Sets the {@linkplain LimitName#overrideId format of the ids in overrides}.
     *
     * @param format the format
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder overrideId(IdFormat format) {
      this.overrideId = Objects.requireNonNull(format, "format");
      return this;
    }

    /**
     * Declares that the limit has overrides only, never a default.
     *
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder overridesOnly() {
      this.overridesOnly = true;
      return this;
    }

    /**
     * Declares that a missing default disables the limit, as in Boulder. Disable limits without a
     * default only if an existing contract requires it: if the default is forgotten, the limit
     * allows all requests.
     *
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder disabledWithoutDefault() {
      this.disabledWithoutDefault = true;
      return this;
    }

    /**
     * Sets the message for denied clients.
     *
     * @param template the text, which can have the placeholders {@code {rate}}, {@code {burst}},
     *     {@code {count}}, {@code {period}}, {@code {goPeriod}} (in Go's format, such as {@code
     *     1h0m0s}), {@code {id}}, and {@code {id.1}} to {@code {id.9}} for the parts of a joined id
     * @return this builder
     * @throws IllegalArgumentException for an unknown placeholder
     */
    @CanIgnoreReturnValue
    public Builder message(String template) {
      for (MatchResult placeholder :
          PLACEHOLDER.matcher(Objects.requireNonNull(template, "template")).results().toList()) {
        if (!KNOWN.matcher(placeholder.group(1)).matches()) {
          throw new IllegalArgumentException(
              "message: found %s, expected one of {burst}, {count}, {period}, {rate}, {id}, {id.1} …"
                  .formatted(placeholder.group()));
        }
      }
      this.message = template;
      return this;
    }

    /**
     * Sets the link to a page for denied clients.
     *
     * @param link an absolute link, such as {@code https://example.com/limits}
     * @return this builder
     * @throws IllegalArgumentException if the text is not an absolute link
     */
    @CanIgnoreReturnValue
    public Builder helpLink(String link) {
      if (!isLink(Objects.requireNonNull(link, "link"))) {
        throw new IllegalArgumentException(
            "helpLink: found %s, expected a link such as https://example.com/limits"
                .formatted(SafeText.quote(link)));
      }
      this.helpLink = link;
      return this;
    }

    private static boolean isLink(String text) {
      try {
        return new URI(text).isAbsolute();
      } catch (URISyntaxException e) {
        return false;
      }
    }

    /**
     * Sets the {@linkplain LimitName#jitter jitter}: the largest share of a wait that is randomly
     * added to the wait in a response. The default share is 0.03. Any share above 0 adds up to one
     * second to a {@code Retry-After} header.
     *
     * @param share a share from 0 (no jitter) to 1
     * @return this builder
     * @throws IllegalArgumentException if the share is out of range
     */
    @CanIgnoreReturnValue
    public Builder jitter(double share) {
      if (!(share >= 0 && share <= 1)) {
        throw new IllegalArgumentException(
            "jitter: found %s, expected a share from 0 to 1, such as 0.03".formatted(share));
      }
      this.jitter = share;
      return this;
    }

    /**
     * Allows callers to wait for tokens, up to a longest wait. By default no caller can wait.
     *
     * <p>A waiting caller has taken tokens before they refilled, so its bucket is overdrawn. Every
     * process that shares the buckets must know how far a bucket can be overdrawn: set the same
     * value in all of these processes, even in processes that never wait.
     *
     * @param longest 0 to about 292 years; choose the shortest duration that suffices, since after
     *     a limit was lowered, its buckets can stay in debt for this time
     * @return this builder
     * @throws IllegalArgumentException if the duration is out of range
     */
    @CanIgnoreReturnValue
    public Builder longestWait(Duration longest) {
      Objects.requireNonNull(longest, "longest");
      if (longest.isNegative() || longest.compareTo(Duration.ofNanos(Long.MAX_VALUE)) > 0) {
        throw new IllegalArgumentException(
            "longestWait: found " + longest + ", expected 0 to about 292 years, such as 30s");
      }
      this.longestWait = longest;
      return this;
    }

    /**
     * Makes the name.
     *
     * @return the name
     * @throws IllegalArgumentException if the format for overrides has more parts than the format
     *     of ids, or the message uses a part that ids do not have
     */
    public LimitName build() {
      LimitName built = new LimitName(this);
      List<MatchResult> placeholders = PLACEHOLDER.matcher(message).results().toList();
      for (MatchResult placeholder : placeholders) {
        String what = placeholder.group(1);
        if (what.startsWith("id.")
            && Integer.parseInt(what.substring("id.".length())) > id.parts().size()) {
          throw new IllegalArgumentException(
              "message: found %s, but ids of the form %s have only %s part(s)"
                  .formatted(placeholder.group(), id.name(), id.parts().size()));
        }
      }
      return built;
    }
  }
}
