// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The options of a command that asks a running server. */
final class ServerOptions {

  @Option(
      names = "--server",
      required = true,
      paramLabel = "URL",
      description = "The server, such as http://127.0.0.1:8080.")
  private String server = "";

  @Option(names = TokenFile.OPTION, paramLabel = "FILE", description = TokenFile.DESCRIPTION)
  private @Nullable Path tokenFile;

  @Mixin private ServerClientOptions tls = new ServerClientOptions();

  /** A client of that server. */
  ServerClient client(Console console) {
    return ServerClient.of(server, tokenFile, tls.context(), console);
  }
}
