// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.acme.AcmeLimits;
import dev.sluice.acme.Identifier;
import dev.sluice.acme.PublicSuffixes;
import dev.sluice.cli.Console.ConsoleCommand;
import dev.sluice.limit.IdFormat.Strictness;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code sluice covering}: prints the ids that a certificate is charged to. */
@Command(
    name = "covering",
    description = {
      "Prints the ids that a certificate for these identifiers is charged to, sorted, one per line:"
          + " of a name its registered domain (eTLD+1), of an IP address its /32 or /64.",
      "",
      "Public suffixes come from both parts of the list, ICANN and PRIVATE."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  sluice covering www.example.com www.example.co.uk",
      "  sluice covering foo.github.io 2001:db8::1"
    })
final class CoveringCommand extends ConsoleCommand {

  @Parameters(
      arity = "1..*",
      paramLabel = "IDENTIFIER",
      description = "A DNS name, which can begin with \"*.\", or an IP address.")
  private List<String> identifiers = List.of();

  @Option(
      names = "--suffixes",
      paramLabel = "FILE",
      description = "A list from publicsuffix.org that replaces the built-in list.")
  private @Nullable Path suffixes;

  @Override
  public Integer call() {
    acme().covering(Identifier.parseAll(identifiers)).forEach(console::line);
    return Exit.DONE;
  }

  private AcmeLimits acme() {
    if (suffixes == null) {
      return AcmeLimits.bundled();
    }
    InputFiles.require(suffixes);
    try {
      PublicSuffixes list = PublicSuffixes.load(suffixes);
      return AcmeLimits.with(() -> list);
    } catch (IllegalArgumentException e) {
      throw new InputException(String.valueOf(e.getMessage()));
    } catch (IOException e) {
      throw new InputException(suffixes + ": can't be read: " + e.getMessage());
    }
  }

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
  static final class KeyCommand extends ConsoleCommand {

    @Parameters(index = "0", paramLabel = "LIMIT", description = "The limit's name.")
    private String limit = "";

    @Parameters(
        index = "1",
        paramLabel = "ID",
        description = "The id, as in a request or an override file.")
    private String id = "";

    @Option(
        names = "--strict",
        description = "Refuse an id that is not canonical, and special-purpose addresses.")
    private boolean strict;

    @Mixin private LimitFileOptions files = new LimitFileOptions();

    @Override
    public Integer call() {
      Strictness strictness = strict ? Strictness.STRICT : Strictness.LENIENT;
      console.line(files.catalogue().get(limit).keyOf(id, strictness));
      return Exit.DONE;
    }
  }
}
