// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import java.util.ListResourceBundle;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ScopeType;
import picocli.CommandLine.Spec;

/** The command {@code sluice}, which requires a subcommand. */
@Command(
    name = "sluice",
    description = "Decides whether a request may pass: named limits, exact answers.",
    mixinStandardHelpOptions = true,
    scope = ScopeType.INHERIT,
    versionProvider = SluiceCommand.Version.class,
    synopsisSubcommandLabel = "COMMAND",
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:done",
      "1:the answer is no: mistakes were found, an act was denied",
      "2:wrong usage or broken input",
      "3:a store or server could not be reached",
      "70:an internal error",
      "71:out of memory"
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  sluice serve                 a server with sample limits, on loopback",
      "  sluice lint limits.yml       every mistake in a limit file",
      "  sluice help spend            a command explained, with examples"
    })
final class SluiceCommand implements Runnable {

  @Spec private CommandSpec spec = CommandSpec.create();

  @Override
  public void run() {
    throw UsageErrors.mistake(spec, "the command is missing");
  }

  /** The version in the manifest of the jar. */
  static final class Version implements IVersionProvider {
    @Override
    public String[] getVersion() {
      String version = SluiceCommand.class.getPackage().getImplementationVersion();
      return new String[] {"sluice " + (version == null ? "development" : version)};
    }
  }

  /** The help texts of the two options that picocli adds to each command. */
  static final class HelpWords extends ListResourceBundle {

    @Override
    protected Object[][] getContents() {
      return new Object[][] {
        {"mixinStandardHelpOptions.help", "Prints this help."},
        {"mixinStandardHelpOptions.version", "Prints the version."},
      };
    }
  }
}
