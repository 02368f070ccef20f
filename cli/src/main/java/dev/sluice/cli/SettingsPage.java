// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.cli.Settings.Setting;
import dev.sluice.internal.text.SafeText;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Prints settings as an equivalent configuration file, with the source of each value and without
 * secrets.
 */
final class SettingsPage {

  private static final Pattern PLAIN = Pattern.compile("[A-Za-z0-9/._][A-Za-z0-9/._:@%?&=+~-]*");
  private static final Pattern ADDRESS =
      Pattern.compile("([A-Za-z][A-Za-z0-9+.:-]*://)([^/?#]*)([^?#]*)(.*)", Pattern.DOTALL);
  private static final Pattern USER = Pattern.compile("[A-Za-z0-9._-]+");
  private static final Pattern HOSTS = Pattern.compile("HOST(,HOST)*".replace("HOST", host()));
  private static final Pattern WITHOUT_SLASHES = Pattern.compile("([A-Za-z][A-Za-z0-9+.-]*:).*@.*");
  private static final Pattern PARAMETER = Pattern.compile("([?&])([^=&]*)=([^&]*)");
  private static final Pattern SECRET =
      Pattern.compile("(?i).*(?:pass(?!file)|secret|token|auth|credential|key|%|;).*");
  private static final int WIDEST = 60;

  private SettingsPage() {}

  /**
   * Returns one line for each option, sorted by the options' names. An option that is not set
   * becomes a comment. A default that depends on other options also becomes a comment, since a
   * value in the file would no longer change with these options.
   */
  static List<String> lines(Settings settings) {
    List<String[]> rows = new ArrayList<>();
    for (Setting setting : settings.all()) {
      String key = Settings.key(setting.option());
      rows.add(
          setting.values().isEmpty()
              ? notSet(key, settings)
              : new String[] {
                key + ": " + value(setting, settings.passwordIsApart(key)), setting.source()
              });
    }
    settings.secrets().forEach(name -> rows.add(new String[] {"# " + name, "set, hidden"}));
    int width = rows.stream().mapToInt(row -> Math.min(row[0].length(), WIDEST)).max().orElse(1);
    return rows.stream().map(row -> ("%-" + width + "s  # %s").formatted(row[0], row[1])).toList();
  }

  private static String[] notSet(String key, Settings settings) {
    String usual = settings.dependentDefault(key);
    return usual == null
        ? new String[] {"# " + key + ":", "not set"}
        : new String[] {"# " + key + ": " + shown(usual, false), Settings.DEFAULT};
  }

  private static String value(Setting setting, boolean passwordIsApart) {
    return setting.option().isMultiValue()
        ? setting.values().stream()
            .map(value -> shown(value, passwordIsApart))
            .collect(Collectors.joining(", ", "[", "]"))
        : shown(setting.values().get(0), passwordIsApart);
  }

  private static String shown(String value, boolean passwordIsApart) {
    String safe = withoutSecrets(value, passwordIsApart);
    return PLAIN.matcher(safe).matches() && !safe.endsWith(":") ? safe : quoted(safe);
  }

  private static String quoted(String text) {
    return '"' + SafeText.printable(text.replace("\\", "\\\\").replace("\"", "\\\"")) + '"';
  }

  private static String host() {
    return "(?:\\[[0-9A-Fa-f:.%]*\\]|[A-Za-z0-9._*-]*)(?::[0-9]*)?";
  }

  /**
   * Returns an address without passwords; only the scheme if a part of the address can be a
   * password.
   *
   * @param passwordIsApart whether the text before "@" is only a user if it contains no colon; if
   *     false, this text can be a password
   */
  static String withoutSecrets(String value, boolean passwordIsApart) {
    Matcher address = ADDRESS.matcher(value);
    if (address.matches()) {
      String scheme = address.group(1);
      String authority = withoutPassword(address.group(2), passwordIsApart);
      String path = address.group(3);
      String query = address.group(4);
      return authority == null || path.indexOf('@') >= 0 || query.indexOf('@') >= 0
          ? scheme + "…"
          : scheme + authority + path + withoutParameters(query);
    }
    Matcher mistyped = WITHOUT_SLASHES.matcher(value);
    return mistyped.matches() ? mistyped.group(1) + "…" : withoutParameters(value);
  }

  /** Returns the user and the hosts of an address; null if these can contain a password. */
  private static @Nullable String withoutPassword(String authority, boolean passwordIsApart) {
    int at = authority.lastIndexOf('@');
    String hosts = authority.substring(at + 1);
    String login = at < 0 ? "" : authority.substring(0, at);
    if (!HOSTS.matcher(hosts).matches() || (login.contains("@") && login.contains(","))) {
      return null;
    }
    int colon = login.indexOf(':');
    if (at < 0 || (passwordIsApart && USER.matcher(login).matches())) {
      return authority;
    }
    return (colon < 1 ? "" : login.substring(0, colon) + ":") + "…@" + hosts;
  }

  private static String withoutParameters(String query) {
    return PARAMETER
        .matcher(query)
        .replaceAll(
            parameter ->
                Matcher.quoteReplacement(
                    SECRET.matcher(parameter.group(2)).matches()
                        ? parameter.group(1) + parameter.group(2) + "=…"
                        : parameter.group()));
  }
}
