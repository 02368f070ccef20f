// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** A request built from a method, a target, headers and addresses. Immutable and thread-safe. */
public final class PlainRequest implements WebRequest {

  private final String method;
  private final String sentPath;
  private final @Nullable String path;
  private final @Nullable String query;
  private final Map<String, List<String>> headers;
  private final @Nullable String peer;
  private final @Nullable String user;

  private PlainRequest(Builder builder) {
    this.method = builder.method;
    this.sentPath = builder.sentPath;
    this.path = builder.path;
    this.query = builder.query;
    this.headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    builder.headers.forEach((name, values) -> headers.put(name, List.copyOf(values)));
    this.peer = builder.peer;
    this.user = builder.user;
  }

  @Override
  public String method() {
    return method;
  }

  @Override
  public String path() {
    return paths().get(0);
  }

  /**
   * Returns {@linkplain WebPath#readingsOfAny all interpretations} of the target's path.
   *
   * @throws UnusableRequestException if applications could interpret the path in ways that {@link
   *     WebPath#readings} does not compute, or if the path is malformed
   */
  @Override
  public List<String> paths() {
    return path == null ? WebPath.readingsOfAny(sentPath) : List.of(path);
  }

  @Override
  public List<String> headers(String name) {
    return headers.getOrDefault(name, List.of());
  }

  @Override
  public Iterable<String> headerNames() {
    return headers.keySet();
  }

  @Override
  public List<String> cookies(String name) {
    List<String> values = new ArrayList<>();
    for (String line : headers("Cookie")) {
      eachCookie(
          line,
          (found, value) -> {
            if (found.equals(name)) {
              values.add(value);
            }
          });
    }
    return values;
  }

  /** Calls a consumer with the name and the value of each cookie in a header. */
  static void eachCookie(String header, BiConsumer<String, String> taker) {
    for (String pair : header.split(";", -1)) {
      int equals = pair.indexOf('=');
      if (equals >= 0) {
        taker.accept(
            pair.substring(0, equals).strip(), unquoted(pair.substring(equals + 1).strip()));
      }
    }
  }

  static String unquoted(String value) {
    boolean quoted = value.length() >= 2 && value.startsWith("\"") && value.endsWith("\"");
    return quoted ? value.substring(1, value.length() - 1) : value;
  }

  @Override
  public @Nullable String query() {
    return query;
  }

  @Override
  public @Nullable String peer() {
    return peer;
  }

  @Override
  public @Nullable String user() {
    return user;
  }

  /** Makes a {@link PlainRequest}. Not thread-safe. */
  public static final class Builder {
    private static final Pattern ABSOLUTE =
        Pattern.compile("[A-Za-z][A-Za-z0-9+.-]*://[^/?#\\\\]+");

    private final String method;
    private final String sentPath;
    private final @Nullable String query;
    private final Map<String, List<String>> headers = new TreeMap<>();
    private @Nullable String path;
    private @Nullable String peer;
    private @Nullable String user;

    Builder(String method, String target) {
      String relative = withoutHost(target);
      int question = relative.indexOf('?');
      this.method = method;
      this.sentPath = question < 0 ? relative : relative.substring(0, question);
      this.query = question < 0 ? null : relative.substring(question + 1);
    }

    /** Removes scheme and host from a target in absolute form, which clients send to proxies. */
    private static String withoutHost(String target) {
      Matcher absolute = ABSOLUTE.matcher(target);
      if (!absolute.lookingAt()) {
        return target;
      }
      String rest = target.substring(absolute.end());
      return rest.isEmpty() || rest.startsWith("?") ? "/" + rest : rest;
    }

    /**
     * Sets the only path of the request, which replaces the paths that are computed from the
     * target.
     *
     * @param normalized a path in the form of {@link WebRequest#path}, such as a result of {@link
     *     WebPath#readingsOfAny}
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder path(String normalized) {
      this.path = normalized;
      return this;
    }

    /**
     * Adds one line of a header.
     *
     * @param name the name, in upper, lower or mixed case
     * @param value the value
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder header(String name, String value) {
      headers.computeIfAbsent(name.toLowerCase(Locale.ROOT), lines -> new ArrayList<>()).add(value);
      return this;
    }

    /**
     * Sets the address that opened the connection; by default there is none.
     *
     * @param address an IP address
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder peer(@Nullable String address) {
      this.peer = address;
      return this;
    }

    /**
     * Sets the name of the authenticated user; by default there is none.
     *
     * @param name the name
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder user(@Nullable String name) {
      this.user = name;
      return this;
    }

    /**
     * Makes the request.
     *
     * @return the request
     */
    public PlainRequest build() {
      return new PlainRequest(this);
    }
  }
}
