// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules.convert;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import dev.sluice.Transaction;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.rules.RuleBook;
import dev.sluice.rules.RuleBook.DescriptorEntry;
import dev.sluice.rules.RuleMatch;
import dev.sluice.rules.RuleMatch.Verdict;
import dev.sluice.rules.convert.Conversion.Renaming;
import dev.sluice.rules.convert.EnvoyRateLimitFile.Domains;
import dev.sluice.yaml.LimitFiles;
import dev.sluice.yaml.LimitFilesException;
import dev.sluice.yaml.Problem;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a converted configuration does with descriptors is what the reference does. */
final class ConversionTest {

  private static final String CONFIG =
      """
      domain: edge
      descriptors:
        - key: remote_address
          rate_limit: {unit: second, requests_per_unit: 10}
        - key: remote_address
          value: 50.0.0.5
          rate_limit: {unit: second, requests_per_unit: 3}
        - key: remote_address
          value: 50.0.0.6
          rate_limit: {unlimited: true}
        - key: path
          value: /api/*
          rate_limit: {unit: minute, requests_per_unit: 20}
        - key: path
          value: /files/*
          share_threshold: true
          rate_limit: {unit: MINUTE, requests_per_unit: 5}
        - key: path
          value: /api/slow
          shadow_mode: true
          rate_limit: {unit: week, requests_per_unit: 7, name: slow}
        - key: tenant
          value: big
          descriptors:
            - key: plan
              value: gold
              rate_limit: {unit: hour, requests_per_unit: 1000}
        - key: tenant
          descriptors:
            - key: plan
              rate_limit: {unit: day, requests_per_unit: 100}
            - key: user
              rate_limit: {unit: month, requests_per_unit: 50}
      """;

  private static final String FORM =
      "a name is a letter, then letters, digits, \"_\", \".\" or \"-\", does not begin with"
          + " \"shadow-\", and no other limit has it";

  @TempDir private Path folder;

  private Limits limits;

  @BeforeEach
  void convert() throws IOException {
    Conversion conversion = conversion(CONFIG);
    assertThat(conversion.notExpressed()).isEmpty();
    limits = load(conversion);
  }

  private Conversion conversion(String config) throws IOException {
    return conversion(Map.of("config.yaml", config));
  }

  /** By the names of files, in their order. */
  private Conversion conversion(Map<String, String> configs) throws IOException {
    List<Path> files = new ArrayList<>();
    for (String name : configs.keySet().stream().sorted().toList()) {
      files.add(Files.writeString(folder.resolve(name), configs.get(name)));
    }
    return Conversion.ofEnvoyRateLimit(files);
  }

  private Limits load(Conversion conversion) throws IOException {
    for (Map.Entry<String, String> file : conversion.files().entrySet()) {
      Files.writeString(folder.resolve(file.getKey()), file.getValue());
    }
    LimitFiles.Builder files =
        LimitFiles.builder()
            .defaults(folder.resolve("limits.yml"))
            .companion(folder.resolve("rules.yml"), RuleBook.reader());
    if (conversion.files().containsKey("overrides.yml")) {
      files.overrides(folder.resolve("overrides.yml"));
    }
    assertThat(files.build().lint()).isEmpty();
    return files.build().load();
  }

  private static List<DescriptorEntry> entries(String text) {
    List<DescriptorEntry> entries = new ArrayList<>();
    for (String one : text.split(";", -1)) {
      String[] pair = one.split("=", 2);
      entries.add(new DescriptorEntry(pair[0], pair[1]));
    }
    return entries;
  }

  /** The requests of each period, and the id; "unlimited" or "none". */
  private String found(String descriptor) {
    return found("edge", descriptor);
  }

  private String found(String domain, String descriptor) {
    Optional<RuleMatch> match = RuleBook.of(limits).match(domain, entries(descriptor));
    if (match.isEmpty()) {
      return "none";
    }
    if (match.get().verdict() != Verdict.CHARGES) {
      return match.get().verdict().name().toLowerCase(Locale.ROOT);
    }
    if (match.get().charges().isEmpty()) {
      return "none"; // answered like what no rule is for
    }
    Transaction one = match.get().charges().get(0).transaction(limits);
    return "%s a %s for %s%s"
        .formatted(
            one.quota().burst(), one.quota().period(), one.id(), one.isShadow() ? " on trial" : "");
  }

  @ParameterizedTest
  @CsvSource({
    "remote_address=192.0.2.7, 10 a PT1S for 192.0.2.7",
    "remote_address=50.0.0.5, 3 a PT1S for 50.0.0.5",
    "remote_address=50.0.0.6, unlimited",
    "path=/api/x, 20 a PT1M for /api/x",
    "path=/api/slow, 7 a PT168H for * on trial",
    "path=/files/a, 5 a PT1M for *",
    "path=/other, none",
    "tenant=big;plan=gold, 1000 a PT1H for *",
    "tenant=big;plan=iron, none", // the reference goes into "big", and finds nothing there
    "tenant=big;user=ann, none",
    "tenant=small;plan=gold, 100 a PT24H for small:gold",
    "tenant=small;user=ann, 50 a PT720H for small:ann",
    "tenant=small, none",
    "remote_address=192.0.2.7;user=ann, none",
    "nobody=knows, none"
  })
  void descriptor_comesToTheLimitOfTheReference(String descriptor, String expected) {
    assertThat(found(descriptor)).isEqualTo(expected);
  }

  @Test
  void otherDomain_isNotLimited() {
    assertThat(RuleBook.of(limits).match("other", entries("remote_address=192.0.2.7"))).isEmpty();
  }

  @Test
  void whatCannotBeExpressed_isNamedByItsPlace() throws IOException {
    Conversion conversion =
        conversion(
            """
            domain: edge
            descriptors:
              - key: a
                detailed_metric: true
                quota_mode: true
                metadata: {x: 1}
                rate_limit:
                  unit: second
                  requests_per_unit: 1
                  replaces: [{name: b}]
              - key: b*
                rate_limit: {unit: second, requests_per_unit: 1}
              - key: c
                shadow_mode: true
                rate_limit: {unit: second, requests_per_unit: 0}
            """);
    assertThat(conversion.notExpressed().stream().map(ConversionTest::shown))
        .containsExactly(
            "3:5 replaces", // there is no limit of that name
            "4:22 detailed_metric",
            "5:17 quota_mode",
            "6:15 metadata",
            "11:10 not",
            "14:18 shadow_mode");
    assertThat(load(conversion).configured()).hasSize(1);
  }

  /** An override has no rule, so the pattern's rule would be the first one for its value. */
  @Test
  void valueThatAPatternCoversToo_keepsItsLimit() throws IOException {
    Conversion conversion =
        conversion(
            """
            domain: edge
            descriptors:
              - key: remote_address
                value: 10.0.0.5
                rate_limit: {unit: second, requests_per_unit: 3}
              - key: remote_address
                value: "10.*"
                rate_limit: {unlimited: true}
              - key: remote_address
                value: 50.0.0.5
                rate_limit: {unit: second, requests_per_unit: 4}
              - key: remote_address
                rate_limit: {unit: second, requests_per_unit: 100}
            """);
    limits = load(conversion);
    assertThat(found("remote_address=10.0.0.5")).startsWith("3 a PT1S");
    assertThat(found("remote_address=10.0.0.6")).isEqualTo("unlimited");
    assertThat(found("remote_address=50.0.0.5")).isEqualTo("4 a PT1S for 50.0.0.5");
    assertThat(found("remote_address=192.0.2.7")).isEqualTo("100 a PT1S for 192.0.2.7");
    assertThat(conversion.files().get("overrides.yml")).contains("50.0.0.5").doesNotContain("10.");
  }

  @Test
  void valueWithALimit_isADeadEnd_forWhatIsBelowOtherValues() throws IOException {
    limits =
        load(
            conversion(
                """
                domain: edge
                descriptors:
                  - key: tenant
                    value: big
                    rate_limit: {unit: hour, requests_per_unit: 3}
                  - key: tenant
                    rate_limit: {unit: hour, requests_per_unit: 2}
                    descriptors:
                      - key: user
                        rate_limit: {unit: hour, requests_per_unit: 1}
                """));
    assertThat(found("tenant=big")).isEqualTo("3 a PT1H for big");
    assertThat(found("tenant=big;user=ann")).isEqualTo("none");
    assertThat(found("tenant=small;user=ann")).isEqualTo("1 a PT1H for small:ann");
  }

  @Test
  void firstPatternThatMatches_isADeadEnd_forWhatIsBelowALaterOne() throws IOException {
    limits =
        load(
            conversion(
                """
                domain: edge
                descriptors:
                  - key: tenant
                    value: b*
                    rate_limit: {unit: hour, requests_per_unit: 3}
                  - key: tenant
                    value: big*
                    descriptors:
                      - key: user
                        rate_limit: {unit: hour, requests_per_unit: 1}
                """));
    assertThat(found("tenant=big1")).isEqualTo("3 a PT1H for big1");
    assertThat(found("tenant=big1;user=ann")).isEqualTo("none");
  }

  @ParameterizedTest
  @CsvSource({
    "path=/api/7/action, 1 a PT1S for /api/7/action",
    "path=/api//action, 1 a PT1S for /api//action",
    "path=/api/action, 3 a PT1S for /api/action",
    "path=/api/7/action/, 3 a PT1S for /api/7/action/",
    "path=/api/x*y, 4 a PT1S for /api/x*y",
    "path=/api/xzy, 3 a PT1S for /api/xzy",
    "path=/API/7/action, none",
    "host=a.example.com, 5 a PT1S for *",
    "host=*.example.com, 5 a PT1S for *",
    "host=example.com, none"
  })
  void starAnywhere_isMatchedInTheOrderOfTheReference(String descriptor, String expected)
      throws IOException {
    limits =
        load(
            conversion(
                """
                domain: edge
                descriptors:
                  - key: path
                    value: /api/*/action
                    rate_limit: {unit: second, requests_per_unit: 1}
                  - key: path
                    value: /api/*
                    rate_limit: {unit: second, requests_per_unit: 3}
                  - key: path
                    value: /api/x*y
                    rate_limit: {unit: second, requests_per_unit: 4}
                  - key: host
                    value: "*.example.com"
                    share_threshold: true
                    rate_limit: {unit: second, requests_per_unit: 5}
                """));
    assertThat(found(descriptor)).isEqualTo(expected);
  }

  @Test
  void anchors_standForTheirValues_andMapsAreMerged() throws IOException {
    limits =
        load(
            conversion(
                """
                domain: edge
                descriptors:
                  - key: a
                    rate_limit: &std {unit: minute, requests_per_unit: 30}
                  - {key: b, rate_limit: *std}
                  - key: c
                    rate_limit: {<<: *std, unit: hour}
                """));
    assertThat(found("b=x")).isEqualTo("30 a PT1M for x");
    assertThat(found("c=x")).isEqualTo("30 a PT1H for x");
  }

  @Test
  void aliasesThatGrow_areBounded() {
    StringBuilder text =
        new StringBuilder("domain: edge\nx0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n");
    for (int i = 1; i < 10; i++) {
      text.append("x%s: &a%s [%s]\n".formatted(i, i, "*a%s, ".formatted(i - 1).repeat(10)));
    }
    assertThatThrownBy(() -> conversion(text.toString()))
        .isInstanceOf(LimitFilesException.class)
        .hasMessageContaining("more than 2000000 values are not allowed");
  }

  @Test
  void filesOfOneDomain_areMergedInTheirOrder() throws IOException {
    Conversion conversion =
        conversion(
            Map.of(
                "a.yaml",
                """
                domain: edge
                descriptors:
                  - {key: vip, rate_limit: {unit: day, requests_per_unit: 9, replaces: [{name: per-ip}]}}
                  - {key: ip, value: "10.*", rate_limit: {unit: second, requests_per_unit: 1}}
                """,
                "b.yaml",
                """
                domain: edge
                descriptors:
                  - {key: ip, rate_limit: {name: per-ip, unit: second, requests_per_unit: 2}}
                  - {key: ip, value: "10.0.*", rate_limit: {unit: second, requests_per_unit: 3}}
                """));
    assertThat(conversion.notExpressed()).isEmpty();
    limits = load(conversion);
    assertThat(found("ip=10.0.0.1")).startsWith("1 a PT1S");
    assertThat(found("ip=9.0.0.1")).startsWith("2 a PT1S");
    assertThat(RuleBook.of(limits).match("edge", entries("vip=x")).orElseThrow().replaces())
        .containsExactly("per-ip");
  }

  /** A test of the growth, not of the machine: quadratic work would take minutes. */
  @Test
  void manyValuesOfOneKey_takeLinearTime() throws IOException {
    StringBuilder text = new StringBuilder("domain: edge\ndescriptors:\n");
    for (int i = 0; i < 40_000; i++) {
      text.append(
          "  - {key: k, value: v%s, rate_limit: {name: n, unit: second, requests_per_unit: %s}}\n"
              .formatted(i, 1 + i % 7));
    }
    String config =
        text + "  - {key: k, value: \"*z\", descriptors: [{key: l, rate_limit: {unit: day}}]}\n";
    Conversion conversion =
        assertTimeoutPreemptively(Duration.ofMinutes(1), () -> conversion(config));
    assertThat(conversion.files().get("limits.yml")).contains("n_40000: {id: string, burst");
  }

  private long stepsOf(int patterns, String pattern, String below) throws IOException {
    String rate = "rate_limit: {unit: second, requests_per_unit: 5}";
    StringBuilder text = new StringBuilder("domain: edge\ndescriptors:\n");
    for (int i = 0; i < patterns; i++) {
      String number = String.valueOf(10_000 + i);
      String own =
          switch (below) {
            case "rate" -> rate;
            case "list" -> "descriptors: [{key: l, value: %s, %s}]".formatted(number, rate);
            default ->
                i % 2 == 0 ? rate : "descriptors: [{key: l, value: %s, %s}]".formatted(i, rate);
          };
      String value = i % 2 == 0 ? pattern : pattern.replace("?*", "*?");
      text.append("  - {key: k, value: \"%s\", %s}%n".formatted(value.replace("?", number), own));
      text.append("  - {key: k, value: \"a%sb\", %s}%n".formatted(number, own));
    }
    Path file = Files.writeString(folder.resolve("config.yaml"), text);
    Limits read = LimitFiles.builder().companion(file, new EnvoyRateLimitFile()).build().load();
    return DomainWriter.write(Objects.requireNonNull(read.companion(Domains.class))).steps().get();
  }

  @ParameterizedTest
  @CsvSource({
    "p?*, rate",
    "*p?, rate",
    "a*x?*b, rate",
    "?*, rate",
    "?*, list",
    "?*, both",
    "*a?*, list",
    "a*?, both",
    "p?*x, list",
    "/api/*/v?, both"
  })
  void manyPatternsOfOneKey_takeStepsInProportion(String pattern, String below) throws IOException {
    long few = stepsOf(250, pattern, below);
    assertThat(stepsOf(1_000, pattern, below)).isBetween(1L, few * 5);
  }

  /** The reference denies them all; unlimited would be the opposite. */
  @Test
  void valueWithNoRequests_isDenied() throws IOException {
    Conversion conversion =
        conversion(
            """
            domain: edge
            descriptors:
              - key: remote_address
                rate_limit: {unit: second, requests_per_unit: 10}
              - key: remote_address
                value: 50.0.0.5
                rate_limit: {unit: second, requests_per_unit: 0}
              - key: user
                rate_limit: {unit: second, requests_per_unit: 0}
              - key: tenant
                descriptors:
                  - key: plan
                    rate_limit: {unit: second, requests_per_unit: 7}
              - key: tenant
                value: bad
                rate_limit: {unit: second, requests_per_unit: 0}
            """);
    assertThat(conversion.notExpressed()).isEmpty();
    limits = load(conversion);
    assertThat(found("remote_address=50.0.0.5")).isEqualTo("denies");
    assertThat(found("remote_address=50.0.0.6")).isEqualTo("10 a PT1S for 50.0.0.6");
    assertThat(found("user=ann")).isEqualTo("denies");
    assertThat(found("tenant=bad")).isEqualTo("denies");
    assertThat(found("tenant=bad;plan=gold")).as("a dead end there").isEqualTo("none");
  }

  /** The names of the server's own limits, and those that begin like the keys of trials. */
  @Test
  void nameThatNoLimitMayHave_isChanged() throws IOException {
    Conversion conversion =
        conversion(
            """
            domain: shadow-x
            descriptors:
              - key: a
                rate_limit: {name: shadow-per-ip, unit: second, requests_per_unit: 1}
              - key: b
                rate_limit: {name: cl.throttle, unit: second, requests_per_unit: 1}
              - key: c
                rate_limit: {unit: second, requests_per_unit: 1}
            """);
    assertThat(conversion.renamed().stream().map(Renaming::to))
        .containsExactly("limit_shadow-per-ip", "cl.throttle_2");
    assertThat(conversion.renamed().get(0).why()).isEqualTo(FORM);
    assertThat(load(conversion).configured()).hasSize(3);
  }

  @Test
  void limitThatGetsAnotherName_isTold_withTheReason() throws IOException {
    String config =
        """
        domain: edge
        descriptors:
          - key: a
            rate_limit: {name: 'a"b', unit: second, requests_per_unit: 1}
          - key: b
            rate_limit: {name: N!, unit: second, requests_per_unit: 1}
          - key: c
            rate_limit: {name: N?, unit: second, requests_per_unit: 1}
          - key: d
            rate_limit: {name: same, unit: second, requests_per_unit: 1}
          - key: e
            rate_limit: {name: same, unit: second, requests_per_unit: 1}
          - key: f
            rate_limit: {unit: second, requests_per_unit: 1}
        """;
    String other =
        """
        domain: mesh
        descriptors:
          - key: a
            rate_limit: {name: same, unit: second, requests_per_unit: 1}
        """;
    Conversion one = conversion(config);
    assertThat(one.renamed().stream().map(ConversionTest::shown))
        .containsExactly(
            "4:24: note: the limit \"a\\\"b\" is named a_b in the converted files: " + FORM,
            "6:24: note: the limit \"N!\" is named N_ in the converted files: " + FORM,
            "8:24: note: the limit \"N?\" is named N__2 in the converted files: " + FORM,
            "12:24: note: the limit \"same\" is named same_2 in the converted files: another limit has that name");
    Conversion both = conversion(Map.of("config.yaml", config, "other.yaml", other));
    assertThat(both.renamed().stream().map(Renaming::to))
        .containsExactly("a_b", "N_", "N__2", "edge.same", "edge.same_2", "mesh.same");
    assertThat(both.renamed().get(5).why())
        .isEqualTo("another domain has a limit with the same name");
  }

  private static String shown(Renaming renaming) {
    return renaming.toString().substring(renaming.file().length() + 1);
  }

  /** Rules count a subscriber's addresses as one id, so an override of one would never act. */
  @Test
  void singleIpv6Address_hasARule_insteadOfAnOverride() throws IOException {
    Limits converted =
        load(
            conversion(
                """
                domain: edge
                descriptors:
                  - {key: remote_address, rate_limit: {unit: second, requests_per_unit: 10}}
                  - {key: remote_address, value: "2001:db8::5", rate_limit: {unit: second, requests_per_unit: 3}}
                  - {key: remote_address, value: 192.0.2.7, rate_limit: {unit: second, requests_per_unit: 4}}
                """));
    for (String[] row :
        new String[][] {{"2001:db8::5", "3"}, {"2001:db8::6", "10"}, {"192.0.2.7", "4"}}) {
      RuleMatch match =
          RuleBook.of(converted)
              .match("edge", List.of(new DescriptorEntry("remote_address", row[0])))
              .orElseThrow();
      assertThat(match.enforced(converted, 1))
          .as(row[0])
          .singleElement()
          .satisfies(one -> assertThat(one.quota().burst()).isEqualTo(Long.parseLong(row[1])));
    }
  }

  /** The reference refuses the first two; by the third, a request would be charged nothing. */
  @Test
  void replaces_ofItsOwnName_ofNoName_orInACircle_isRefused() {
    for (String[] one :
        new String[][] {
          {
            "{key: k, rate_limit: {name: self, replaces: [{name: self}], unit: hour, requests_per_unit: 2}}",
            "3:5: the rule on line 3 replaces \"self\", which the rule also charges"
          },
          {
            "{key: k, rate_limit: {unlimited: true, name: self, replaces: [{name: self}]}}",
            "3:5: the rule on line 3 replaces \"self\", which the rule also charges"
          },
          {
            "{key: k, rate_limit: {replaces: [{name: }], unit: hour, requests_per_unit: 2}}",
            "3:44: found an empty name, expected the name of a limit"
          },
          {
            "{key: k, rate_limit: {replaces: [{name: [a]}], unit: hour, requests_per_unit: 2}}",
            "3:45: found a list, expected the name of a limit"
          },
          {
            "{key: k, rate_limit: {name: x, replaces: [{name: y}], unit: hour, requests_per_unit: 2}}\n"
                + "  - {key: l, rate_limit: {name: y, replaces: [{name: x}], unit: hour, requests_per_unit: 2}}",
            "\"x\" replaces \"y\" (line 3), \"y\" replaces \"x\" (line 4)"
          }
        }) {
      assertThatThrownBy(() -> conversion("domain: d\ndescriptors:\n  - %s\n".formatted(one[0])))
          .as(one[0])
          .isInstanceOf(LimitFilesException.class)
          .hasMessageContaining(one[1]);
    }
  }

  @Test
  void replaces_namesTheLimitsAsTheyAreWritten() throws IOException {
    Conversion conversion =
        conversion(
            """
            domain: edge
            descriptors:
              - key: vip
                rate_limit: {unit: second, requests_per_unit: 50, replaces: [{name: per-ip}]}
              - key: remote_address
                rate_limit: {name: per-ip, unit: second, requests_per_unit: 10}
              - key: remote_address
                value: 50.0.0.5
                rate_limit: {name: per-ip, unit: second, requests_per_unit: 3}
              - key: open
                rate_limit: {unlimited: true, replaces: [{name: per-ip}]}
            """);
    assertThat(conversion.notExpressed()).isEmpty();
    limits = load(conversion);
    for (String descriptor : List.of("vip=ann", "open=x")) {
      assertThat(RuleBook.of(limits).match("edge", entries(descriptor)).orElseThrow().replaces())
          .containsExactlyInAnyOrder("per-ip", "per-ip_2");
    }
    assertThat(found("remote_address=50.0.0.5")).startsWith("3 a PT1S");
    assertThat(RuleBook.of(limits).match("edge", entries("remote_address=x")).orElseThrow())
        .satisfies(match -> assertThat(match.replaces()).isEmpty());
  }

  @Test
  void namesThatAreTaken_getANumber() throws IOException {
    limits =
        load(
            conversion(
                """
                domain: edge
                descriptors:
                  - {key: a, rate_limit: {name: names, unit: second, requests_per_unit: 1}}
                  - {key: b, rate_limit: {name: NewOrdersPerAccount, unit: second, requests_per_unit: 2}}
                  - {key: c, rate_limit: {name: LoginsPerIPAddress, unit: second, requests_per_unit: 3}}
                """));
    assertThat(found("b=x")).isEqualTo("2 a PT1S for x");
    assertThat(limits.configured().stream().map(LimitName::name))
        .containsExactlyInAnyOrder("names_2", "NewOrdersPerAccount_2", "LoginsPerIPAddress_2");
  }

  @Test
  void severalDomains_becomeOneSet_withTheDomainBeforeNamesThatTheyShare() throws IOException {
    Conversion conversion =
        conversion(
            Map.of(
                "a.yaml",
                """
                domain: edge
                descriptors:
                  - {key: ip, rate_limit: {name: per-ip, unit: second, requests_per_unit: 1}}
                  - {key: vip, rate_limit: {unit: day, requests_per_unit: 9, replaces: [{name: per-ip}]}}
                  - {key: user, rate_limit: {name: per-user, unit: second, requests_per_unit: 2}}
                  - key: user
                    value: ann
                    rate_limit: {name: per-user, unit: second, requests_per_unit: 7}
                """,
                "b.yaml",
                """
                domain: mesh
                descriptors:
                  - {key: ip, rate_limit: {name: per-ip, unit: second, requests_per_unit: 3}}
                  - {key: op, quota_mode: true, rate_limit: {unit: second, requests_per_unit: 4}}
                """));
    assertThat(conversion.notExpressed())
        .singleElement()
        .satisfies(problem -> assertThat(problem.file()).endsWith("b.yaml"));
    limits = load(conversion);
    assertThat(limits.configured())
        .extracting(limit -> limit.bucketKey("x"))
        .containsExactlyInAnyOrder(
            "edge.per-ip:x", "edge.vip:x", "per-user:x", "mesh.per-ip:x", "mesh.op:x");
    assertThat(found("edge", "ip=x")).isEqualTo("1 a PT1S for x");
    assertThat(found("edge", "user=ann")).isEqualTo("7 a PT1S for ann");
    assertThat(found("mesh", "ip=x")).isEqualTo("3 a PT1S for x");
    assertThat(found("mesh", "user=ann")).isEqualTo("none");
    RuleBook book = RuleBook.of(limits);
    assertThat(book.match("edge", entries("vip=ann")).orElseThrow().replaces())
        .containsExactly("edge.per-ip");
    assertThat(book.isRulesOnly("edge") && book.isRulesOnly("mesh")).isTrue();
    assertThat(conversion.files().get("limits.yml"))
        .contains("a.yaml, domain \"edge\".\n# Converted from ");
  }

  @Test
  void mistakes_nameTheirFile() {
    String config = "{domain: edge, descriptors: [{key: a, rate_limit: {unit: %s, %s}}]}";
    String good = config.formatted("day", "requests_per_unit: 1");
    assertThatThrownBy(() -> conversion(Map.of("a.yaml", good, "b.yaml", good)))
        .isInstanceOf(LimitFilesException.class)
        .hasMessageContaining(
            "b.yaml:1:30: found the descriptor \"a\" again, expected it once; it is on line 1 of ")
        .hasMessageEndingWith("a.yaml too");
    String bad = config.formatted("fortnight", "requests_per_unit: 1").replace("edge", "mesh");
    assertThatThrownBy(() -> conversion(Map.of("a.yaml", good, "b.yaml", bad)))
        .isInstanceOf(LimitFilesException.class)
        .hasMessageContaining("b.yaml:1:58: found \"fortnight\"");
  }

  private static String shown(Problem problem) {
    return "%s:%s %s"
        .formatted(problem.line(), problem.column(), problem.message().split("[ ,]", 2)[0]);
  }

  private static final String IN_CLUSTER =
      """
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: ratelimit}
      data:
        edge.yaml: |
          domain: edge
          descriptors:
            - key: user
              rate_limit: {unit: minute, requests_per_unit: 5}
        more.yaml: "domain: edge\\ndescriptors:\\n  - key: %s\\n    quota_mode: true\\n\\
          \\    rate_limit: {unit: hour, requests_per_unit: 7}\\n"
      """;

  @Test
  void configMap_isConvertedAsItsFiles_whosePlacesAreNamed() throws IOException {
    Conversion conversion = conversion(IN_CLUSTER.formatted("plan"));
    limits = load(conversion);
    assertThat(found("user=1")).startsWith("5 a PT1M");
    assertThat(found("plan=1")).startsWith("7 a PT1H");
    assertThat(conversion.notExpressed().toString())
        .contains("config.yaml, data.more.yaml:4:17: warning: quota_mode is not converted");
  }

  @Test
  void configMap_withBinaryData_warnsThatItIsNotRead() throws IOException {
    Conversion conversion =
        conversion(IN_CLUSTER.formatted("plan") + "binaryData: {x.yaml: eA==}\n");
    assertThat(conversion.notExpressed().toString())
        .contains("config.yaml:12:1: warning: binaryData is not read");
  }

  @Test
  void valueThatNoLimitFileCanHold_isAMistake() {
    assertThatThrownBy(
            () ->
                conversion(
                    "{domain: d, descriptors: [{key: a, value: %s, rate_limit: {unlimited: true}}]}"
                        .formatted("v".repeat(70_000))))
        .isInstanceOf(LimitFilesException.class)
        .hasMessageContaining("found a value of 70000 characters, expected at most 65536");
  }

  @Test
  void configMap_whoseFilesHaveADescriptorTwice_namesBothPlaces() {
    assertThatThrownBy(() -> conversion(IN_CLUSTER.formatted("user")))
        .isInstanceOf(LimitFilesException.class)
        .hasMessageContaining("config.yaml, data.more.yaml:3:")
        .hasMessageContaining("config.yaml, data.edge.yaml");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "descriptors: [] | :1:1: the field domain is missing",
        "{domain: d, descriptors: [{key: a, rate_limit: {unit: fortnight, requests_per_unit: 1}}]} | :1:55: found \"fortnight\", expected second",
        "{domain: d, descriptors: [{key: a, rate_limit: {unit: seconds, requests_per_unit: 1}}]} | did you mean \"second\"",
        "{rules: [], lists: 1} | found the field \"rules\", expected one of domain, descriptors",
        "{limit: {unit: day}, domain: [d]} | found the field \"limit\"",
        "{domain: d, descriptors: [{kye: a}]} | found the field \"kye\"",
        "{domain: d, descriptors: [{key: a}, {key: a}]} | again, expected it once",
        "{domain: d, descriptors: [{key: a, rate_limit: {unlimited: true, unit: day}}]} | found a unit beside unlimited",
        "{domain: d} | 1:1: no descriptor has a rate_limit, so there is nothing to convert",
        "{domain: d, descriptors: [{key: a, value: b}]} | 1:26: no descriptor has a rate_limit",
        "{domain: d, descriptors: [{key: a*, rate_limit: {unit: day}}]} | 1:33: not converted, with all descriptors below it",
        "{kind: List, items: []} | 1:8: found \"List\", expected ConfigMap; write each ConfigMap into a file of its own",
        "{kind: ConfigMap, metadata: {name: rl}} | 1:2: found a ConfigMap without files, expected files in its field data",
        "{kind: ConfigMap, data: {a.yaml: [x]}} | 1:34: found a list, expected the text of a file",
        "{kind: ConfigMap, data: {a.yaml: x}} | , data.a.yaml:1:1: found a text, expected a map with the fields domain and descriptors",
        "{kind: ConfigMap, data: {\"a\\e\": x}} | , data.a\\u001b:1:1: found a text",
        "{domain: d, descriptors: *a} | 1:26: found the alias *a, expected an anchor &a before it",
        "{domain: d, descriptors: &a [*a]} | found the alias *a, expected an anchor &a before it"
      })
  void configurationWithMistakes_isNotConverted(String config, String message) {
    assertThatThrownBy(() -> conversion(config))
        .isInstanceOf(LimitFilesException.class)
        .hasMessageContaining(message);
  }
}
