// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import picocli.CommandLine;
import picocli.CommandLine.Help;
import picocli.CommandLine.Help.Layout;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.UsageMessageSpec;

/** The options of {@code sluice serve} under headings, instead of in one list. Stateless. */
final class ServeHelp {

  private static final Map<String, List<String>> GROUPS = groups();

  private ServeHelp() {}

  private static Map<String, List<String>> groups() {
    Map<String, List<String>> groups = new LinkedHashMap<>();
    groups.put("Configuration", List.of("--config", "--print-config"));
    groups.put(
        "Limits",
        List.of(
            "--limits",
            "--overrides",
            "--names",
            "--rules",
            "--for",
            "--missing-default",
            "--limits-broken",
            "--limits-copy",
            "--overrides-db",
            "--db-password-file",
            "--overrides-interval",
            "--override-store"));
    groups.put(
        "Store",
        List.of(
            "--store",
            "--store-password-file",
            "--sentinel-password-file",
            "--on-failure",
            "--ready-without-store",
            "--snapshot",
            "--snapshot-interval",
            "--token-key-file"));
    groups.put(
        "Doors",
        List.of(
            "--http",
            "--resp",
            "--grpc",
            "--host",
            "--allow-origin",
            "--trusted-proxies",
            "--proxy-header",
            "--rls-overrides"));
    groups.put(
        "TLS and access",
        List.of(
            "--tls-certificate",
            "--tls-key",
            "--tls-client-ca",
            "--tls-client-auth",
            "--tokens",
            "--requests-per-address",
            "--audit-log",
            "--plaintext",
            "--open",
            "--insecure"));
    groups.put(
        "Observation",
        List.of(
            "--log-format",
            "--request-log",
            "--top-denied",
            "--otlp",
            "--otlp-headers-file",
            "--otlp-interval",
            "--otlp-traced"));
    groups.put("Help", List.of("--help", "--version"));
    return groups;
  }

  /** Makes a command show its options in groups. */
  static void apply(CommandLine serve) {
    serve.getHelpSectionMap().put(UsageMessageSpec.SECTION_KEY_OPTION_LIST, ServeHelp::list);
  }

  private static String list(Help help) {
    List<OptionSpec> all =
        help.commandSpec().options().stream().filter(option -> !option.hidden()).toList();
    StringBuilder text = new StringBuilder();
    GROUPS.forEach(
        (heading, names) -> {
          List<OptionSpec> options =
              names.stream()
                  .flatMap(name -> all.stream().filter(one -> one.longestName().equals(name)))
                  .toList();
          Layout layout = help.createDefaultLayout(all, List.of(), help.colorScheme());
          layout.addOptions(options, help.createDefaultParamLabelRenderer());
          text.append("%n%s:%n%s".formatted(heading, layout));
        });
    return text.toString();
  }
}
