// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.cli.Console.ConsoleCommand;
import dev.sluice.limit.IdFormat.Strictness;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code sluice key}: prints the key of a bucket. */
@Command(
    name = "key",
    description = "Prints the bucket key of an id, in canonical form.",
    footerHeading = "%nExamples:%n",
    footer = {
      "  sluice key NewOrdersPerAccount 12345678        3:12345678",
      "  sluice key CertificatesPerDomain 2001:db8::    5:2001:db8::/64",
      "  sluice key CertificatesPerDomain www.example.com",
      "                                                 5:example.com",
      "  sluice key LoginsPerIPAddress 2001:0DB8::1     101:2001:db8::1",
      "  sluice key CertificatesPerFQDNSet example.com,example.org",
      "  sluice key ExportsPerUser 42 --limits limits.yml",
      "                                                 ExportsPerUser:42",
      "  sluice key --limits limits.yml CallsPerShard -- -5",
      "                                    (an id that begins with a hyphen)"
    })
final class KeyCommand extends ConsoleCommand {

  @Parameters(index = "0", paramLabel = "LIMIT", description = "The limit's name.")
  private String limit = "";

  @Parameters(
      index = "1",
      paramLabel = "ID",
      description =
          "The id, as in a request or an override file. A name below a registered domain stands for the domain.")
  private String id = "";

  @Option(
      names = "--strict",
      description = "Refuse non-canonical ids and special-purpose addresses.")
  private boolean strict;

  @Mixin private LimitFileOptions files = new LimitFileOptions();

  @Override
  public Integer call() {
    Strictness strictness = strict ? Strictness.STRICT : Strictness.LENIENT;
    console.line(files.catalogue().get(limit).keyOf(id, strictness));
    return Exit.DONE;
  }
}
