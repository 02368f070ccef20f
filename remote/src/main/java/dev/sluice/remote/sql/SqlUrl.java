// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote.sql;

import dev.sluice.internal.text.Suggestion;
import dev.sluice.internal.text.Utf8;
import java.net.URI;
import java.net.URISyntaxException;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The URL of a database: {@code scheme://user:password@host:port,host/database?option=…}.
 *
 * @param rest the part of the URL after {@code scheme:}, without the user
 * @param user the decoded user
 * @param password the decoded password
 */
public record SqlUrl(String rest, @Nullable String user, @Nullable String password) {

  private static final Pattern HOSTS =
      Pattern.compile(
          "(HOST(:[0-9]+)?)(,HOST(:[0-9]+)?)*".replace("HOST", "([\\w.-]+|\\[[0-9A-Fa-f:.]+])"));

  /**
   * Reads a URL.
   *
   * @param schemes the allowed schemes
   * @throws IllegalArgumentException if the text is not a URL with one of the schemes, or if the
   *     URL's port, path or parameters can be a part of a password; the message can contain the
   *     password
   */
  public static SqlUrl of(String url, List<String> schemes) {
    URI uri;
    try {
      uri = new URI(url);
    } catch (URISyntaxException e) {
      throw new IllegalArgumentException(e);
    }
    String authority = uri.getRawAuthority();
    if (!schemes.contains(String.valueOf(uri.getScheme())) || authority == null) {
      throw new IllegalArgumentException(uri.getScheme());
    }
    int at = authority.lastIndexOf('@');
    String hosts = authority.substring(at + 1);
    if (!HOSTS.matcher(hosts).matches() || mayHoldPassword(uri, at >= 0, hosts)) {
      throw new IllegalArgumentException("found /, ? or # in a password, expected %2F, %3F or %23");
    }
    String path = uri.getRawPath().isEmpty() ? "/" : uri.getRawPath();
    String query = uri.getRawQuery() == null ? "" : "?" + uri.getRawQuery();
    String rest = "//" + hosts + path + query;
    if (at < 0) {
      return new SqlUrl(rest, null, null);
    }
    String login = authority.substring(0, at);
    int colon = login.indexOf(':');
    return new SqlUrl(
        rest,
        Utf8.ofPercentEncoding(colon < 0 ? login : login.substring(0, colon)),
        colon < 0 ? null : Utf8.ofPercentEncoding(login.substring(colon + 1)));
  }

  /** Returns whether the port, the path or the query of a URL can be the rest of a password. */
  private static boolean mayHoldPassword(URI uri, boolean hasUser, String hosts) {
    boolean isCut = !hasUser && hosts.contains(":") && !hosts.endsWith("]");
    return uri.getRawFragment() != null
        || uri.getRawPath().contains("@")
        || (isCut && String.valueOf(uri.getRawQuery()).contains("@"));
  }

  /** Returns whether a URL has a parameter. */
  public static boolean says(String url, String parameter) {
    return url.contains("?" + parameter + "=") || url.contains("&" + parameter + "=");
  }

  /** The decoded name and value of a store's option. */
  public record Option(String name, String value) {}

  /** A URL without the options of the store, and the options that were removed. */
  public record Split(String url, List<Option> options) {}

  /**
   * Removes the options of a store from a URL; all other parameters belong to the driver.
   *
   * @param known the names of the store's options
   * @param driver a JDBC URL, from which the driver is found
   * @param product the name of the database system, for messages
   * @throws IllegalArgumentException for an option that neither the store nor the driver has, or
   *     that the store has and the URL sets twice
   */
  public static Split split(String url, List<String> known, String driver, String product) {
    int question = url.indexOf('?');
    if (question < 0) {
      return new Split(url, List.of());
    }
    List<Option> own = new ArrayList<>();
    List<String> drivers = new ArrayList<>();
    for (String parameter : url.substring(question + 1).split("&", -1)) {
      int equals = parameter.indexOf('=');
      String option = equals < 0 ? parameter : parameter.substring(0, equals);
      if (known.contains(option)) {
        String value = equals < 0 ? "" : Utf8.ofPercentEncoding(parameter.substring(equals + 1));
        if (own.stream().anyMatch(one -> one.name().equals(option))) {
          throw new IllegalArgumentException(
              "found the option \"%s\" twice, expected each option once".formatted(option));
        }
        own.add(new Option(option, value));
      } else {
        if (!option.isEmpty() && !isDrivers(option, driver)) {
          boolean isShown = url.indexOf('@', question) < 0;
          throw unknown(option, isShown, known, product);
        }
        drivers.add(parameter);
      }
    }
    String rest = drivers.isEmpty() ? "" : "?" + String.join("&", drivers);
    return new Split(url.substring(0, question) + rest, own);
  }

  /**
   * Returns the exception for an option that neither the store nor the driver has.
   *
   * @param isShown false if the option may be a part of a password that has a question mark
   */
  private static IllegalArgumentException unknown(
      String option, boolean isShown, List<String> known, String product) {
    boolean isWord = isShown && option.matches("[A-Za-z]+");
    return new IllegalArgumentException(
        "found %s in the URL of the database, expected one of %s or a property of the %s driver%s"
            .formatted(
                isWord
                    ? "the option \"" + option + "\""
                    : "an unknown option (not shown, may be part of a password: write ?, & and @ as %3F, %26 and %40)",
                known,
                product,
                isWord ? Suggestion.didYouMean(option, known) : ""));
  }

  private static boolean isDrivers(String option, String driver) {
    try {
      return Stream.of(DriverManager.getDriver(driver).getPropertyInfo(driver, new Properties()))
          .anyMatch(property -> property.name.equals(option));
    } catch (SQLException e) {
      throw new IllegalStateException(e); // the driver was found before
    }
  }
}
