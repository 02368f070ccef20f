// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.acme.AcmeLimits;
import dev.sluice.acme.Identifier;
import dev.sluice.acme.PublicSuffixes;
import dev.sluice.cli.Console.ConsoleCommand;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code sluice covering}: prints the ids that a certificate is charged to. */
@Command(
    name = "covering",
    description = {
      "Prints the ids that a certificate for these identifiers is charged to, sorted, one per line:"
          + " a DNS name's registered domain (eTLD+1), or an IP address's /32 or /64 range.",
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
}
