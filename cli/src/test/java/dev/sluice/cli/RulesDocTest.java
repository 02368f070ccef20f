// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The files of {@code docs/doors/rules.md} are good, and its commands print what stands there. */
final class RulesDocTest {

  private static final Pattern BLOCK = Pattern.compile("(?ms)^```(yaml|console)\n(.*?)^```$");

  @TempDir Path folder;

  @Test
  void page_isTrue() throws IOException {
    String page = Files.readString(Path.of("../docs/doors/rules.md"));
    List<MatchResult> commands = new ArrayList<>();
    for (MatchResult block : BLOCK.matcher(page).results().toList()) {
      if (block.group(1).equals("console")) {
        commands.add(block);
        continue;
      }
      Matcher title = Pattern.compile("# ([a-z]+\\.yml)\n").matcher(block.group(2));
      assertThat(title.lookingAt()).as(block.group(2)).isTrue();
      Files.writeString(folder.resolve(title.group(1)), block.group(2));
    }
    assertThat(Cli.run("lint", file("limits"), file("rules")).err())
        .startsWith("no mistakes, no warnings\n");
    assertThat(commands).hasSize(1);
    for (MatchResult command : commands) {
      String[] lines = command.group(2).split("\n", 2);
      String[] words =
          lines[0]
              .replaceFirst("\\$ ./sluice ", "")
              .replaceAll("(limits|rules)\\.yml", folder + "/$1.yml")
              .split(" ");
      assertThat(Cli.run(words).out().replace(folder + "/", "")).isEqualTo(lines[1]);
      // An application that reads a number takes all of these for the account 7.
      for (String account : List.of("07", "007", "%37")) {
        String[] spelled =
            Stream.of(words)
                .map(word -> word.replace("/orders/7/", "/orders/" + account + "/"))
                .toArray(String[]::new);
        assertThat(Cli.run(spelled).out()).as(account).contains("\n  OrdersPerAccount 7 (bucket");
      }
    }
  }

  private String file(String name) {
    return folder.resolve(name + ".yml").toString();
  }
}
