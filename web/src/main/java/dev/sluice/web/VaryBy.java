// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.IpAddress;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The source of the id of a limit, or of a part of it.
 *
 * <p>A request without the value is refused with a 400, unless {@link #orSkip} or {@link #orId}
 * says otherwise: a client must not bypass a limit by omitting the value. A request with several
 * values (a header twice) is always refused, since it is unclear which one the application uses.
 *
 * <p>Clients choose headers, cookies and parameters: a client that invents a new value has a new
 * bucket. Use only verified values, and also limit by {@link #clientAddress}.
 *
 * <p>Immutable and thread-safe.
 */
public final class VaryBy {

  private static final Source METHOD = (facts, variables) -> List.of(facts.method());

  private final String what;
  private final Source source;
  private final @Nullable String pathVariable;
  private final boolean skips;
  private final @Nullable String standIn;
  private final @Nullable String sample;

  private VaryBy(
      String what,
      Source source,
      @Nullable String pathVariable,
      boolean skips,
      @Nullable String standIn,
      @Nullable String sample) {
    this.what = what;
    this.source = source;
    this.pathVariable = pathVariable;
    this.skips = skips;
    this.standIn = standIn;
    this.sample = sample;
  }

  private static VaryBy of(String what, Source source) {
    return new VaryBy(what, source, null, false, null, null);
  }

  /** Returns a copy of this source with another id, which has the same format. */
  private VaryBy like(String id) {
    return new VaryBy(what, source, pathVariable, skips, standIn, id);
  }

  /**
   * Varies by the client's address, as found and grouped by the filter's {@link ClientAddress}.
   *
   * @return for IPv6 the lowest address of the group
   */
  public static VaryBy clientAddress() {
    return of("the client's address", (facts, variables) -> one(text(facts.groupedAddress())));
  }

  /**
   * Varies by the range of the client's IPv6 address, in CIDR notation. A request from an IPv4
   * address skips the limit.
   *
   * @param bits the length of the mask, 1 to 128
   * @return for example {@code 2001:db8::/48}
   * @throws IllegalArgumentException for a length out of its range
   */
  public static VaryBy clientIpv6Range(int bits) {
    if (bits < 1 || bits > 128) {
      throw new IllegalArgumentException("bits: found " + bits + ", expected 1 to 128");
    }
    Source source =
        (facts, variables) -> {
          IpAddress address = facts.address();
          return address == null || address.isIpv4()
              ? List.of()
              : List.of(address.prefix(bits) + "/" + bits);
        };
    return of("the client's IPv6 range", source).like("::/" + bits).orSkip();
  }

  /**
   * Varies by a header of the request. An {@code Authorization} counts by its scheme, in any case,
   * and its credentials. An address counts without a port behind it.
   *
   * @param name the header's name
   * @return its value
   * @throws IllegalArgumentException for a name that no header can have
   */
  public static VaryBy header(String name) {
    if (!Refusal.HEADER_NAME.matcher(Objects.requireNonNull(name, "name")).matches()) {
      throw new IllegalArgumentException(
          "header: found the name %s, expected one such as X-Api-Key"
              .formatted(SafeText.quote(name)));
    }
    return of(
        "the header " + name,
        (facts, variables) ->
            facts.headers(name).stream()
                .map(value -> ForwardedNode.withoutPort(name, value))
                .toList());
  }

  /**
   * Varies by a cookie. A value with a percent sign, a plus or a backslash is charged in each way
   * in which applications read it.
   *
   * @param name the cookie's name
   * @return its value
   */
  public static VaryBy cookie(String name) {
    return of("the cookie " + name, (facts, variables) -> facts.cookies(name));
  }

  /**
   * Varies by a query parameter of the URL. The request's body is not read. A plus is charged both
   * as a space and as a plus, since applications differ.
   *
   * @param name the parameter's name
   * @return its value
   */
  public static VaryBy queryParameter(String name) {
    return of("the query parameter " + name, (facts, variables) -> facts.parameters(name));
  }

  /**
   * Varies by a variable of the rule's path pattern.
   *
   * @param name the variable's name, without braces
   * @return its value
   */
  public static VaryBy pathVariable(String name) {
    return new VaryBy(
        "the path variable " + name,
        (facts, variables) -> one(variables.get(name)),
        name,
        false,
        null,
        null);
  }

  /**
   * Varies by the logged-in user. Put the filter behind the one that authenticates.
   *
   * @return the name of the request's principal
   */
  public static VaryBy principal() {
    return of("the principal", (facts, variables) -> one(facts.request().user()));
  }

  /**
   * Varies by the path below the application's prefix. Clients choose the path: a client that
   * requests random paths creates a new bucket with each. Use it only if the rule names the paths,
   * and also limit by {@link #clientAddress}.
   *
   * @return the path without empty segments
   */
  public static VaryBy path() {
    return of("the path", (facts, variables) -> List.of(facts.pathText()));
  }

  /**
   * Varies by the request's method.
   *
   * @return the method in upper case
   */
  public static VaryBy method() {
    return of("the method", METHOD);
  }

  /**
   * Uses one bucket for all requests.
   *
   * @param id the bucket's id
   * @return the id, whatever the request
   */
  public static VaryBy constant(String id) {
    return of("the constant " + id, (facts, variables) -> List.of(id)).like(id);
  }

  /**
   * Varies by a function of the request.
   *
   * @param what the name of the value for a client that lacks it, such as "the tenant"
   * @param function returns the value, or null if the request has none; must be thread-safe
   * @return its value
   */
  public static VaryBy function(String what, Function<WebRequest, @Nullable String> function) {
    return of(what, (facts, variables) -> one(function.apply(facts.request())));
  }

  /**
   * Returns this source, but a request without the value skips the limit.
   *
   * @return a new source
   */
  public VaryBy orSkip() {
    return new VaryBy(what, source, pathVariable, true, null, sample);
  }

  /**
   * Returns this source, but all requests without the value share one bucket.
   *
   * @param id the id that stands in for the value, valid in the limit's format
   * @return a new source
   */
  public VaryBy orId(String id) {
    return new VaryBy(what, source, pathVariable, false, id, sample);
  }

  /**
   * Returns the path variable that a rule's pattern must have.
   *
   * @return its name; null for none
   */
  public @Nullable String pathVariable() {
    return pathVariable;
  }

  /** Whether the value is the method, which a request may override. */
  boolean isMethod() {
    return source == METHOD;
  }

  /** Returns the ids that are known without a request, to check them against the limit's format. */
  List<String> known() {
    return Stream.of(standIn, sample)
        .filter(Objects::nonNull)
        .map(Objects::requireNonNull)
        .toList();
  }

  /**
   * Returns the value of a request.
   *
   * @param facts the request
   * @param variables the values of the path variables, by name
   * @return the value; null if the request skips the limit
   * @throws UnusableRequestException if the request lacks the value, or has several
   */
  public @Nullable String value(RequestFacts facts, Map<String, String> variables) {
    List<String> values = source.values(facts, variables);
    if (values.size() > 1) {
      throw new UnusableRequestException(
          "found %s %s times, expected it once".formatted(what, values.size()));
    }
    if (values.size() == 1 && !values.get(0).isEmpty()) {
      return values.get(0);
    }
    if (standIn == null && !skips) {
      throw new UnusableRequestException(
          "the request lacks %s, by which it is limited".formatted(what));
    }
    return standIn;
  }

  @Override
  public String toString() {
    return what;
  }

  private static List<String> one(@Nullable String value) {
    return value == null ? List.of() : List.of(value);
  }

  private static @Nullable String text(@Nullable IpAddress address) {
    return address == null ? null : Objects.toString(address);
  }

  private interface Source {
    List<String> values(RequestFacts facts, Map<String, String> pathVariables);
  }
}
