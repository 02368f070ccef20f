package dev.sluice.acme;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.limit.IdFormat;
import dev.sluice.limit.Strictness;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PublicSuffixesTest {

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
        .hasMessageContaining("whole list");
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
