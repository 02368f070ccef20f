// SPDX-License-Identifier: Apache-2.0
package dev.sluice.acme;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.ibm.icu.text.IDNA;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.hc.client5.http.psl.DomainType;
import org.apache.hc.client5.http.psl.PublicSuffixList;
import org.apache.hc.client5.http.psl.PublicSuffixListParser;
import org.apache.hc.client5.http.psl.PublicSuffixMatcher;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PublicSuffixesTest {

  /** A label that stands in no rule; x.se is a suffix. */
  private static final String NO_SUFFIX = "zzz-zzz.";

  private static final String NEWER =
      """
      // VERSION: 2026-11-01_10-20-30_UTC
      // ===BEGIN ICANN DOMAINS===
      com
      brandnew
      // ===END ICANN DOMAINS===
      // ===BEGIN PRIVATE DOMAINS===
      hosting.com
      // ===END PRIVATE DOMAINS===
      """;

  @TempDir Path folder;

  @ParameterizedTest
  @CsvSource({
    "www.example.com, example.com",
    "WWW.Example.COM, example.com",
    "*.example.com, example.com",
    "*.com, com",
    "a.b.example.co.uk, example.co.uk",
    "co.uk, co.uk",
    "github.io, github.io",
    "a.b.github.io, b.github.io",
    "www.city.kawasaki.jp, city.kawasaki.jp", // an exception
    "a.b.c.kawasaki.jp, b.c.kawasaki.jp", // a wildcard rule
    "a.b.nosuchtld, b.nosuchtld",
    "nosuchtld, nosuchtld",
    "www.xn--55qx5d.cn, www.xn--55qx5d.cn", // 公司.cn is a suffix
    "a.www.xn--55qx5d.cn, www.xn--55qx5d.cn"
  })
  void registeredName_isTheSuffixAndOneLabel(String name, String registered) {
    assertThat(PublicSuffixes.bundled().registeredName(name)).isEqualTo(registered);
  }

  @Test
  void fqdnsToEtldsPlusOne_lowersDeduplicatesAndSorts() {
    assertThat(
            PublicSuffixes.bundled()
                .fqdnsToEtldsPlusOne(
                    List.of("www.example.com", "EXAMPLE.com", "www.example.co.uk", "co.uk")))
        .containsExactly("co.uk", "example.co.uk", "example.com");
    assertThat(PublicSuffixes.bundled().fqdnsToEtldsPlusOne(List.of())).isEmpty();
  }

  /**
   * Every rule of the list, by the algorithm that its authors print: the longest rule wins, an
   * exception before any, the last label where there is none.
   */
  @Test
  void registeredName_isThatOfThePrintedAlgorithm_forEveryRuleOfTheList() throws IOException {
    Set<String> rules = rules();
    assertThat(rules).hasSizeGreaterThan(9_000).contains("*.kawasaki.jp", "!city.kawasaki.jp");
    List<String> wrong = new ArrayList<>();
    for (String rule : rules) {
      String name = rule.replace("*", "any").replace("!", "");
      for (String unicode : List.of(name, "a." + name, "b.a." + name, "c.b.a." + name)) {
        String found = PublicSuffixes.bundled().registeredName(ascii(unicode));
        String expected = ascii(registeredBy(rules, unicode));
        if (!found.equals(expected)) {
          wrong.add("%s: found %s, expected %s".formatted(unicode, found, expected));
        }
      }
    }
    assertThat(wrong).isEmpty();
  }

  @Test
  void knows_everyRule_whatIsUnderIt_andAWildcardsParent() throws IOException {
    List<String> unknown = new ArrayList<>();
    for (String rule : rules()) {
      String parent = rule.replaceFirst("^(\\*\\.|!)", "");
      for (String name : List.of(parent, "a." + parent, "b.a." + parent)) {
        if (name.contains(".") && !PublicSuffixes.bundled().knows(ascii(name))) {
          unknown.add(name);
        }
      }
    }
    assertThat(unknown).isEmpty();
    assertThat(PublicSuffixes.bundled().knows("a.nosuchtld")).isFalse();
  }

  /** Apache HttpClient's matcher, whose parser and algorithm are somebody else's. */
  @Test
  void everyAnswer_isThatOfAnotherMatcher_forEveryRuleOfTheList() throws IOException {
    PublicSuffixMatcher oracle = oracle();
    PublicSuffixes ours = PublicSuffixes.bundled();
    List<String> wrong = new ArrayList<>();
    for (String rule : rules()) {
      String end = ascii(rule.replace("*", "any").replace("!", ""));
      for (String name : List.of(end.substring(end.indexOf('.') + 1), end, "a." + end)) {
        String root = oracle.getDomainRoot(name);
        boolean icann =
            oracle.getDomainRoot(NO_SUFFIX + name, DomainType.ICANN) != null
                && oracle.getDomainRoot(name, DomainType.ICANN) == null;
        boolean known =
            Stream.of(DomainType.ICANN, DomainType.PRIVATE)
                .anyMatch(
                    part ->
                        oracle.getDomainRoot(NO_SUFFIX + name, part) != null
                            || oracle.getDomainRoot(name, part) != null);
        if (!ours.registeredOf(name).equals(root == null ? name : root)
            || ours.isIcannSuffix(name) != icann
            || ours.knows(name) != known) {
          wrong.add(name);
        }
      }
    }
    assertThat(wrong).isEmpty();
  }

  /** With each rule in punycode too: its decoder (java.net.IDN) knows no script after 2002. */
  private static PublicSuffixMatcher oracle() throws IOException {
    try (InputStream list = list()) {
      return new PublicSuffixMatcher(
          PublicSuffixListParser.INSTANCE
              .parseByType(new InputStreamReader(list, StandardCharsets.UTF_8))
              .stream()
              .map(
                  part ->
                      new PublicSuffixList(
                          part.getType(), both(part.getRules()), both(part.getExceptions())))
              .toList());
    }
  }

  private static List<String> both(List<String> rules) {
    return Stream.concat(rules.stream(), rules.stream().map(PublicSuffixesTest::ascii))
        .distinct()
        .toList();
  }

  @ParameterizedTest
  @CsvSource({
    "co.uk, true",
    "example.co.uk, false",
    "github.io, false", // of the PRIVATE part
    "c.kobe.jp, true",
    "kobe.jp, false",
    "city.kobe.jp, false",
    "foo.ck, true",
    "www.ck, false",
    "xn--9tfky.id, true",
    "se, true" // though x.se is one too
  })
  void isIcannSuffix_isOfThePartOfTheRegistries(String name, boolean suffix) {
    assertThat(PublicSuffixes.bundled().isIcannSuffix(name)).isEqualTo(suffix);
  }

  private static Set<String> rules() throws IOException {
    try (InputStream list = list()) {
      return new String(list.readAllBytes(), StandardCharsets.UTF_8)
          .lines()
          .map(line -> line.split("\\s", 2)[0])
          .filter(rule -> !rule.isEmpty() && !rule.startsWith("//"))
          .collect(Collectors.toSet());
    }
  }

  private static InputStream list() {
    return PublicSuffixMatcher.class.getResourceAsStream(
        "/org/publicsuffix/list/effective_tld_names.dat");
  }

  private static String registeredBy(Set<String> rules, String name) {
    List<String> labels = List.of(name.split("\\."));
    for (int i = 0; i < labels.size(); i++) {
      if (rules.contains("!" + from(labels, i))) {
        return from(labels, i);
      }
    }
    for (int i = 0; i < labels.size(); i++) {
      if (rules.contains(from(labels, i)) || rules.contains("*." + from(labels, i + 1))) {
        return from(labels, Math.max(i - 1, 0));
      }
    }
    return from(labels, Math.max(labels.size() - 2, 0));
  }

  private static String from(List<String> labels, int first) {
    return String.join(".", labels.subList(first, labels.size()));
  }

  private static String ascii(String name) {
    StringBuilder ascii = new StringBuilder();
    IDNA.getUTS46Instance(IDNA.NONTRANSITIONAL_TO_ASCII).nameToASCII(name, ascii, new IDNA.Info());
    return ascii.toString();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "example..com", "example.com.", "a.*.com", "xn--a.com\uffff", "\u212a.com"})
  void registeredName_ofNoDnsName_isRefused(String name) {
    assertThatThrownBy(() -> PublicSuffixes.bundled().registeredName(name))
        .isInstanceOf(InvalidIdException.class)
        .hasMessageContaining("invalid domain");
  }

  @Test
  void bundled_hasADate() {
    assertThat(PublicSuffixes.bundled().publishedAt())
        .isAfter(Instant.parse("2025-01-01T00:00:00Z"));
  }

  @Test
  void aNewerFile_holdsFromTheNextIdOn_andAnOlderAnswerIsNotKept() throws IOException {
    AtomicReference<PublicSuffixes> list = new AtomicReference<>(PublicSuffixes.bundled());
    AcmeLimits acme = AcmeLimits.with(list::get);
    IdFormat domain = acme.idFormats().parse("domain");
    List<Identifier> order = Identifier.parseAll(List.of("a.shop.hosting.com"));
    assertThat(acme.covering(order)).containsExactly("hosting.com");
    assertThatThrownBy(() -> domain.canonical("example.brandnew", Strictness.LENIENT))
        .hasMessageContaining("public suffix");

    list.set(PublicSuffixes.load(Files.writeString(folder.resolve("newer.dat"), NEWER)));

    assertThat(list.get().publishedAt()).isEqualTo("2026-11-01T10:20:30Z");
    assertThat(acme.covering(order)).containsExactly("shop.hosting.com");
    assertThat(domain.canonical("example.brandnew", Strictness.STRICT))
        .isEqualTo("example.brandnew");
  }

  @Test
  void load_halfAList_isRefused() throws IOException {
    Path half = Files.writeString(folder.resolve("half.dat"), NEWER.substring(0, 100));
    assertThatThrownBy(() -> PublicSuffixes.load(half))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("half.dat")
        .hasMessageContaining("the list is incomplete");
  }

  @Test
  void load_aListWithoutADateOrRules_isRefused() throws IOException {
    Path undated =
        Files.writeString(folder.resolve("undated.dat"), NEWER.replace("2026-11-01", "2026-13-41"));
    assertThatThrownBy(() -> PublicSuffixes.load(undated))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("undated.dat: found the version 2026-13-41_10-20-30");
    Path none =
        Files.writeString(folder.resolve("none.dat"), NEWER.replaceAll("(?m)^(com|brandnew)$", ""));
    assertThatThrownBy(() -> PublicSuffixes.load(none))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("none.dat: the list is incomplete: the ICANN part is missing");
    Path binary = Files.write(folder.resolve("binary.dat"), new byte[] {(byte) 0xff, 0});
    assertThatThrownBy(() -> PublicSuffixes.load(binary))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("not UTF-8");
  }

  @Test
  void load_anotherPage_isRefused() throws IOException {
    Path page = Files.writeString(folder.resolve("page.html"), "<html>Please log in</html>");
    assertThatThrownBy(() -> PublicSuffixes.load(page)).hasMessageContaining("VERSION");
  }

  @Test
  void load_noFile_saysSo() {
    assertThatThrownBy(() -> PublicSuffixes.load(folder.resolve("none.dat")))
        .isInstanceOf(NoSuchFileException.class);
  }
}
