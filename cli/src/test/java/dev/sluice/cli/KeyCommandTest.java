// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.sluice.testkit.Vectors;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

final class KeyCommandTest {

  static List<JsonNode> ids() throws Exception {
    List<JsonNode> ids = new ArrayList<>();
    for (JsonNode vector : new ObjectMapper().readTree(Vectors.text("ids.json"))) {
      ids.add(vector);
    }
    return ids;
  }

  @ParameterizedTest
  @MethodSource("ids")
  void key_isThatOfTheVector(JsonNode vector) {
    List<String> args = new ArrayList<>(List.of("key"));
    if (vector.get("mode").asText().equals("strict")) {
      args.add("--strict");
    }
    args.addAll(List.of("--", vector.get("limit").asText(), vector.get("id").asText()));
    Cli run = Cli.run(args.toArray(String[]::new));
    if (vector.has("bucketKey")) {
      assertThat(run).isEqualTo(new Cli(Exit.DONE, vector.get("bucketKey").asText() + "\n", ""));
    } else {
      assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
      assertThat(run.out()).isEmpty();
      assertThat(run.err().toLowerCase(Locale.ROOT))
          .contains(vector.get("errorContains").asText().toLowerCase(Locale.ROOT));
    }
  }

  @Test
  void unknownLimit_isRefused_withTheNearest() {
    Cli run = Cli.run("key", "NewOrderPerAccount", "1");
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.err()).contains("did you mean \"NewOrdersPerAccount\"?");
  }

  @Test
  void namesFile_declaresLimits(@TempDir Path folder) throws Exception {
    Path names =
        Files.writeString(
            folder.resolve("names.yml"),
            "names: [{number: 500, name: CallsPerShard, id: integer}]\n");
    Cli run = Cli.run("key", "--names", names.toString(), "CallsPerShard", "--", "-5");
    assertThat(run).isEqualTo(new Cli(Exit.DONE, "500:-5\n", ""));
  }

  @Test
  void limitFile_declaresLimits_inPlace(@TempDir Path folder) throws Exception {
    Path limits =
        Files.writeString(
            folder.resolve("limits.yml"),
            "ExportsPerUser: {id: string, burst: 10, count: 10, period: 1m}\n");
    Cli run = Cli.run("key", "ExportsPerUser", "42", "--limits", limits.toString());
    assertThat(run).isEqualTo(new Cli(Exit.DONE, "ExportsPerUser:42\n", ""));
  }

  @Test
  void id_thatStartsWithAnAt_isNoFile() {
    assertThat(Cli.run("key", "ApiCallsPerKey", "@home").out()).isEqualTo("104:@home\n");
  }
}
