package dev.sluice.cli;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code sluice overrides}: what can be done with overrides. */
@Command(
    name = "overrides",
    description = "Works on overrides.",
    synopsisSubcommandLabel = "COMMAND")
final class OverridesCommand implements Runnable {

  @Spec private CommandSpec spec = CommandSpec.create();

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "found no command, expected: dump");
  }
}
