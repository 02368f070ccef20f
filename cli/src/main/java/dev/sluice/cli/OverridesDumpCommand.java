package dev.sluice.cli;

import dev.sluice.limit.Limits;
import dev.sluice.limit.Strictness;
import dev.sluice.yaml.OverridesCsv;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code sluice overrides dump}: overrides as CSV. */
@Command(
    name = "dump",
    description = "Prints overrides as CSV, sorted: name,id,count,burst,period,comment.",
    footerHeading = "%nExamples:%n",
    footer = {
      "  sluice overrides dump --overrides overrides.yml",
      "  sluice overrides dump --overrides overrides.yml --names names.yml > overrides.csv"
    })
final class OverridesDumpCommand implements Callable<Integer> {

  private final Console console;

  @Mixin private LimitFileOptions files = new LimitFileOptions();

  OverridesDumpCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() {
    if (files.overrides() == null) {
      throw new InputException("found no --overrides FILE, expected the file to print");
    }
    Limits limits = files.files(Strictness.LENIENT).load();
    try {
      Writer target = new OutputStreamWriter(console.out(), StandardCharsets.UTF_8);
      OverridesCsv.write(limits, target);
      target.flush();
    } catch (IOException e) {
      throw new OutputException(e);
    }
    return Exit.DONE;
  }
}
