// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The Kubernetes manifests and the image, against the server's own options. */
class KubernetesTest {

  private static final Path PACKAGES = Path.of("../packages");
  private static final Path DEPLOYMENT = PACKAGES.resolve("src/main/kubernetes/deployment.yaml");
  private static final Pattern ARGUMENT = Pattern.compile("(?m)^ +- (serve|--[a-z].*)$");

  private static List<String> arguments() throws IOException {
    return ARGUMENT
        .matcher(Files.readString(DEPLOYMENT).replace("$(POD_NAMESPACE)", "shop"))
        .results()
        .map(MatchResult::group)
        .map(line -> line.strip().substring(2))
        .toList();
  }

  @Test
  void deployment_isAGoodCommand_withTokens_andNotOpen() throws IOException {
    List<String> command = new ArrayList<>(arguments());
    command.add("--print-config");
    Cli run = Cli.run(command.toArray(String[]::new));
    assertThat(run.err()).isEmpty();
    assertThat(run.code()).isEqualTo(Exit.DONE);
    assertThat(run.out())
        .containsPattern("(?m)^plaintext: true ")
        .containsPattern("(?m)^tokens: /etc/sluice-tokens/tokens.yml ")
        .doesNotContainPattern("(?m)^(open|insecure): true ");
  }

  @Test
  void deployment_answersAllNamesOfItsService() throws IOException {
    assertThat(arguments())
        .contains("--host=sluice,sluice.shop,sluice.shop.svc,sluice.shop.svc.cluster.local");
  }

  @Test
  void neitherTheImage_norTheManifests_openTheServer() throws IOException {
    for (Path file : List.of(DEPLOYMENT, PACKAGES.resolve("Containerfile"))) {
      assertThat(Files.readString(file).lines().filter(line -> !line.strip().startsWith("#")))
          .noneMatch(line -> line.contains("INSECURE") || line.contains("--insecure"))
          .noneMatch(line -> line.contains("SLUICE_OPEN") || line.contains("--open"));
    }
  }
}
