// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.text.GoDuration;
import dev.sluice.text.SafeText;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The name of a limit and all that belongs to it. That is a name for people, a number for bucket
 * keys, the form of its ids, and what a denied client is told.
 *
 * <p>Immutable and thread-safe. Two names are equal if number and name are.
 */
public final class LimitName {

  private static final Pattern NAME = Pattern.compile("[A-Za-z][A-Za-z0-9_.-]{0,99}");
  private static final Pattern PLACEHOLDER = Pattern.compile("\\{([^{}]*)}");
  private static final double DEFAULT_JITTER = 0.03;
  private static final Pattern KNOWN =
      Pattern.compile("burst|count|period|goPeriod|rate|id|id\\.[1-9]");

  private final int number;
  private final String name;
  private final IdFormat id;
  private final IdFormat overrideId;
  private final boolean overridesOnly;
  private final boolean disabledWithoutDefault;
  private final String message;
  private final @Nullable String helpLink;
  private final double jitter;
  private final Duration longestWait;

  private LimitName(Builder builder) {
    this.number = builder.number;
    this.name = builder.name;
    this.id = builder.id;
    this.overrideId = builder.overrideId == null ? builder.id : builder.overrideId;
    this.overridesOnly = builder.overridesOnly;
    this.disabledWithoutDefault = builder.disabledWithoutDefault;
    this.message = builder.message;
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
   * Starts a name.
   *
   * @param number stands in bucket keys and must never change, at least 1
   * @param name a letter, then up to 99 letters, digits, "_", "." or "-"
   * @return a builder
   * @throws IllegalArgumentException for a number or name out of these rules
   */
  public static Builder builder(int number, String name) {
    return new Builder(number, name);
  }

  /**
   * The number that stands in bucket keys.
   *
   * @return at least 1
   */
  public int number() {
    return number;
  }

  /**
   * The name that people use.
   *
   * @return the name
   */
  public String name() {
    return name;
  }

  /**
   * The form of an id in a transaction.
   *
   * @return the format
   */
  public IdFormat id() {
    return id;
  }

  /**
   * The form of an id in an override. It may be another spelling of the transaction's, or its first
   * parts: then an override holds for every id that starts with them.
   *
   * @return the format, that of the transaction unless declared otherwise
   */
  public IdFormat overrideId() {
    return overrideId;
  }

  /**
   * Returns whether the name has no default: one in a file is ignored, only overrides count.
   *
   * @return false unless declared
   */
  public boolean overridesOnly() {
    return overridesOnly;
  }

  /**
   * Returns whether the limit is disabled for an id that has neither a default nor an override: the
   * id is allowed, and nothing is stored. Requests for such an id of any other limit are refused.
   *
   * @return true if declared so, and for a name that has {@linkplain #overridesOnly overrides only}
   */
  public boolean disabledWithoutDefault() {
    return disabledWithoutDefault || overridesOnly;
  }

  /**
   * Returns the message for a denied client, with its placeholders as they were declared.
   *
   * @return the text; {@link #denial} fills it in
   */
  public String message() {
    return message;
  }

  /**
   * Returns the page where a denied client can read more.
   *
   * @return a link, or null
   */
  public @Nullable String helpLink() {
    return helpLink;
  }

  /**
   * Returns the largest share of a wait that is added to it when a client is told, so that clients
   * don't come back together. Any share but 0 adds up to one second to a {@code Retry-After}
   * header, which has no parts of one.
   *
   * @return a share from 0 to 1, 0.03 unless declared otherwise
   */
  public double jitter() {
    return jitter;
  }

  /**
   * The longest that a caller may wait for tokens of this limit, in any process that shares its
   * buckets.
   *
   * @return zero, where nobody may wait, unless declared otherwise
   */
  public Duration longestWait() {
    return longestWait;
  }

  /**
   * The key of a bucket.
   *
   * @param canonicalId an id that {@link #id} has made canonical
   * @return number, ":" and id
   */
  public String bucketKey(String canonicalId) {
    return number + ":" + canonicalId;
  }

  /**
   * The key for an id as somebody writes it in an override file or on a command line.
   *
   * <p>Where an override names only the first parts of an id, both forms are understood. An id that
   * is counted together with others, such as a name below a registered domain, gives the key of
   * them all.
   *
   * @param text the id
   * @param strictness whether a text that is not canonical already is refused
   * @return number, ":" and the canonical id
   * @throws InvalidIdException if the text is of neither form
   */
  public String keyOf(String text, Strictness strictness) {
    boolean whole = overridesByPrefix() && text.indexOf(':') >= 0;
    IdFormat format = whole ? id : overrideId;
    return bucketKey(format.widened(format.canonical(text, strictness)));
  }

  /**
   * The id of an override that is kept under a bucket key, as a table of overrides keeps it: the
   * other way of {@link #bucketKey}.
   *
   * @param bucketKey number, ":" and the canonical id of an override
   * @return the id
   * @throws InvalidIdException if the key has another number, or an id that is not canonical
   */
  public String overrideIdOf(String bucketKey) {
    // Where an override's id is only spelled differently, its key has the transaction's spelling.
    return idOf(bucketKey, overridesByPrefix() ? overrideId : id);
  }

  /**
   * The id of the transactions that spend from the bucket of a key, as a table of penalties keeps
   * it: the other way of {@link #bucketKey}.
   *
   * @param bucketKey number, ":" and the canonical id of a transaction
   * @return the id
   * @throws InvalidIdException if the key has another number, or an id that is not canonical
   */
  public String idOf(String bucketKey) {
    return idOf(bucketKey, id);
  }

  private String idOf(String bucketKey, IdFormat form) {
    String prefix = number + ":";
    if (!bucketKey.startsWith(prefix)) {
      throw new InvalidIdException(
          "found the bucket key %s, expected one of %s, which starts with %s"
              .formatted(SafeText.quote(bucketKey), name, SafeText.quote(prefix)));
    }
    String found = bucketKey.substring(prefix.length());
    String canonical = form.canonical(found, Strictness.LENIENT);
    if (!canonical.equals(found)) {
      throw new InvalidIdException(
          "found the bucket key %s, expected its canonical form %s"
              .formatted(SafeText.quote(bucketKey), SafeText.quote(bucketKey(canonical))));
    }
    return found;
  }

  /** The id under which an override for a transaction's id would be filed. */
  String overrideKey(String canonicalId) {
    return overridesByPrefix() && id instanceof JoinedFormat joined
        ? joined.prefix(canonicalId, overrideId.parts().size())
        : canonicalId;
  }

  private boolean overridesByPrefix() {
    return overrideId.parts().size() < id.parts().size();
  }

  /**
   * Returns the message for a denied client, without the time to come back.
   *
   * @param quota the limit that denied
   * @param canonicalId the id that was denied
   * @return the message with its placeholders filled in
   */
  public String denial(Quota quota, String canonicalId) {
    return PLACEHOLDER
        .matcher(message)
        .replaceAll(m -> Matcher.quoteReplacement(fill(m, quota, canonicalId)));
  }

  private String fill(MatchResult placeholder, Quota quota, String canonicalId) {
    String what = placeholder.group(1);
    return switch (what) {
      case "burst" -> Long.toString(quota.burst());
      case "count" -> Long.toString(quota.count());
      case "period" -> GoDuration.shortened(quota.period());
      case "goPeriod" -> GoDuration.format(quota.period());
      case "rate" -> rate(quota);
      case "id" -> SafeText.printable(canonicalId);
      default ->
          SafeText.printable(part(canonicalId, Integer.parseInt(what.substring("id.".length()))));
    };
  }

  /** What the quota lets through, in words that hold whatever was asked before. */
  private static String rate(Quota quota) {
    String rate = quota.count() + " per " + GoDuration.shortened(quota.period());
    return quota.burst() == quota.count() ? rate : rate + ", " + quota.burst() + " at once";
  }

  /** The n-th part of a joined id, from 1; the last one with all that follows. */
  private String part(String canonicalId, int n) {
    if (!(id instanceof JoinedFormat joined)) {
      return canonicalId;
    }
    int start = n == 1 ? 0 : joined.prefix(canonicalId, n - 1).length() + 1;
    int end =
        n == id.parts().size() ? canonicalId.length() : joined.prefix(canonicalId, n).length();
    return canonicalId.substring(start, end);
  }

  /** Whether another name has the same form of ids and the same texts too. */
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
      if (number < 1) {
        throw new IllegalArgumentException("number: found " + number + ", expected at least 1");
      }
      if (!NAME.matcher(Objects.requireNonNull(name, "name")).matches()) {
        throw new IllegalArgumentException(
            "name: found %s, expected a letter, then up to 99 letters, digits, \"_\", \".\" or \"-\""
                .formatted(SafeText.quote(name)));
      }
      this.number = number;
      this.name = name;
      this.message = "denied: at most {rate} (" + name + ")";
    }

    /**
     * Sets the form of the ids; {@code string} if not called.
     *
     * @param format the form
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder id(IdFormat format) {
      this.id = format;
      return this;
    }

    /**
     * Sets another form for the ids of overrides: another spelling of the same, or the first parts.
     *
     * @param format the form
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder overrideId(IdFormat format) {
      this.overrideId = format;
      return this;
    }

    /**
     * Declares that the limit has overrides only, never a default.
     *
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder overridesOnly() {
      this.overridesOnly = true;
      return this;
    }

    /**
     * Declares that a missing default disables the limit, as in Boulder. Only for limits that
     * somebody else's contract says so of: a forgotten line then opens the limit.
     *
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder disabledWithoutDefault() {
      this.disabledWithoutDefault = true;
      return this;
    }

    /**
     * Sets what a denied client is told.
     *
     * @param template the text; {@code {rate}}, {@code {burst}}, {@code {count}}, {@code {period}},
     *     {@code {goPeriod}} (as Go prints it: {@code 1h0m0s}), {@code {id}} and, for a part of a
     *     joined id, {@code {id.1}} to {@code {id.9}} are filled in
     * @return this
     * @throws IllegalArgumentException for any other placeholder
     */
    @CanIgnoreReturnValue
    public Builder message(String template) {
      for (MatchResult placeholder : PLACEHOLDER.matcher(template).results().toList()) {
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
     * Sets where a denied client can read more.
     *
     * @param link a link, not empty
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder helpLink(String link) {
      this.helpLink = link;
      return this;
    }

    /**
     * Sets how much of a wait is at most added to it when a client is told; 0.03 if not called. Any
     * share but 0 adds up to one second to a {@code Retry-After} header.
     *
     * @param share from 0 (none) to 1
     * @return this
     * @throws IllegalArgumentException for any other share
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
     * Allows callers to wait for tokens, and says how long at most; nobody may wait if not called.
     *
     * <p>A caller that waits has taken tokens that are still to come, so its bucket holds less than
     * nothing. Every process that shares the buckets must know how much less is right: give them
     * all the same value, also those that never wait.
     *
     * @param longest 0 to about 292 years: the longest wait that any caller needs, and no longer.
     *     After a limit shrank, a bucket may be in debt for that time
     * @return this
     * @throws IllegalArgumentException for a duration out of its range
     */
    @CanIgnoreReturnValue
    public Builder longestWait(Duration longest) {
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
     * @throws IllegalArgumentException if the override's id has more parts than the id, or the
     *     message asks for a part that the id has not
     */
    public LimitName build() {
      LimitName built = new LimitName(this);
      List<MatchResult> placeholders = PLACEHOLDER.matcher(message).results().toList();
      for (MatchResult placeholder : placeholders) {
        String what = placeholder.group(1);
        if (what.startsWith("id.")
            && Integer.parseInt(what.substring("id.".length())) > id.parts().size()) {
          throw new IllegalArgumentException(
              "message: found %s, but an id of the form %s has %s part(s)"
                  .formatted(placeholder.group(), id.name(), id.parts().size()));
        }
      }
      return built;
    }
  }
}
