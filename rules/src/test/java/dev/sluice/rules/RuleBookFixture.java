// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import dev.sluice.limit.Limits;
import dev.sluice.yaml.LimitFiles;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Limits with a book of rules, from files. */
final class RuleBookFixture {

  static final String LIMITS =
      """
      names:
        - {number: 201, name: PerIp, id: ipAddress}
        - {number: 202, name: PerKey, id: string}
        - {number: 203, name: PerUserAtIp, id: "ipAddress:string"}
        - {number: 204, name: PerRange, id: ipv6RangeCIDR}
        - {number: 205, name: Free, id: string}
        - {number: 206, name: Forgotten, id: string}
        - {number: 207, name: ByHeader, id: ipAddress}
      PerIp: {burst: 10, count: 10, period: 1s}
      PerKey: {burst: 100, count: 100, period: 1m, debt: 10}
      PerUserAtIp: {burst: 5, count: 5, period: 1m, debt: 1}
      PerRange: {burst: 50, count: 50, period: 1m}
      Free: {unlimited: true}
      ByHeader: {burst: 10, count: 10, period: 1s}
      """;

  private RuleBookFixture() {}

  /** The files in a folder: limits.yml, and rules.yml with the text. */
  static LimitFiles files(Path folder, String rules) {
    try {
      Files.writeString(folder.resolve("limits.yml"), LIMITS);
      Files.writeString(folder.resolve("rules.yml"), rules);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return files(folder.resolve("limits.yml"), folder.resolve("rules.yml"));
  }

  static LimitFiles files(Path limits, Path rules) {
    return LimitFiles.builder().defaults(limits).companion(rules, RuleBook.reader()).build();
  }

  static Limits limits(Path folder, String rules) {
    return files(folder, rules).load();
  }
}
