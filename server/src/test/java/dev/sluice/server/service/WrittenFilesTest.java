// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.limit.Limits.Requirement.MissingDefault;
import dev.sluice.server.service.ServerConfig.ConfigException;
import dev.sluice.server.service.ServerConfig.Control;
import dev.sluice.server.service.ServerConfig.Copy;
import dev.sluice.server.service.ServerConfig.Sources;
import dev.sluice.server.service.ServerConfig.Telemetry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A server overwrites none of the files that it reads. */
class WrittenFilesTest {

  private static final String LIMITS = "ApiCallsPerKey: {burst: 5, count: 5, period: 1h}\n";

  @TempDir private Path folder;
  private Path limits;

  @BeforeEach
  void writeLimits() throws IOException {
    limits = Files.writeString(folder.resolve("limits.yml"), LIMITS);
    Files.createSymbolicLink(folder.resolve("link.yml"), limits);
  }

  private ServerConfig config(String copy, String snapshot, String store, String audit) {
    return new ServerConfig(
        Configs.onPort(0),
        new Sources(
            new ServerConfig.Files(limits, null, null, null),
            null,
            List.of(),
            MissingDefault.REFUSE,
            new Copy(folder.resolve(copy), false)),
        Configs.keptIn(folder.resolve(snapshot)),
        new Control(
            folder.resolve("tokens.yml"),
            folder.resolve(audit).toString(),
            folder.resolve(store),
            null),
        Telemetry.NONE);
  }

  @ParameterizedTest
  @CsvSource({
    "limits.yml, b, c, d, limits-copy, limits",
    "link.yml, b, c, d, limits-copy, limits",
    "a, x/../limits.yml, c, d, snapshot, limits",
    "a, b, limits.yml, d, override-store, limits",
    "a, b, c, limits.yml, audit-log, limits",
    "a, b, c, tokens.yml, audit-log, tokens",
    "a, a, c, d, limits-copy, snapshot",
  })
  void start_fileOfTwoSettings_isRefusedBeforeItIsWritten(
      String copy, String snapshot, String store, String audit, String setting, String other)
      throws IOException {
    Files.createDirectory(folder.resolve("x"));

    assertThatThrownBy(() -> Service.start(config(copy, snapshot, store, audit)))
        .isInstanceOfSatisfying(
            ConfigException.class, e -> assertThat(e.setting()).isEqualTo(setting))
        .hasMessageEndingWith(
            " is also the file of --%s and would be overwritten, expected a file of its own",
            other);
    assertThat(limits).hasContent(LIMITS);
  }

  @Test
  void filesOfTheirOwn_areAccepted_andSoIsTheNullDevice() {
    assertThatCode(config("a", "b", "c", "d")::requireFilesApart).doesNotThrowAnyException();
    assertThatCode(config("/dev/null", "b", "c", "/dev/null")::requireFilesApart)
        .doesNotThrowAnyException();
  }
}
