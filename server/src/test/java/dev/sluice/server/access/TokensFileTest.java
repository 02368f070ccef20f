// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.access;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.yaml.LimitFiles;
import dev.sluice.yaml.Problem;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What may stand in a file of tokens, and what each mistake is told. */
class TokensFileTest {

  private static final String HASH = Tokens.sha256("x");

  @TempDir private Path folder;

  private List<String> lint(String text) throws IOException {
    Path file = folder.resolve("tokens.yml");
    Files.writeString(file, text);
    return LimitFiles.builder().companion(file, Tokens.reader(true)).build().lint().stream()
        .map(Problem::toString)
        .map(line -> line.replace(folder + "/", ""))
        .toList();
  }

  @Test
  void goodFile_hasNoMistake() throws IOException {
    assertThat(
            lint(
                """
                tokens:
                  - name: checkout
                    sha256: %s
                    roles: [decide]
                    limits: [LoginsPerIPAddress, "Orders*"]
                    requests: {burst: 100, count: 50, period: 1s}
                certificates:
                  - name: spiffe://prod/ns/shop
                    roles: [decide, read, admin]
                """
                    .formatted(HASH)))
        .isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "tokens: 3 | 1:9: found 3, expected a list",
        "tokens: [{name: a, sha256: HASH, roles: []}] | found an empty list, expected at least one of decide",
        "tokens: [{name: a, sha256: HASH, roles: [admn]}] | found the role \"admn\", expected one of decide, read, admin; did you mean \"admin\"?",
        "tokens: [{name: a, sha256: secret, roles: [read]}] | not a SHA-256 hash (64 hexadecimal digits)",
        "tokens: [{name: a, sha256: HASH, roles: [read], limits: []}] | found an empty list, expected at least one limit",
        "tokens: [{name: a, roles: [read]}] | the field sha256 is missing",
        "tokens: [{name: a, sha256: HASH, role: [read]}] | found the field \"role\", expected one of name, sha256, roles, limits, requests",
        "tokens: [{name: a, sha256: HASH, roles: [read]}, {name: a, sha256: HASH, roles: [read]}] | found the sha256 of line 1 again",
        "tokens: [{name: 'a b', sha256: HASH, roles: [read]}] | expected 1 to 100 letters",
        "tokens: [{name: a, sha256: HASH, roles: [read], requests: {burst: 0, count: 1, period: 1s}}] | found 0, expected a whole number > 0",
        "tokens: [] | a token or a certificate is missing",
        "tokns: [] | found the field \"tokns\", expected one of tokens, certificates",
      })
  void mistake_isToldWithItsPlace(String text, String message) throws IOException {
    List<String> problems = lint(text.replace("HASH", HASH));
    assertThat(String.join("\n", problems)).contains(message).startsWith("tokens.yml:1:");
  }

  /** An unset variable in a script leaves such a hash, and an empty token would be let in. */
  @ParameterizedTest
  @ValueSource(strings = {"", "\n", "\r\n"})
  void hashOfAnEmptyText_isAMistake(String nothing) throws IOException {
    String hash = Tokens.sha256(nothing).toUpperCase(Locale.ROOT);
    assertThat(lint("tokens: [{name: a, sha256: %s, roles: [admin]}]".formatted(hash)))
        .singleElement()
        .asString()
        .startsWith("tokens.yml:1:28: found the hash of an empty text, which everybody knows");
  }

  /** A line of the configuration is missing: nobody can show such a certificate. */
  @Test
  void certificates_whereNoClientIsAskedForOne_areWarnedOf() throws IOException {
    Path file = folder.resolve("tokens.yml");
    Files.writeString(file, "certificates: [{name: shop, roles: [decide]}]");
    assertThat(LimitFiles.builder().companion(file, Tokens.reader(false)).build().lint())
        .extracting(Problem::message)
        .containsExactly(
            "found certificates, but the server asks clients for none: give --tls-client-ca FILE");
  }

  @Test
  void limitThatThereIsNot_isWarnedOf() throws IOException {
    Path limits = folder.resolve("limits.yml");
    Files.writeString(limits, "LoginsPerIPAddress: {burst: 1, count: 1, period: 1s}");
    Path file = folder.resolve("tokens.yml");
    Files.writeString(
        file,
        "tokens: [{name: a, sha256: %s, roles: [read], limits: ['Logins*', LoginPerIPAddress, 'Nope*']}]"
            .formatted(HASH));
    assertThat(
            LimitFiles.builder()
                .defaults(limits)
                .companion(file, Tokens.reader(true))
                .build()
                .lint())
        .extracting(problem -> problem.severity() + " " + problem.message())
        .containsExactly(
            "WARNING found \"LoginPerIPAddress\", which matches no limit; did you mean \"LoginsPerIPAddress\"?",
            "WARNING found \"Nope*\", which matches no limit");
  }

  @Test
  void tokenInPlaceOfItsHash_isNotRepeatedInTheMessage() throws IOException {
    String token = Tokens.fresh();
    assertThat(lint("tokens: [{name: a, sha256: %s, roles: [read]}]".formatted(token)).toString())
        .doesNotContain(token);
  }

  @Test
  void freshTokens_differ_andHave256Bits() {
    assertThat(Tokens.fresh()).matches("sluice_[A-Za-z0-9_-]{43}").isNotEqualTo(Tokens.fresh());
  }
}
