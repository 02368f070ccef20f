// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.cli.Settings.Setting;
import dev.sluice.text.SafeText;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Settings as a configuration file that says the same, with the source of each value behind it and
 * without secrets. Stateless.
 */
final class SettingsPage {

  private static final Pattern PLAIN = Pattern.compile("[A-Za-z0-9/._][A-Za-z0-9/._:@%?&=+~-]*");
  private static final Pattern USER = Pattern.compile("://(?:([^:/@?#]*):)?[^/?#]*@");
  private static final Pattern PASSWORD =
      Pattern.compile("([?&;][^=&;]*(?i:pass|secret|token)[^=&;]*=)[^&;#]*");
  private static final int WIDEST = 60;

  private SettingsPage() {}

  /** The lines, sorted by name; those that are not set are comments. */
  static List<String> lines(Settings settings) {
    List<String[]> rows = new ArrayList<>();
    for (Setting setting : settings.all()) {
      String key = Settings.key(setting.option());
      rows.add(
          setting.values().isEmpty()
              ? new String[] {"# " + key + ":", "not set"}
              : new String[] {key + ": " + value(setting), setting.source()});
    }
    settings.secrets().forEach(name -> rows.add(new String[] {"# " + name, "set, hidden"}));
    int width = rows.stream().mapToInt(row -> Math.min(row[0].length(), WIDEST)).max().orElse(1);
    return rows.stream().map(row -> ("%-" + width + "s  # %s").formatted(row[0], row[1])).toList();
  }

  private static String value(Setting setting) {
    return setting.option().isMultiValue()
        ? setting.values().stream()
            .map(SettingsPage::shown)
            .collect(Collectors.joining(", ", "[", "]"))
        : shown(setting.values().get(0));
  }

  private static String shown(String value) {
    String safe = withoutSecrets(value);
    return PLAIN.matcher(safe).matches() && !safe.endsWith(":") ? safe : quoted(safe);
  }

  private static String quoted(String text) {
    return '"' + SafeText.printable(text.replace("\\", "\\\\").replace("\"", "\\\"")) + '"';
  }

  /** An address without passwords; one without a user's name may be nothing but a password. */
  static String withoutSecrets(String value) {
    String address =
        USER.matcher(value)
            .replaceAll(
                user ->
                    user.group(1) == null || user.group(1).isEmpty()
                        ? "://…@"
                        : "://%s:…@".formatted(user.group(1).replace("$", "\\$")));
    return PASSWORD.matcher(address).replaceAll("$1…");
  }
}
