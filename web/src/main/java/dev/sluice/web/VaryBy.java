// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.IpAddress;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The source of the id of a limit, or of a part of the id.
 *
 * <p>A request without the value is refused with a 400, unless {@link #orSkip} or {@link #orId} is
 * used: a client must not bypass a limit by omitting the value. A request with several values, such
 * as a header twice, is always refused, since it is unclear which value the application uses.
 *
 * <p>Clients choose headers, cookies and parameters: a client that sends a new value gets a new
 * bucket. Use only values that the application verifies, and also limit by {@link #clientAddress}.
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
  private final @Nullable Sample sample;

  private VaryBy(
      String what,
      Source source,
      @Nullable String pathVariable,
      boolean skips,
      @Nullable String standIn,
      @Nullable Sample sample) {
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

  /** Returns a copy of this source with a sample id, for checks of the id's format. */
  private VaryBy like(String id) {
    return new VaryBy(what, source, pathVariable, skips, standIn, new Sample(id, true));
  }

  /**
   * As {@link #like}, where a format that is not built in may refuse the sample but not all ids.
   */
  private VaryBy oftenLike(String id) {
    return new VaryBy(what, source, pathVariable, skips, standIn, new Sample(id, false));
  }

  /**
   * Varies by the client's address, which the filter's {@link ClientAddress} finds and groups.
   *
   * @return a source that uses the address as the id; for IPv6, the lowest address of the group
   */
  public static VaryBy clientAddress() {
    return of("the client's address", (facts, variables) -> one(text(facts.groupedAddress())))
        .oftenLike("192.0.2.1");
  }

  /**
   * Varies by the range of the client's IPv6 address, in CIDR notation. A request from an IPv4
   * address skips the limit.
   *
   * @param bits the number of bits in the prefix, 1 to 128
   * @return a source whose ids are ranges such as {@code 2001:db8::/48}
   * @throws IllegalArgumentException if the number is out of range
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
   * Varies by a header of the request. In the header {@code Authorization}, the case of the scheme
   * is ignored. If the value is an IP address with a port, the port is ignored. In a limit with ids
   * of the format {@code ipAddress}, an address is grouped as by {@link #clientAddress}.
   *
   * @param name the header's name
   * @return a source that uses the header's value as the id
   * @throws IllegalArgumentException if HTTP does not allow the name
   */
  public static VaryBy header(String name) {
    if (!Refusal.HEADER_NAME.matcher(Objects.requireNonNull(name, "name")).matches()) {
      throw new IllegalArgumentException(
          "header: found the name %s, expected a name such as X-Api-Key"
              .formatted(SafeText.quote(name)));
    }
    return of(
        "the header " + name,
        (Sent)
            (facts, variables) ->
                facts.headers(name).stream()
                    .map(value -> ForwardedNode.withoutPort(name, value))
                    .toList());
  }

  /**
   * Varies by a cookie. If the value has a percent sign, a plus sign or a backslash, the request is
   * charged once for each way in which applications decode the value. Addresses are grouped as in
   * {@link #header}.
   *
   * @param name the cookie's name
   * @return a source that uses the cookie's value as the id
   */
  public static VaryBy cookie(String name) {
    Objects.requireNonNull(name, "name");
    return of("the cookie " + name, (Sent) (facts, variables) -> facts.cookies(name));
  }

  /**
   * Varies by a query parameter of the URL. The request's body is not read. If the value has a plus
   * sign, the request is charged for both meanings, a space and a plus sign, since applications
   * differ. Addresses are grouped as in {@link #header}.
   *
   * @param name the parameter's name
   * @return a source that uses the parameter's value as the id
   */
  public static VaryBy queryParameter(String name) {
    Objects.requireNonNull(name, "name");
    return of("the query parameter " + name, (Sent) (facts, variables) -> facts.parameters(name));
  }

  /**
   * Varies by a variable of the rule's path pattern.
   *
   * @param name the variable's name, without braces
   * @return a source that uses the variable's value as the id
   */
  public static VaryBy pathVariable(String name) {
    return new VaryBy(
        "the path variable " + Objects.requireNonNull(name, "name"),
        (facts, variables) -> one(variables.get(name)),
        name,
        false,
        null,
        null);
  }

  /**
   * Varies by the logged-in user. Place the limiter's filter after the authentication filter.
   *
   * @return a source that uses the name of the request's principal as the id
   */
  public static VaryBy principal() {
    return of("the principal", (facts, variables) -> one(facts.request().user()));
  }

  /**
   * Varies by the path, relative to the application's context path. Clients choose the path: a
   * client that requests random paths creates a new bucket with each request. Use this source only
   * if the rule has exact paths, and also limit by {@link #clientAddress}.
   *
   * @return a source that uses the path, without empty segments, as the id
   */
  public static VaryBy path() {
    return of("the path", (facts, variables) -> List.of(facts.pathText())).oftenLike("/");
  }

  /**
   * Varies by the request's method.
   *
   * @return a source that uses the method, in upper case, as the id
   */
  public static VaryBy method() {
    return of("the method", METHOD).oftenLike("GET");
  }

  /**
   * Uses one bucket for all requests.
   *
   * @param id the bucket's id
   * @return a source that uses the given id for every request
   */
  public static VaryBy constant(String id) {
    Objects.requireNonNull(id, "id");
    return of("the constant " + id, (facts, variables) -> List.of(id)).like(id);
  }

  /**
   * Varies by a function of the request.
   *
   * @param what a description of the value for the error message if the value is missing, such as
   *     "the tenant"
   * @param function returns the value, or null if the request has none; must be thread-safe. A
   *     filter does not catch the function's exceptions, unless the rule is a shadow rule
   * @return a source that uses the function's value as the id
   */
  public static VaryBy function(String what, Function<WebRequest, @Nullable String> function) {
    Objects.requireNonNull(what, "what");
    Objects.requireNonNull(function, "function");
    return of(what, (facts, variables) -> one(function.apply(facts.request())));
  }

  /**
   * Returns a copy of this source with which a request without the value skips the limit.
   *
   * @return a new source
   */
  public VaryBy orSkip() {
    return new VaryBy(what, source, pathVariable, true, null, sample);
  }

  /**
   * Returns a copy of this source with which all requests without the value share one bucket.
   *
   * @param id the id for requests without the value, valid in the limit's format
   * @return a new source
   */
  public VaryBy orId(String id) {
    return new VaryBy(what, source, pathVariable, false, Objects.requireNonNull(id, "id"), sample);
  }

  /**
   * Returns the path variable that the patterns of a rule must have.
   *
   * @return the variable's name; null if this source needs no variable
   */
  public @Nullable String pathVariable() {
    return pathVariable;
  }

  /** Returns whether the value is the method, which a request can override. */
  boolean isMethod() {
    return source == METHOD;
  }

  /**
   * Returns the source for an id, or a part of an id, of a format.
   *
   * @param format the format
   * @return this source; if the format is {@link IdFormat#ipAddress()} and clients send the value,
   *     a source that groups addresses in the same way as {@link #clientAddress}
   */
  public VaryBy in(IdFormat format) {
    return source instanceof Sent && format.equals(IdFormat.ipAddress())
        ? new VaryBy(
            what,
            (facts, variables) ->
                source.values(facts, variables).stream().map(facts::grouped).toList(),
            pathVariable,
            skips,
            standIn,
            sample)
        : this;
  }

  /**
   * Checks whether this source's ids can have a format, as far as this is known without a request.
   * If the format is not built in, this does not check {@link #clientAddress}, {@link #path} and
   * {@link #method}.
   *
   * @param format the format of the limit's ids, or of the part of the id that this source supplies
   * @throws dev.sluice.limit.InvalidRequestException.InvalidIdException if the ids do not have the
   *     format
   */
  public void requireFits(IdFormat format) {
    if (standIn != null) {
      var unused = format.canonical(standIn, Strictness.LENIENT);
    }
    if (sample != null && (sample.ofEachFormat() || IdFormat.Registry.builtIn().contains(format))) {
      var unused = format.canonical(sample.id(), Strictness.LENIENT);
    }
  }

  /** An example of a source's ids, and whether each format of the ids must accept it. */
  private record Sample(String id, boolean ofEachFormat) {}

  /**
   * Returns this source's value in a request.
   *
   * @param facts the request
   * @param variables the values of the path variables, by name
   * @return the value; null if the request skips the limit
   * @throws UnusableRequestException if the request has no value or several values
   */
  public @Nullable String value(RequestFacts facts, Map<String, String> variables) {
    List<String> values = source.values(facts, variables);
    if (values.size() > 1) {
      throw new UnusableRequestException(
          "the request has %s %s times; send it once".formatted(what, values.size()));
    }
    if (values.size() == 1 && !values.get(0).isEmpty()) {
      return values.get(0);
    }
    if (standIn == null && !skips) {
      throw new UnusableRequestException(
          "the request lacks %s, which a limit needs".formatted(what));
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

  /** A source whose values clients send in a header, a cookie or the query. */
  private interface Sent extends Source {}
}
