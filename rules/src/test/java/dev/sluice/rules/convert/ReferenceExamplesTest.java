// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules.convert;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.yaml.LimitFilesException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * What becomes of the public example and test files of envoyproxy/ratelimit (July 2026). Each row
 * has the name of a file there, its content in short, and what the conversion reports.
 */
final class ReferenceExamplesTest {

  private static final String MINUTE = "rate_limit: {unit: minute, requests_per_unit: 1}";

  @TempDir private Path folder;

  private Path file(String descriptors) throws IOException {
    return Files.writeString(
        folder.resolve("config.yaml"),
        "domain: d\ndescriptors: ["
            + descriptors.replace("MINUTE", MINUTE).replace("'", "\"")
            + "]\n");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "config.yaml | {key: database, value: users, MINUTE}, {key: database, value: default, MINUTE} | ~~",
        "example.yaml | {key: a, rate_limit: {unit: minute, requests_per_unit: 4, replaces: [{name: b}]}}, {key: foo, MINUTE, descriptors: [{key: bar, rate_limit: {name: b, unit: minute, requests_per_unit: 1}}, {key: baz, value: shady, shadow_mode: true, MINUTE}, {key: bay, rate_limit: {unlimited: true}}]} | ~~",
        "example.yaml, a banned limit | {key: a, rate_limit: {unit: minute, requests_per_unit: 2, replaces: [{name: banned}]}}, {key: b, rate_limit: {name: banned, unit: minute, requests_per_unit: 0}} | replaces",
        "example.yaml, quotas | {key: service, value: one, quota_mode: true, MINUTE, metadata: {service: {name: one}}} | quota_mode,metadata",
        "basic_config.yaml | {key: key2, MINUTE}, {key: key2, value: value3}, {key: key7, detailed_metric: true, MINUTE} | detailed_metric",
        "metadata.yaml | {key: key2, MINUTE, metadata: {service: {name: two}}} | metadata",
        "shadowmode_config.yaml | {key: key2, shadow_mode: true, MINUTE}, {key: key2, value: value2, MINUTE} | ~~",
        "share_threshold.yaml | {key: files, value: 'top/*', share_threshold: true, descriptors: [{key: files, value: 'nested/*', share_threshold: true, MINUTE}]}, {key: midpath, value: '/api*v1', share_threshold: true, MINUTE}, {key: route, value: 'api/*', value_to_metric: true, MINUTE} | value_to_metric",
        "wildcard.yaml | {key: wild, value: 'foo*', MINUTE}, {key: midWild, value: 'bar*b', MINUTE}, {key: multiWild, value: 'foo*bar*baz', MINUTE} | ~~"
      })
  void fileThatTheReferenceTakes_isConverted(String name, String descriptors, String reported)
      throws IOException {
    Conversion conversion = Conversion.ofEnvoyRateLimit(List.of(file(descriptors)));
    assertThat(
            conversion.notExpressed().stream()
                .map(problem -> problem.message().split(" ", 2)[0])
                .collect(Collectors.joining(",")))
        .as(name)
        .isEqualTo(reported);
    assertThat(conversion.files()).containsKeys("limits.yml", "rules.yml");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "bad_limit_unit.yaml | {key: key1, rate_limit: {unit: foo, requests_per_unit: 5}} | found 'foo', expected second",
        "duplicate_key.yaml | {key: key1, value: value1}, {key: key1, value: value1} | found the descriptor 'key1_value1' again",
        "empty_key.yaml | {value: value1} | the field key is missing",
        "misspelled_key.yaml | {key: key1, ratelimit: {unit: day}} | did you mean 'rate_limit'?",
        "misspelled_key2.yaml | {key: key1, rate_limit: {unit: day, requestsperunit: 5}} | did you mean 'requests_per_unit'?",
        "non_map_list.yaml | a, b, c | found a text, expected a descriptor",
        "replaces_empty.yaml | {key: key1, rate_limit: {replaces: [{name: }], unit: day}} | found an empty name",
        "replaces_self.yaml | {key: key1, rate_limit: {name: self, replaces: [{name: self}], unit: day, requests_per_unit: 1}} | which the rule also charges",
        "unlimited_with_unit.yaml | {key: foo, rate_limit: {unlimited: true, unit: day}} | found a unit beside unlimited"
      })
  void fileThatTheReferenceRefuses_isRefused(String name, String descriptors, String message)
      throws IOException {
    Path file = file(descriptors);
    assertThatThrownBy(() -> Conversion.ofEnvoyRateLimit(List.of(file)))
        .as(name)
        .isInstanceOf(LimitFilesException.class)
        .hasMessageContaining(message.replace("'", "\""))
        .hasMessageNotContaining("found a map");
  }
}
