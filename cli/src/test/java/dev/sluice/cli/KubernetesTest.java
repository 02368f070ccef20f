// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The Kubernetes manifests and the image, against the server's own options. */
class KubernetesTest {

  private static final Path PACKAGES = Path.of("../packages");
  private static final Path KUBERNETES = PACKAGES.resolve("src/main/kubernetes");
  private static final Pattern ARGUMENT =
      Pattern.compile("(?m)^ +- \"?(serve|--[a-z][^\"#\\n]*)\"?( #.*)?$");

  private static List<String> arguments(String overlay) throws IOException {
    return ARGUMENT
        .matcher(
            Files.readString(KUBERNETES.resolve(overlay).resolve("deployment.yaml"))
                .replace("$(POD_NAMESPACE)", "shop"))
        .results()
        .map(argument -> argument.group(1).strip())
        .toList();
  }

  private static String config(String overlay) throws IOException {
    List<String> command = new ArrayList<>(arguments(overlay));
    command.add("--print-config");
    Cli run = Cli.run(command.toArray(String[]::new));
    assertThat(run.err()).isEmpty();
    assertThat(run.code()).isEqualTo(Exit.DONE);
    return run.out();
  }

  @Test
  void production_isAGoodCommand_withTls_tokens_andRedis_andNotOpen() throws IOException {
    assertThat(config("production"))
        .containsPattern("(?m)^tls-certificate: /etc/sluice-tls/tls.crt ")
        .containsPattern("(?m)^tokens: /etc/sluice-tokens/tokens.yml ")
        .containsPattern("(?m)^store: \"?redis://redis:6379/0")
        .containsPattern("(?m)^audit-log: \"?-\"? ")
        .doesNotContainPattern("(?m)^(open|insecure|plaintext): true ");
  }

  @Test
  void demo_isAGoodCommand_ofOneReplicaInMemory() throws IOException {
    assertThat(config("demo"))
        .containsPattern("(?m)^open: true ")
        .containsPattern("(?m)^store: memory ");
    assertThat(Files.readString(KUBERNETES.resolve("demo/deployment.yaml")))
        .contains("\n  replicas: 1 ");
  }

  @ParameterizedTest
  @ValueSource(strings = {"demo", "production"})
  void deployment_answersAllNamesOfItsService(String overlay) throws IOException {
    assertThat(arguments(overlay))
        .contains("--host=sluice,sluice.shop,sluice.shop.svc,sluice.shop.svc.cluster.local");
  }

  @Test
  void theAlerts_areThoseOfTheDocs() throws IOException {
    String rule = Files.readString(KUBERNETES.resolve("production/prometheusrule.yaml"));
    String alerts = Files.readString(Path.of("../docs/prometheus/sluice-alerts.yml"));

    assertThat(rule.substring(rule.indexOf("\nspec:\n") + "\nspec:\n".length()).indent(-2))
        .isEqualTo(alerts.substring(alerts.indexOf("groups:")));
  }

  /**
   * The Prometheus Operator sends the Secret's bytes as they are, so a line end breaks a header.
   */
  @Test
  void tokens_ofTheSecrets_haveNoLineEnd(@TempDir Path folder) throws Exception {
    Cli made = Cli.run("token", "new", "prometheus", "--role", "read");
    List<String> commands =
        Files.readString(KUBERNETES.resolve("production/kustomization.yaml"))
            .lines()
            .filter(line -> line.startsWith("#      sluice token new "))
            .map(line -> line.substring(1))
            .toList();
    assertThat(commands).hasSize(2);
    String script = "sluice() { printf %s \"$MADE\"; }\n" + String.join("\n", commands);
    ProcessBuilder shell = new ProcessBuilder("/bin/sh", "-ec", script).directory(folder.toFile());
    shell.environment().put("MADE", made.out());
    assertThat(shell.inheritIO().start().waitFor()).isZero();
    for (String client : List.of("checkout", "prometheus")) {
      assertThat(Files.readString(folder.resolve(client + ".token"))).isEqualTo(made.out().strip());
    }
  }

  @Test
  void neitherTheImage_norProduction_openTheServer() throws IOException {
    for (Path file :
        List.of(
            KUBERNETES.resolve("production/deployment.yaml"),
            KUBERNETES.resolve("base/deployment.yaml"),
            PACKAGES.resolve("Containerfile"))) {
      assertThat(Files.readString(file).lines().filter(line -> !line.strip().startsWith("#")))
          .noneMatch(line -> line.contains("INSECURE") || line.contains("--insecure"))
          .noneMatch(line -> line.contains("SLUICE_OPEN") || line.contains("--open"));
    }
  }
}
