// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.internal.text.Suggestion;
import dev.sluice.internal.text.Utf8;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The parsed address of a store. Immutable; never shows its password.
 *
 * @param kind the kind of store, by the URI's scheme
 * @param hosts the hosts, at least one; exactly one for {@link Kind#SINGLE}
 * @param database the number of the logical database
 * @param master the name of the master in Sentinel; only for {@link Kind#SENTINEL}
 * @param options the options after "?"
 */
record StoreUri(
    Kind kind,
    List<Host> hosts,
    @Nullable String user,
    @Nullable String password,
    int database,
    @Nullable String master,
    Map<String, String> options) {

  enum Kind {
    SINGLE("redis"),
    SINGLE_TLS("rediss"),
    SENTINEL("redis-sentinel"),
    CLUSTER("redis-cluster"),
    RING("redis-ring");

    private final String scheme;

    Kind(String scheme) {
      this.scheme = scheme;
    }

    private static List<String> schemes() {
      return Stream.of(values()).map(kind -> kind.scheme).toList();
    }
  }

  record Host(String name, int port) {
    @Override
    public String toString() {
      return (name.contains(":") ? "[" + name + "]" : name) + ":" + port;
    }
  }

  private static final Pattern SEVERAL_HOSTS = Pattern.compile("[^/?#]*//[^/?#]*,[^/?#]*");
  private static final int REDIS_PORT = 6379;
  private static final int SENTINEL_PORT = 26379;

  /**
   * A message that quotes no part of the address, since the text before or after the host can be a
   * part of a password.
   */
  private static final String AT_IN_THE_WRONG_PLACE =
      "store: found an @ after the host; percent-encode the user and the password:"
          + " / as %2F, ? as %3F, # as %23, and an @ in an option as %40";

  /**
   * A message that quotes no part of the address, since the text between the two @ can be a part of
   * a password.
   */
  private static final String AT_TWICE =
      "store: found an @ twice before a host; write user and password once, before the first"
          + " host, and write an @ in them as %40";

  /** The option with a secret, whose value no message may quote. */
  static final String SENTINEL_PASSWORD = "sentinelPassword";

  /**
   * Parses an address. Unlike a message of {@link URI}, the messages of this method never contain
   * the password.
   */
  static StoreUri parse(String address) {
    try {
      // java.net.URI accepts brackets only around its only host.
      Matcher several = SEVERAL_HOSTS.matcher(address);
      return parse(
          new URI(
              several.lookingAt()
                  ? several.group().replace("[", "%5B").replace("]", "%5D")
                      + address.substring(several.end())
                  : address));
    } catch (
        URISyntaxException e) { // the cause is dropped, since its message quotes the whole address
      String scheme =
          Kind.schemes().stream()
              .filter(known -> address.startsWith(known + ":"))
              .findFirst()
              .orElse(Kind.SINGLE.scheme);
      throw new IllegalArgumentException(
          "store: the address is not a URI (%s at character %s), expected %s://host:port; percent-encode the user and the password"
              .formatted(e.getReason(), e.getIndex() + 1, scheme));
    }
  }

  private static StoreUri parse(URI uri) {
    Kind kind = kind(uri);
    String authority = uri.getRawAuthority();
    if (authority == null) {
      throw bad(uri, "no host", "%s://host:port".formatted(kind.scheme));
    }
    if (hasAt(uri.getRawPath()) || hasAt(uri.getRawQuery()) || hasAt(uri.getRawFragment())) {
      throw new IllegalArgumentException(AT_IN_THE_WRONG_PLACE);
    }
    int at = authority.lastIndexOf('@');
    if (at != authority.indexOf('@')) {
      throw new IllegalArgumentException(AT_TWICE);
    }
    String[] credentials = at < 0 ? new String[0] : authority.substring(0, at).split(":", 2);
    String user = credentials.length == 2 ? Utf8.ofPercentEncoding(credentials[0]) : null;
    String password =
        credentials.length == 0
            ? null
            : Utf8.ofPercentEncoding(credentials[credentials.length - 1]);
    List<Host> hosts = new ArrayList<>();
    String listed = authority.substring(at + 1).replace("%5B", "[").replace("%5D", "]");
    for (String host : listed.split(",", -1)) {
      hosts.add(host(kind, host));
    }
    if ((kind == Kind.SINGLE || kind == Kind.SINGLE_TLS) && hosts.size() > 1) {
      throw bad(
          uri,
          hosts.size() + " hosts",
          "one host (several need redis-sentinel, redis-cluster or redis-ring)");
    }
    String master = uri.getFragment();
    if (kind == Kind.SENTINEL && (master == null || master.isEmpty())) {
      throw bad(
          uri,
          "an address without the master's name",
          "the master's name at the end, as in redis-sentinel://host:port/0#mymaster");
    }
    if (kind != Kind.SENTINEL && master != null) {
      throw bad(uri, "#" + master, "no fragment; only a redis-sentinel address has a fragment");
    }
    int database = database(uri);
    if (kind == Kind.CLUSTER && database != 0) {
      throw bad(uri, "database " + database, "0, the only database of a Cluster");
    }
    return new StoreUri(
        kind,
        List.copyOf(hosts),
        user == null || user.isEmpty() ? null : user,
        password,
        database,
        master,
        options(uri));
  }

  private static boolean hasAt(@Nullable String part) {
    return part != null && part.indexOf('@') >= 0;
  }

  private static Kind kind(URI uri) {
    String scheme = String.valueOf(uri.getScheme()).toLowerCase(Locale.ROOT);
    for (Kind kind : Kind.values()) {
      if (kind.scheme.equals(scheme)) {
        return kind;
      }
    }
    List<String> known = Kind.schemes();
    throw bad(
        uri,
        "scheme \"" + scheme + "\"",
        "one of %s, as in redis://localhost:6379%s"
            .formatted(known, Suggestion.didYouMean(scheme, known)));
  }

  private static Host host(Kind kind, String text) {
    int colon = text.lastIndexOf(':');
    boolean hasPort = colon > text.lastIndexOf(']');
    String name = hasPort ? text.substring(0, colon) : text;
    if (name.startsWith("[") && name.endsWith("]")) {
      name = name.substring(1, name.length() - 1);
    }
    if (name.isEmpty()) {
      throw new IllegalArgumentException( // the message omits the text, which can be a password
          "store %s://…: found an empty host, expected host:port, separated by commas"
              .formatted(kind.scheme));
    }
    int port = kind == Kind.SENTINEL ? SENTINEL_PORT : REDIS_PORT;
    if (hasPort) {
      port = port(kind, name, text.substring(colon + 1));
    }
    return new Host(name, port);
  }

  /**
   * Parses the port. If the host is missing, the text of the port can be a password, so the message
   * does not quote this text.
   */
  private static int port(Kind kind, String host, String text) {
    try {
      int port = Integer.parseInt(text);
      if (port > 0 && port <= 65535) {
        return port;
      }
    } catch (NumberFormatException e) {
      // The exception after this block reports the wrong port.
    }
    throw new IllegalArgumentException(
        "store %s://…: found no port after \"%s:\", expected a whole number from 1 to 65535 (or, after a password, an @ and the host)"
            .formatted(kind.scheme, host));
  }

  private static int database(URI uri) {
    String path = uri.getPath();
    return path == null || path.isEmpty() || path.equals("/")
        ? 0
        : number(uri, "database", path.substring(1), Integer.MAX_VALUE);
  }

  private static int number(URI uri, String what, String text, int most) {
    try {
      int number = Integer.parseInt(text);
      if (number >= 0 && number <= most) {
        return number;
      }
    } catch (NumberFormatException e) {
      // The exception after this block reports the wrong number.
    }
    throw bad(uri, what + " \"" + text + "\"", "a whole number from 0 to " + most);
  }

  private static Map<String, String> options(URI uri) {
    Map<String, String> options = new LinkedHashMap<>();
    String query = uri.getRawQuery();
    if (query == null || query.isEmpty()) {
      return options;
    }
    for (String pair : query.split("&", -1)) {
      String[] sides = pair.split("=", 2);
      if (sides.length < 2) {
        String found =
            options.containsKey(SENTINEL_PASSWORD)
                ? "an option without ="
                : "\"" + pair + "\" after the question mark";
        throw bad(uri, found, "name=value (an & in a value is written %26)");
      }
      if (options.put(Utf8.ofPercentEncoding(sides[0]), Utf8.ofPercentEncoding(sides[1])) != null) {
        throw bad(uri, "option " + sides[0] + " twice", "each option once");
      }
    }
    return options;
  }

  private static IllegalArgumentException bad(URI uri, String found, String expected) {
    return new IllegalArgumentException(
        "store %s: found %s, expected %s".formatted(withoutPassword(uri), found, expected));
  }

  /**
   * Returns the address without its password and without its options, which can contain another
   * password.
   */
  private static String withoutPassword(URI uri) {
    String text = uri.toString().split("[?]", 2)[0];
    int start = text.indexOf("://");
    int at = text.lastIndexOf('@');
    return at < start || at < 0
        ? text
        : text.substring(0, start < 0 ? 0 : start + 3) + "…" + text.substring(at);
  }

  StoreUri withLogin(String otherUser, String otherPassword) {
    return new StoreUri(kind, hosts, otherUser, otherPassword, database, master, options);
  }

  boolean isSeveralServers() {
    return kind == Kind.CLUSTER || (kind == Kind.RING && hosts.size() > 1);
  }

  String hostList() {
    return String.join(",", hosts.stream().map(Host::toString).toList());
  }

  /** Returns the address without user, password and options. */
  @Override
  public String toString() {
    return kind.scheme + "://" + hostList() + "/" + database + (master == null ? "" : "#" + master);
  }
}
