// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.cli.Console.CommandGroup;
import dev.sluice.cli.Console.ConsoleCommand;
import dev.sluice.internal.text.SafeText;
import dev.sluice.server.access.Tokens;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code sluice token}: the group of commands for tokens. */
@Command(
    name = "token",
    description = {
      "Makes tokens for the clients of a server.",
      "",
      "A server started with --tokens FILE accepts the tokens whose hashes are in the file."
    },
    footerHeading = "%nExample:%n",
    footer = "  sluice token new checkout --role decide",
    synopsisSubcommandLabel = "COMMAND")
final class TokenCommand extends CommandGroup {

  static CommandLine commandLine(Console console) {
    return new CommandLine(new TokenCommand()).addSubcommand(console.given(new NewToken()));
  }

  @Command(
      name = "new",
      description = {
        "Prints a fresh token on standard output, and the lines for the file on standard error.",
        "",
        "The token is shown only once. The file contains only its SHA-256 hash."
      },
      footerHeading = "%nExample:%n",
      footer = {
        "  sluice token new checkout --role decide --limit 'Orders*' > checkout.token",
      })
  private static final class NewToken extends ConsoleCommand {

    @Parameters(
        paramLabel = "NAME",
        description = "The name that the audit log shows: letters, digits, \".\", \"_\" and \"-\".")
    private String name = "";

    @Option(
        names = "--role",
        required = true,
        split = ",",
        paramLabel = "ROLE",
        description = "A role: decide, read or admin. Repeat the option or join roles with commas.")
    private List<String> roles = List.of();

    @Option(
        names = "--limit",
        split = ",",
        paramLabel = "LIMIT",
        description =
            "A limit that the token can use, or a pattern such as 'Orders*'; all limits if not"
                + " given. Repeat the option, or separate limits with commas.")
    private List<String> limits = List.of();

    @Override
    public Integer call() {
      if (!Tokens.isName(name)) {
        throw new InputException("NAME: expected 1 to 100 letters, digits, \".\", \"_\" and \"-\"");
      }
      for (String role : roles) {
        if (!Tokens.roles().contains(role)) {
          throw new InputException(
              "--role: found %s, expected one of %s"
                  .formatted(SafeText.quote(role), String.join(", ", Tokens.roles())));
        }
      }
      for (String limit : limits) {
        if (!Tokens.isScope(limit)) {
          throw new InputException(
              "--limit: found %s, expected a limit's name, or a pattern such as Orders*; leave it out for all limits"
                  .formatted(SafeText.quote(limit)));
        }
      }
      String token = Tokens.fresh();
      console.line(token);
      console.err().println("Put these lines under \"tokens:\" in the file of --tokens:");
      console.err().printf("  - name: %s%n", name);
      console.err().printf("    sha256: %s%n", Tokens.sha256(token));
      if (!limits.isEmpty()) {
        console.err().printf("    limits: [\"%s\"]%n", String.join("\", \"", limits));
      }
      // The roles come last, so that an entry of which the user copies only the beginning grants
      // nothing.
      console.err().printf("    roles: [%s]%n", String.join(", ", roles));
      return Exit.DONE;
    }
  }
}
