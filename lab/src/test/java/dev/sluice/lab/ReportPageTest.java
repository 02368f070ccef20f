// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.testkit.servers.LocalBrowser;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.openqa.selenium.By;
import org.openqa.selenium.WebElement;

/** The report in a real browser: wide and narrow, light and dark, on paper. */
@Tag("slow")
@EnabledIf("dev.sluice.testkit.servers.LocalBrowser#isThere")
final class ReportPageTest {

  private static final Quota LIMIT = Quota.per(100, Duration.ofHours(1));
  private static final Duration LENGTH = Duration.ofHours(4);

  /** The folder for screenshots that people look at: {@code -Dsluice.screenshots=FOLDER}. */
  private static final Path SCREENSHOTS =
      Optional.ofNullable(System.getProperty("sluice.screenshots")).map(Path::of).orElse(null);

  @TempDir static Path folder;

  private static LocalBrowser browser;
  private static List<RunResult> outcomes;

  @BeforeAll
  static void openThePage() throws IOException {
    Scenario scenario =
        new Scenario(
            List.of(
                ClientGroup.parse("rogue:clients=3", LIMIT, LENGTH),
                ClientGroup.parse("steady:clients=20", LIMIT, LENGTH)),
            LENGTH,
            Duration.ofMinutes(1),
            1,
            "steady-1");
    Drip drip = Drip.HEALTHY.stalledFrom(Duration.ofHours(1), Duration.ofHours(2));
    outcomes =
        Arrays.stream(Algorithm.values())
            .map(kind -> scenario.run(new Subject(kind, LIMIT, drip), nanos -> {}))
            .toList();
    Path page = folder.resolve("report.html");
    Files.writeString(page, Report.html(scenario, outcomes, "sluice simulate --traffic 'a <b>'"));
    browser = LocalBrowser.start();
    browser.driver().get(page.toUri().toString());
  }

  @AfterAll
  static void close() {
    if (browser != null) {
      browser.close();
    }
  }

  static Stream<LocalBrowser.Look> looks() {
    return Stream.of(
        new LocalBrowser.Look("wide-light", 1280, "screen", "light"),
        new LocalBrowser.Look("wide-dark", 1280, "screen", "dark"),
        new LocalBrowser.Look("narrowest-table-light", 901, "screen", "light"),
        new LocalBrowser.Look("tablet-light", 768, "screen", "light"),
        new LocalBrowser.Look("narrow-light", 390, "screen", "light"),
        new LocalBrowser.Look("narrow-dark", 390, "screen", "dark"),
        new LocalBrowser.Look("small-light", 320, "screen", "light"),
        new LocalBrowser.Look("print-from-dark", 700, "print", "dark"));
  }

  @BeforeEach
  void asOnAScreen() {
    browser.look(new LocalBrowser.Look("wide-light", 1280, "screen", "light"));
  }

  @ParameterizedTest
  @MethodSource("looks")
  void page_fitsTheScreen_andCanBeRead(LocalBrowser.Look look) {
    browser.look(look);
    keepPictures(look);
    assertThat(browser.ask("return document.documentElement.scrollWidth"))
        .isEqualTo((long) look.width());
    assertThat(faults()).isEmpty();
    assertThat(
            browser.ask(
                "return [...document.querySelectorAll('svg')].filter(s => s.checkVisibility()).length"))
        .as("charts that are shown")
        .isEqualTo(3L);
    // On paper a table needs less space than cards.
    assertThat(
            browser.ask("return getComputedStyle(document.querySelector('.summary tr')).display"))
        .isEqualTo(look.width() > 900 || look.media().equals("print") ? "table-row" : "block");
    boolean narrow = look.width() < 640;
    assertThat(browser.ask("return document.querySelector('.narrow').checkVisibility()"))
        .isEqualTo(narrow);
  }

  /** Reads {@code COUNT/PERIOD} or {@code COUNT/PERIOD,burst=BURST}. */
  private static Quota quota(String text) {
    String[] parts = text.split("/|,burst=", -1);
    long count = Long.parseLong(parts[0]);
    long burst = parts.length == 3 ? Long.parseLong(parts[2]) : count;
    return Quota.burst(burst).refill(count, GoDuration.parse(parts[1]));
  }

  /** Long names, large numbers, days instead of hours; and runs with almost no requests. */
  @ParameterizedTest
  @CsvSource({
    "1280, 72h, 1h, '123456/24h;9876543/720h,burst=1234567', steady:clients=1",
    "390, 72h, 1h, '123456/24h;9876543/720h,burst=1234567', steady:clients=1",
    "320, 72h, 1h, '123456/24h;9876543/720h,burst=1234567', steady:clients=1",
    "390, 20ms, 1ms, 3/10ms, steady:clients=1",
    "390, 1s, 1s, 1/1h, 'rogue:start=10m'",
  })
  void page_fitsTheScreen_whateverIsCompared(
      int width, String length, String bin, String limits, String traffic) throws IOException {
    Duration time = GoDuration.parse(length);
    List<Quota> quotas = Stream.of(limits.split(";", -1)).map(ReportPageTest::quota).toList();
    Scenario scenario =
        new Scenario(
            List.of(ClientGroup.parse(traffic, quotas.get(0), time)),
            time,
            GoDuration.parse(bin),
            1,
            "");
    List<RunResult> compared =
        quotas.stream()
            .flatMap(
                quota ->
                    Stream.of(Algorithm.SLIDING_COUNTER, Algorithm.LEAKY_BUCKET)
                        .map(kind -> scenario.run(new Subject(kind, quota), nanos -> {})))
            .toList();
    Path page = folder.resolve("other.html");
    Files.writeString(page, Report.html(scenario, compared, "sluice simulate " + "x".repeat(300)));
    try {
      browser.driver().get(page.toUri().toString());
      LocalBrowser.Look look =
          new LocalBrowser.Look("other-" + length + "-" + width, width, "screen", "light");
      browser.look(look);
      keepPictures(look);
      assertThat(browser.ask("return document.documentElement.scrollWidth"))
          .isEqualTo((long) width);
      assertThat(faults()).isEmpty();
    } finally {
      browser.driver().get(folder.resolve("report.html").toUri().toString());
    }
  }

  /** Stalls at the edges, close to each other, and after the end of the run. */
  @ParameterizedTest
  @ValueSource(ints = {1280, 390})
  void stalls_areNamed_whereverTheyLie(int width) throws IOException {
    Drip drip =
        Drip.HEALTHY
            .stalledFrom(Duration.ofMinutes(239), Duration.ofHours(9))
            .stalledFrom(Duration.ZERO, Duration.ofMinutes(2))
            .stalledFrom(Duration.ofMinutes(103), Duration.ofMinutes(10))
            .stalledFrom(Duration.ofMinutes(115), Duration.ofMinutes(1))
            .stalledFrom(Duration.ofHours(5), Duration.ofHours(1));
    Scenario scenario =
        new Scenario(
            List.of(ClientGroup.parse("steady", LIMIT, LENGTH)),
            LENGTH,
            Duration.ofMinutes(1),
            1,
            "");
    RunResult outcome = scenario.run(new Subject(Algorithm.LEAKY_BUCKET, LIMIT, drip), nanos -> {});
    Path page = folder.resolve("stalls.html");
    Files.writeString(page, Report.html(scenario, List.of(outcome), ""));
    try {
      browser.driver().get(page.toUri().toString());
      LocalBrowser.Look look = new LocalBrowser.Look("stalls-" + width, width, "screen", "light");
      browser.look(look);
      keepPictures(look);
      assertThat(faults()).isEmpty();
      assertThat(
              browser.ask(
                  "return [...document.querySelectorAll('svg')].filter(s => s.checkVisibility())"
                      + ".every(s => s.querySelectorAll('.over').length === 3)"))
          .isEqualTo(true);
    } finally {
      browser.driver().get(folder.resolve("report.html").toUri().toString());
    }
  }

  private static void keepPictures(LocalBrowser.Look look) {
    for (int screen = 0; screen < 4; screen++) {
      browser.scrollTo(screen * 880);
      browser.keepPicture(SCREENSHOTS, look + "-" + screen);
    }
  }

  /** Finds text that is too small, too pale, outside its chart, or on top of another text. */
  private static List<?> faults() {
    return (List<?>)
        browser.ask(
            """
            const faults = [];
            const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
            const light = colour => {
              const [r, g, b] = numbers(colour).map(c => {
                c /= 255;
                return c <= 0.03928 ? c / 12.92 : Math.pow((c + 0.055) / 1.055, 2.4);
              });
              return 0.2126 * r + 0.7152 * g + 0.0722 * b;
            };
            const paper = light(getComputedStyle(document.body).backgroundColor);
            const contrast = colour => {
              const ink = light(colour);
              return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
            };
            for (const element of document.querySelectorAll('h1, h2, p, dt, dd, th, td, summary, figcaption, code')) {
              if (!element.checkVisibility()) continue;
              const style = getComputedStyle(element);
              if (contrast(style.color) < 4.5) faults.push('pale: ' + element.textContent);
              if (parseFloat(style.fontSize) < 12) faults.push('small: ' + element.textContent);
            }
            for (const svg of document.querySelectorAll('svg')) {
              if (!svg.checkVisibility()) continue;
              const frame = svg.getBoundingClientRect();
              const seen = [];
              for (const text of svg.querySelectorAll('text')) {
                if (!text.textContent.trim()) continue;
                const box = text.getBoundingClientRect();
                const name = text.textContent;
                if (contrast(getComputedStyle(text).fill) < 4.5) faults.push('pale: ' + name);
                if (box.height < 10) faults.push('small: ' + name + ' ' + box.height);
                if (box.left < frame.left - 1 || box.right > frame.right + 1
                    || box.top < frame.top - 1 || box.bottom > frame.bottom + 1) {
                  faults.push('outside: ' + name);
                }
                for (const other of seen) {
                  // A text box is higher than its letters.
                  if (box.left < other.box.right && other.box.left < box.right
                      && box.top + 4 < other.box.bottom && other.box.top + 4 < box.bottom) {
                    faults.push(name + ' lies on ' + other.name);
                  }
                }
                seen.push({ name, box });
              }
              for (const shape of svg.querySelectorAll('.admitted, .denied, .level')) {
                const style = getComputedStyle(shape);
                const colour = shape.classList.contains('level') ? style.stroke : style.fill;
                if (contrast(colour) < 3) faults.push('pale shape: ' + shape.getAttribute('class'));
              }
            }
            return faults;
            """);
  }

  @Test
  void page_loadsNothing_runsNoScript_andLogsNothing() {
    assertThat(browser.ask("return performance.getEntriesByType('resource').length")).isEqualTo(0L);
    assertThat(browser.ask("return document.scripts.length")).isEqualTo(0L);
    assertThat(browser.console()).isEmpty();
    assertThat(browser.ask("return document.compatMode")).isEqualTo("CSS1Compat");
  }

  @Test
  void summary_hasTheFiguresOfEachAlgorithm() {
    List<WebElement> rows = browser.driver().findElements(By.cssSelector(".summary tbody tr"));
    assertThat(rows).hasSameSizeAs(outcomes);
    for (int i = 0; i < rows.size(); i++) {
      RunResult outcome = outcomes.get(i);
      assertThat(text(rows.get(i).findElement(By.tagName("th"))))
          .isEqualTo(outcome.subject().algorithm().toString());
      assertThat(rows.get(i).findElements(By.tagName("td")).stream().map(ReportPageTest::text))
          .containsExactlyElementsOf(
              Arrays.stream(Measure.values()).map(measure -> measure.of(outcome)).toList());
    }
  }

  /** Compares the heights of the drawing with the numbers. */
  @Test
  void charts_drawTheCounts() {
    browser.look(new LocalBrowser.Look("wide-light", 1280, "screen", "light"));
    for (String style : List.of("admitted", "denied")) {
      List<Long> peaks =
          outcomes.stream()
              .map(o -> style.equals("admitted") ? o.admitted() : o.denied())
              .map(counts -> counts.stream().mapToLong(n -> n).max().orElseThrow())
              .toList();
      double top = Axis.roundUp((double) peaks.stream().mapToLong(n -> n).max().orElseThrow());
      List<?> heights =
          (List<?>)
              browser.ask(
                  "return [...document.querySelectorAll('.wide path.%s')].map(p => p.getBBox().height)"
                      .formatted(style));
      assertThat(heights).hasSameSizeAs(outcomes);
      for (int i = 0; i < heights.size(); i++) {
        assertThat(((Number) heights.get(i)).doubleValue())
            .isCloseTo(
                Chart.Size.WIDE.plotHeight * Math.sqrt((double) peaks.get(i) / top),
                Offset.offset(0.2));
      }
    }
  }

  @Test
  void eachChart_hasATitle_aDescription_andATable() {
    assertThat(
            browser.ask(
                """
                return [...document.querySelectorAll('svg')].every(svg =>
                    svg.getAttribute('role') === 'img'
                    && svg.getAttribute('aria-labelledby').split(' ').every(
                        id => document.getElementById(id).textContent.length > 10))
                """))
        .isEqualTo(true);
    assertThat(
            browser.ask(
                "const ids = [...document.querySelectorAll('[id]')].map(e => e.id);"
                    + " return ids.length - new Set(ids).size"))
        .as("ids that come twice")
        .isEqualTo(0L);
    List<WebElement> details = browser.driver().findElements(By.tagName("details"));
    assertThat(details).hasSize(3);
    for (WebElement one : details) {
      assertThat(one.findElements(By.cssSelector("tbody tr"))).hasSize(240);
      assertThat(one.getDomProperty("open")).isEqualTo("false");
      one.findElement(By.tagName("summary")).click();
      assertThat(one.getDomProperty("open")).isEqualTo("true");
      one.findElement(By.tagName("summary")).click();
    }
    assertThat(outcomes.get(0).admitted().get(0))
        .isEqualTo(
            Long.parseLong(
                text(details.get(0).findElement(By.cssSelector("tbody td:nth-child(2)")))));
  }

  @Test
  void whatWasTyped_isText_notMarkup() {
    assertThat(browser.driver().findElements(By.tagName("b"))).isEmpty();
    assertThat(text(browser.driver().findElement(By.cssSelector(".setting code"))))
        .isEqualTo("sluice simulate --traffic 'a <b>'");
  }

  @Test
  void page_canBePrinted() {
    Object pdf =
        browser
            .driver()
            .executeCdpCommand("Page.printToPDF", Map.of("printBackground", true))
            .get("data");
    byte[] bytes = Base64.getDecoder().decode((String) pdf);
    assertThat(bytes).startsWith('%', 'P', 'D', 'F').hasSizeGreaterThan(10_000);
  }

  private static String text(WebElement element) {
    return String.valueOf(element.getDomProperty("textContent"));
  }
}
