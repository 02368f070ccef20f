// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static dev.sluice.server.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.sluice.FailureRule;
import dev.sluice.server.Aside;
import dev.sluice.server.access.Tokens;
import dev.sluice.server.net.HostPort;
import dev.sluice.server.reservation.TokenKey;
import dev.sluice.server.service.ServerConfig.Sources;
import dev.sluice.server.service.ServerConfig.Storage;
import dev.sluice.server.service.ServerConfig.Telemetry;
import dev.sluice.testkit.servers.FreePort;
import dev.sluice.testkit.servers.LocalBrowser;
import dev.sluice.testkit.servers.LocalBrowser.Look;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.openqa.selenium.By;
import org.openqa.selenium.JavascriptExecutor;
import org.openqa.selenium.Keys;
import org.openqa.selenium.WebElement;

/** The web page in a real browser, on a real server with a real Redis. */
@Tag("slow")
@EnabledIf("dev.sluice.testkit.servers.LocalBrowser#isThere")
final class PageTest {

  /** Where the pictures of docs/web-page.md go: {@code -Dsluice.screenshots=docs/images}. */
  private static final Path SCREENSHOTS =
      Optional.ofNullable(System.getProperty("sluice.screenshots")).map(Path::of).orElse(null);

  private static final Path AXE = Path.of("src/test/node/node_modules/axe-core/axe.min.js");
  private static final Look WIDE = new Look("wide", 1000, "screen", "light");
  private static final String NOT_FULL = "[0-9] of 10 tokens";
  private static final String SPEND = "{\"limit\":\"LoginsPerIPAddress\",\"id\":\"192.0.2.77\"}";
  private static final String BIG_UNTIL =
      "{\"burst\":200,\"count\":200,\"period\":\"1m\",\"until\":\"%s\"}";
  private static final String SEVERAL_UNTIL =
      "{\"quotas\":[\"200 per 1h\",\"20 per 1s\"],\"until\":\"2200-03-01\"}";
  private static final String DESCRIPTOR =
      """
      {"domain": "edge", "descriptors": [{"entries": [{"key": "remote_address", "value": "192.0.2.7"}]}]}
      """;
  private static final HttpClient CLIENT = HttpClient.newHttpClient();
  private static final String HOSTILE =
      "\"><img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>";

  private static LocalRedis redis;
  private static Service service;
  private static LocalBrowser browser;
  private static String base;

  @BeforeAll
  static void start() {
    redis = LocalRedis.start(RedisBinary.bundled());
    service = serve(FreePort.next());
    base = "http://" + HostPort.format(service.addresses().get(0));
    browser = LocalBrowser.start();
  }

  private static Service serve(int port) {
    return Service.start(config(port, ServerConfig.Control.NONE));
  }

  private interface Steps<E extends Exception> {
    void run() throws E;
  }

  /** Takes steps on the page of another server, and forgets the token that they entered. */
  private static <E extends Exception> void onPageOf(Service other, Steps<E> steps) throws E {
    String open = base;
    base = "http://" + HostPort.format(other.addresses().get(0));
    try {
      steps.run();
    } finally {
      browser.ask("sessionStorage.clear(); return 1");
      base = open;
      open("limits");
    }
  }

  private static ServerConfig config(int port, ServerConfig.Control control) {
    return new ServerConfig(
        Configs.onPort(port),
        Sources.SAMPLE,
        new Storage(
            StoreAccess.of(redis.uri() + "?timeout=10s&connectTimeout=10s&failures=2"),
            null,
            TokenKey.random(),
            FailureRule.fail(),
            Map.of(
                "ApiCallsPerKey",
                FailureRule.local(2),
                "FailedLoginsPerIPAddress",
                FailureRule.allow(),
                "SignUpsPerIPv6Range",
                FailureRule.deny()),
            false),
        control,
        new Telemetry(true, null));
  }

  @AfterAll
  static void stop() {
    if (browser != null) {
      browser.close();
    }
    Aside.end(service).close();
    redis.close();
  }

  @BeforeEach
  void lookFromADesk() {
    browser.look(WIDE);
    open("limits");
    var unused = browser.console();
  }

  /** What the page should not have done, whatever a test was about. */
  @AfterEach
  void nothingIsComplainedOf() {
    assertThat(browser.console()).isEmpty();
    assertThat(browser.driver().getTitle()).endsWith("– Sluice");
  }

  private static void open(String view) {
    browser.driver().get("about:blank");
    browser.driver().get(base + "/#/" + view);
    until(() -> browser.driver().findElements(By.cssSelector("h1")).size() == 1);
  }

  private static void openBucket(String limit, String id) {
    open("bucket?limit=" + limit + "&id=" + URLEncoder.encode(id, StandardCharsets.UTF_8));
  }

  private static void until(Callable<Boolean> condition) {
    await().ignoreExceptions().until(condition);
  }

  /**
   * Waits for what the page shows only after it asked for the limits again, which it does every 8
   * s. It asks at once when its tab comes to the front again.
   */
  private static void untilAskedAgain(Callable<Boolean> condition) {
    until(
        () -> {
          browser.ask("document.dispatchEvent(new Event('visibilitychange')); return 1");
          return condition.call();
        });
  }

  /** What else a view shows may come with another answer of the server. */
  private static void shows(String css, String... words) {
    await().ignoreExceptions().untilAsserted(() -> assertThat(text(css)).contains(words));
  }

  private static WebElement find(String css) {
    return browser.driver().findElement(By.cssSelector(css));
  }

  private static WebElement button(String text) {
    // The driver takes long to say whether an element is shown, so few are asked.
    By named = By.xpath("//button[normalize-space() = '%s']".formatted(text));
    return browser.driver().findElements(named).stream()
        .filter(button -> button.isDisplayed() && button.getText().equals(text))
        .findFirst()
        .orElseThrow();
  }

  private static String text(String css) {
    return find(css).getText();
  }

  private static HttpResponse<String> send(HttpRequest.Builder request) {
    try {
      return CLIENT.send(request.build(), BodyHandlers.ofString());
    } catch (IOException e) {
      throw new AssertionError(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError(e);
    }
  }

  private static void spend(String limit, String id, int times) {
    String body = "{\"limit\":\"%s\",\"id\":\"%s\"}".formatted(limit, id.replace("\"", "\\\""));
    for (int i = 0; i < times; i++) {
      HttpResponse<String> answer =
          send(
              HttpRequest.newBuilder(URI.create(base + "/v1/spend"))
                  .header("Content-Type", "application/json")
                  .POST(BodyPublishers.ofString(body)));
      assertThat(answer.statusCode()).isEqualTo(200);
    }
  }

  @Test
  void limits_areShown_withTheirWorstPeriod_andWhatTheyDoNow() {
    spend("LoginsPerIPAddress", "192.0.2.1", 30); // a token comes back each 6 s

    until(() -> find(".limits tbody").findElements(By.tagName("tr")).size() == 6);
    WebElement row =
        browser.driver().findElements(By.cssSelector(".limits tbody tr")).stream()
            .filter(one -> one.getText().startsWith("LoginsPerIPAddress\n"))
            .findFirst()
            .orElseThrow();
    assertThat(row.getText()).contains("10 per 1m", "by ipAddress");
    until(() -> row.getText().matches("(?s).*[1-9][0-9]* %.*"));
    until(() -> !row.getText().contains("\n0/s denied"));
    assertThat(row.findElement(By.cssSelector("svg")).getDomAttribute("aria-label"))
        .matches("Last minute: \\d+ allowed, [1-9]\\d* denied, 0 shadow-denied");
    until(() -> text(".cards").contains(" ● reachable"));
    shows(".cards", base, "6 limits in force", "used by this server alone");
    shows("footer", "Sluice development on ", ", up ");
    shows("#status", " decides as configured.");
  }

  @Test
  void newcomer_isDenied_looksTheBucketUp_andResetsIt() {
    picture("page-1-limits");
    find("a[href='#/playground']").click();
    until(() -> text(".level-now").equals("10 of 10 tokens"));
    assertThat(text(".verdict")).isEqualTo("Nothing was sent yet.");

    button("Send a request").click();
    until(() -> text(".verdict").contains("✓ Allowed"));
    shows(".headers", "RateLimit\n\"LoginsPerIPAddress\";r=9");
    picture("page-2-playground");

    button("Send 5").click();
    until(() -> text(".stage").contains("6 allowed, 0 denied."));
    // A token comes back each 6 s, and a busy browser may take some seconds for each step. The
    // chart shows for 1.5 s where the denied request would have moved the TAT.
    until(
        () -> {
          button("Send 5").click();
          return text(".verdict").contains("✕ Denied")
              && "visible".equals(find(".timeline .ghost").getDomAttribute("visibility"));
        });
    shows(".headers", "Retry-After", "too many logins (10)");
    until(() -> text(".level-now").matches(NOT_FULL));
    picture("page-3-denied");

    String id = String.valueOf(find("#play-id").getDomProperty("value"));
    spend("LoginsPerIPAddress", id, 10);
    find("nav a[href='#/bucket']").click();
    until(() -> find("#bucket-limit").findElements(By.tagName("option")).size() == 6);
    find("#bucket-limit").sendKeys("LoginsPerIP");
    find("#bucket-id").sendKeys(id + "\n");
    until(() -> text(".level-now").matches(NOT_FULL));
    assertThat(text(".result h2")).isEqualTo("LoginsPerIPAddress · " + id);
    find(".split .theory summary").click();
    shows(".theory .facts", "101:" + id, "when it is full");
    until(() -> browser.driver().findElements(By.cssSelector(".level path.line")).size() == 1);
    picture("page-4-bucket");

    button("Reset").click();
    shows("dialog[open]", "Reset this bucket?", id);
    button("Cancel").click();
    assertThat(text(".level-now")).matches(NOT_FULL);
    button("Reset").click();
    button("Reset it").click();
    until(() -> text(".level-now").equals("10 of 10 tokens"));
    shows(".result", "The bucket was reset: it is full.");
  }

  @Test
  void refund_givesBack_asFarAsThereIsRoom() {
    spend("SignUpsPerIPAddress", "192.0.2.3", 2);
    openBucket("SignUpsPerIPAddress", "192.0.2.3");
    until(() -> text(".level-now").equals("1 of 3 tokens"));

    find("#refund-cost").clear();
    find("#refund-cost").sendKeys("3");
    button("Give back").click();
    until(() -> text(".level-now").equals("3 of 3 tokens"));
    button("Give back").click();
    until(() -> text(".result").contains("The bucket is full: nothing was given back."));
    find("#refund-cost").sendKeys("9");
    button("Give back").click();
    until(() -> text(".problem").contains("a whole number of tokens from 1 to 3"));
  }

  @Test
  void stream_spends_untilItIsStopped() {
    open("playground?limit=ApiCallsPerKey");
    until(() -> text(".level-now").equals("100 of 100 tokens"));
    button("Start a stream").click();
    until(() -> text(".stage").matches("(?s).*[3-9] allowed, 0 denied\\..*"));
    button("Stop the stream").click();
    assertThat(button("Start a stream").getDomAttribute("aria-pressed")).isEqualTo("false");

    Object id = find("#play-id").getDomProperty("value");
    button("Start a stream").click();
    find("#play-id").sendKeys("17");
    assertThat(button("Start a stream").getDomAttribute("aria-pressed")).isEqualTo("false");
    assertThat(get("/v1/limits/ApiCallsPerKey/buckets/" + id + "1"))
        .as("half of an id that a person is typing")
        .contains("\"remaining\":100");
  }

  /** In London, no clock showed 01:00 to 01:59 on 29 March 2026. */
  @Test
  void clocksThatGoForward_areShown_fromZeroToTwentyThree() {
    emulate("Europe/London", Map.of("locale", "en-US"));
    try {
      open("limits");
      until(() -> text(".limits").contains("LoginsPerIPAddress"));
      browser.ask("Date.now = () => Date.parse('2026-03-29T12:00:00Z'); return 1");
      assertThat(textsOfADay("{}"))
          .endsWith("/s 12:00 09:00 06:00 03:00 00:00 21:00 18:00 15:00 12:00");
      assertThat(
              browser.ask(
                  "return import('/page/words.js').then(({clock}) => clock(Date.parse('2027-03-01')))"))
          .asString()
          .startsWith("Mar 1, 2027, 00:00:00 ");
    } finally {
      emulate("", Map.of());
      open("limits");
    }
  }

  @Test
  void axisOfAChart_isMarkedInTheMiddle_withTheHalfOfItsTop() {
    assertThat(textsOfADay("{}")).startsWith("0 0.1/s 0.2/s ");
    assertThat(textsOfADay("{allowed: [135]}")).startsWith("0 0.5/s 1/s ");
  }

  /** The texts of a day's chart, whose decisions are the argument of the page's function. */
  private static String textsOfADay(String counts) {
    return browser
        .ask(
            """
            return import('/page/charts.js').then(({rateChart}) => {
              const chart = rateChart('A day', 'day');
              document.body.append(chart.element);
              chart.show(%s, 289, 300, 300);
              return new Promise((drawn) => {
                const look = () => {
                  const texts = [...chart.element.querySelectorAll('text')].map((one) => one.textContent);
                  return texts.length === 0 ? requestAnimationFrame(look) : drawn(texts.join(' '));
                };
                look();
              });
            });
            """
                .formatted(counts))
        .toString();
  }

  private static void emulate(String zone, Map<String, Object> locale) {
    browser.driver().executeCdpCommand("Emulation.setTimezoneOverride", Map.of("timezoneId", zone));
    browser.driver().executeCdpCommand("Emulation.setLocaleOverride", locale);
  }

  @Test
  void overrideOfAnIdThatIsDeniedMost_showsItsWarnings_andTheListGoesOn() {
    spend("LoginsPerUserPerIPAddress", "192.0.2.8:usual", 7);
    open("denied");
    until(() -> text(".view").contains("192.0.2.8:usual"));
    find("[aria-label='Override for 192.0.2.8:usual']").click();
    until(() -> find("dialog.edit").isDisplayed());
    button("Set it").click();
    shows(".problem:not(:empty)", "found an override that equals the default");
    spend("LoginsPerUserPerIPAddress", "192.0.2.8:next", 7);
    until(() -> text(".view").contains("192.0.2.8:next"));
    assertThat(text(".problem:not(:empty)")).contains("equals the default");
    String path = "/v1/admin/overrides/LoginsPerUserPerIPAddress/192.0.2.8:usual";
    assertThat(admin("DELETE", path, "")).isEqualTo(200);
  }

  /** Ids come from clients: markup, quotes, and letters that change what stands beside them. */
  @Test
  void hostileIds_areText() {
    spend("ApiCallsPerKey", HOSTILE, 1);
    openBucket("ApiCallsPerKey", HOSTILE);
    until(() -> text(".result h2").contains(HOSTILE));

    String reversed = "abc\u202Egpj.exe\u200B";
    openBucket("ApiCallsPerKey", reversed);
    until(() -> text(".result h2").equals("ApiCallsPerKey · abc\\u{202E}gpj.exe\\u{200B}"));

    spend("LoginsPerUserPerIPAddress", "192.0.2.9:" + HOSTILE, 7);
    open("denied");
    until(() -> text(".view").contains("192.0.2.9:" + HOSTILE));
    shows(".view", "LoginsPerUserPerIPAddress");
    assertThat(browser.driver().findElements(By.cssSelector("main img"))).isEmpty();

    browser.driver().findElement(By.linkText("192.0.2.9:" + HOSTILE)).click();
    until(() -> text(".level-now").equals("0 of 5 tokens"));
    assertThat(find("#bucket-id").getDomProperty("value")).isEqualTo("192.0.2.9:" + HOSTILE);
  }

  @Test
  void badIds_areExplained() {
    openBucket("ApiCallsPerKey", "k");
    until(() -> text(".level-now").startsWith("100"));
    find("#bucket-limit").sendKeys("LoginsPerIP");
    find("#bucket-id").clear();
    find("#bucket-id").sendKeys("lol\n");
    until(() -> text(".problem").contains("\"lol\" is not an IP address"));
    assertThat(find(".result").isDisplayed()).isFalse();
    assertThat(browser.console()).singleElement().asString().contains("400");
  }

  /** Nothing but keys: the skip link, the views, a request, a look-up. */
  @Test
  void keyboard_leadsEverywhere() {
    keys(Keys.TAB);
    assertThat(active().getText()).isEqualTo("Skip to the content");
    keys(Keys.ENTER);
    assertThat(active().getDomAttribute("id")).isEqualTo("main");

    open("limits");
    keys(Keys.TAB, Keys.TAB, Keys.TAB, Keys.TAB);
    assertThat(active().getText()).isEqualTo("Playground");
    assertThat(active().getCssValue("outline-style")).isEqualTo("solid");
    keys(Keys.ENTER);
    until(() -> active().getText().equals("Playground") && active().getTagName().equals("h1"));
    until(() -> text(".level-now").startsWith("10 "));
    keys(Keys.TAB, Keys.TAB, Keys.TAB, Keys.TAB);
    assertThat(active().getText()).isEqualTo("Send a request");
    keys(Keys.SPACE);
    until(() -> text("#live").equals("Allowed, 9 left."));
    assertThat(active().getText()).isEqualTo("Send a request");
  }

  private static WebElement active() {
    return browser.driver().switchTo().activeElement();
  }

  private static void keys(CharSequence... keys) {
    for (CharSequence key : keys) {
      active().sendKeys(key);
    }
  }

  static List<Look> looks() {
    return List.of(
        WIDE,
        new Look("wider", 1600, "screen", "light"),
        new Look("wide-dark", 1000, "screen", "dark"),
        new Look("tablet", 768, "screen", "light"),
        new Look("phone", 390, "screen", "light"),
        new Look("phone-dark", 390, "screen", "dark"),
        new Look("small-phone", 320, "screen", "light"));
  }

  @ParameterizedTest
  @MethodSource("looks")
  void eachView_fitsTheScreen_andHasNoFaultOfAccess(Look look) throws IOException {
    spend("SignUpsPerIPAddress", "2001:db8:1234:5678:9abc:def0:1234:5678", 5);
    penalize("SignUpsPerIPAddress/2001:db8:1234:5678:9abc:def0:1234:1", "{\"for\":\"1h\"}");
    String override = "/v1/admin/overrides/ApiCallsPerKey/bob";
    assertThat(admin("PUT", override, SEVERAL_UNTIL)).isEqualTo(200);
    browser.look(look);
    boolean isOfAccess = look.width() == 1000 || look.name().equals("phone-dark");
    for (String view :
        List.of(
            "limits",
            "playground",
            "denied",
            "settings",
            "rules",
            "limit?limit=SignUpsPerIPAddress",
            "bucket?limit=SignUpsPerIPAddress&id=2001:db8:1234:5678:9abc:def0:1234:5678")) {
      open(view);
      String full =
          view.startsWith("bucket")
              ? ".facts dd"
              : view.startsWith("limit?") || view.equals("rules")
                  ? ".lead"
                  : view.equals("settings")
                      ? "section:has(td) ~ section td" // both lists
                      : "tbody tr, .level-now b";
      until(() -> !text(full).isBlank() && !text(full).equals("–"));
      assertThat(browser.ask("return document.documentElement.scrollWidth"))
          .as(view)
          .isEqualTo((long) look.width());
      if (look.width() == 390 && look.colours().equals("dark") && view.equals("playground")) {
        picture("page-phone-dark");
      }
      if (isOfAccess && Files.exists(AXE)) {
        assertThat(faultsOfAccess()).as(view).isEmpty();
      }
    }
    assertThat(admin("DELETE", override, "")).isEqualTo(200);
    // Skipped without it. To .ci/run, a skipped test is a failed one.
    if (isOfAccess) {
      assumeThat(AXE)
          .as("axe-core; run npm ci --prefix server/src/test/node --ignore-scripts")
          .exists();
    }
  }

  /** By axe-core. */
  private static List<?> faultsOfAccess() throws IOException {
    JavascriptExecutor page = browser.driver();
    var unused = page.executeScript(Files.readString(AXE));
    return (List<?>)
        page.executeAsyncScript(
            """
            const done = arguments[arguments.length - 1];
            const rules = {'label-content-name-mismatch': {enabled: true}};
            axe.run({resultTypes: ['violations'], rules}).then(
                result => done(result.violations.flatMap(
                    violation => violation.nodes.map(
                        node => violation.id + ': ' + node.html + ' ' + node.failureSummary))),
                error => done(['axe failed: ' + error]));
            """);
  }

  @Test
  void theme_isChosen_andKept() {
    find("#theme").sendKeys("Dark");
    assertThat(find("body").getCssValue("background-color")).startsWith("rgba(14, 22, 25");
    open("denied");
    assertThat(find("body").getCssValue("background-color")).startsWith("rgba(14, 22, 25");
    find("#theme").sendKeys("System");
    assertThat(find("body").getCssValue("background-color")).startsWith("rgba(243, 246, 248");
  }

  @Test
  void token_isSent_andForgottenWithTheTab() {
    button("Token").click();
    find("#token-text").sendKeys("secret-of-a-test");
    button("Use this token").click();
    until(() -> button("Token: set").isDisplayed());
    assertThat(text("footer")).as("links that need no token").doesNotContain("Metrics");
    assertThat(browser.ask("return sessionStorage.getItem('sluice.token')"))
        .isEqualTo("secret-of-a-test");
    assertThat(browser.ask("return JSON.stringify(localStorage)").toString())
        .doesNotContain("secret");
    button("Token: set").click();
    button("Forget it").click();
    until(() -> button("Token").isDisplayed());
    assertThat(text("footer")).contains("Metrics");
    assertThat(browser.ask("return String(sessionStorage.getItem('sluice.token'))"))
        .isEqualTo("null");
  }

  /** A terminal that cuts a line may end it with an ellipsis, which no header can hold. */
  @Test
  void tokenThatNoHeaderCanHold_isRefused_andAnotherIsAskedFor() {
    enter("cut by a termin\u2026");
    until(() -> text("#trouble").contains("no access token has: copy the whole token"));
    button("Enter a token").click();
    button("Forget it").click();
    until(() -> text("#trouble").isEmpty());
  }

  @Test
  void policy_stopsForeignScripts_andWhatIsInTheMarkup() {
    Object refused =
        browser.ask(
            """
            const tries = {
              foreign: () => {
                const script = document.createElement('script');
                script.src = 'https://example.com/x.js';
                document.head.append(script);
              },
              inline: () => {
                const script = document.createElement('script');
                script.textContent = 'document.title = "owned"';
                document.head.append(script);
              },
              handler: () => {
                document.body.setAttribute('onclick', 'document.title = "owned"');
                document.body.click();
              },
              markup: () => { document.body.innerHTML = '<b>owned</b>'; },
            };
            return Object.entries(tries).map(([name, attempt]) => {
              try {
                attempt();
                return name + ' ran';
              } catch {
                return name + ' was refused';
              }
            }).join();
            """);
    assertThat(refused.toString().split(",", -1)).allMatch(line -> line.endsWith("was refused"));
    assertThat(browser.console()).allMatch(line -> line.matches(".*(Content Security|Trusted).*"));
  }

  /** The role of each token is all that the page has: what it lacks, it says. */
  @Test
  void withAccessControl_thePageAsksForAToken_andSaysWhatItsRoleLacks(@TempDir Path folder)
      throws IOException {
    String reader = Tokens.fresh();
    String admin = Tokens.fresh();
    Path tokens = folder.resolve("tokens.yml");
    Files.writeString(
        tokens, "tokens:\n" + token("viewer", reader, "read") + token("ops", admin, "read, admin"));
    ServerConfig guarded = config(0, new ServerConfig.Control(tokens, null, null, null));
    try (Service other = Service.start(guarded);
        Aside.End end = Aside.end(other)) {
      onPageOf(
          other,
          () -> {
            open("limits");
            until(() -> text("#trouble").contains("The server asks for an access token."));
            enter("wrong");
            until(() -> text("#trouble").contains("The server does not know this token."));
            enter(reader);
            until(
                () -> text("#trouble").isEmpty() && text(".limits").contains("LoginsPerIPAddress"));

            openBucket("LoginsPerIPAddress", "192.0.2.50");
            until(() -> text(".level-now").equals("10 of 10 tokens"));
            button("Reset").click();
            button("Reset it").click();
            until(() -> text(".view").contains("The token viewer has no role admin"));
            open("playground");
            until(() -> text(".level-now").startsWith("10 "));
            button("Send a request").click();
            until(() -> text(".view").contains("The token viewer has no role decide"));

            enter(admin);
            openBucket("LoginsPerIPAddress", "192.0.2.50");
            until(() -> text(".level-now").equals("10 of 10 tokens"));
            button("Reset").click();
            button("Reset it").click();
            until(() -> text(".result").contains("The bucket was reset: it is full."));
            until(() -> text("#live").startsWith("10 of 10 tokens."));

            find("nav a[href='#/limits']").click();
            until(() -> text("main").contains("LoginsPerIPAddress"));
            until(() -> text("#status").contains("decides as configured"));
            button("Token: set").click();
            button("Forget it").click();
            until(() -> text("#trouble").contains("The server asks for an access token."));
            assertThat(text("main")).doesNotContain("LoginsPerIPAddress", "redis");
            assertThat(text("#status") + text("#about") + text("#live")).isEmpty();
          });
    }
    assertThat(browser.console()).allMatch(line -> line.matches(".* (401|403) .*"));
  }

  /**
   * What is in force, and what is not: a rule on trial denies nobody, a bad file changes nothing.
   */
  @Test
  void filesOfTheLimits_areShown_withTheirMistakes_andWhatARuleOnTrialWouldDeny(
      @TempDir Path folder) throws IOException {
    Path limits = folder.resolve("limits.yml");
    Files.writeString(limits, "LoginsPerIPAddress: {burst: 2, count: 2, period: 1h}\n");
    Path rules =
        Files.writeString(
            folder.resolve("rules.yml"),
            """
            rules:
              - entries: [remote_address]
                limits: [{limit: LoginsPerIPAddress, id: "{remote_address}", shadow: true}]
            """);
    ServerConfig watching =
        new ServerConfig(
            Configs.onPort(0),
            Sources.of(new ServerConfig.Files(limits, null, null, rules)),
            Configs.inMemory(),
            ServerConfig.Control.NONE,
            Telemetry.NONE);
    try (Service other = Service.start(watching);
        Aside.End end = Aside.end(other)) {
      onPageOf(
          other,
          () -> {
            open("limits");
            until(() -> text(".cards").contains("● limit files loaded"));
            assertThat(text(".cards"))
                .contains("1 limit in force")
                .containsPattern("[0-9:]{8} \\S+ \\([0-9a-f]{12}\\)");

            for (int i = 0; i < 5; i++) {
              assertThat(admin("POST", "/json", DESCRIPTOR)).isEqualTo(200);
            }
            until(
                () ->
                    Objects.equals(
                        find(".limits tbody svg").getDomAttribute("aria-label"),
                        "Last minute: 0 allowed, 0 denied, 3 shadow-denied"));
            assertThat(text(".limits .figure.shadow")).matches("0\\.\\d+/s shadow-denied");

            String inForce = text(".cards code:nth-of-type(1)");
            Files.writeString(limits, "LoginsPerIPAddress: {burst: 3, count: 2, period: soon}\n");
            assertThat(admin("POST", "/v1/admin/reload", "")).isEqualTo(409);
            untilAskedAgain(() -> text(".cards").contains("have 1 mistake, and are not in force:"));
            shows(".cards .mistakes", "limits.yml:1:", "soon");
            assertThat(text(".cards")).contains(inForce).doesNotContain("● limit files");
            shows(".limits", "2 per 1h");
            shows("#status", "The limit files have 1 mistake: those loaded ");

            Files.writeString(limits, "LoginsPerIPAddress: {burst: 3, count: 2, period: 1h}\n");
            assertThat(admin("POST", "/v1/admin/reload", "")).isEqualTo(200);
            untilAskedAgain(() -> text(".cards").contains("What that changed: 1 line"));
            assertThat(admin("POST", "/v1/admin/rollback", "")).isEqualTo(200);
            untilAskedAgain(() -> text(".cards").contains("▲ limit files put back by a rollback "));
            shows(
                ".cards",
                "They stay in force until changed files are applied or the server restarts.");
            find(".cards summary").click();
            shows(".cards .mistakes", "LoginsPerIPAddress: burst 3 → 2");
            shows(
                "#status", "A rollback of ", " is in force until changed limit files are applied.");

            open("rules");
            shows(".view", "1 rule of ", "remote_address");
          });
    }
    assertThat(browser.console()).isEmpty();
  }

  @Test
  void changeThatCannotBeSaved_isNotBlamedOnTheStore(@TempDir Path folder) throws IOException {
    Path place = Files.createDirectory(folder.resolve("place"));
    Path file = place.resolve("set.yml");
    ServerConfig saving = Configs.of(new ServerConfig.Control(null, null, file, null));
    try (Service other = Service.start(saving);
        Aside.End end = Aside.end(other)) {
      onPageOf(
          other,
          () -> {
            openBucket("ApiCallsPerKey", "unsaved");
            until(() -> text(".result").contains("None: the default of the limit is in force."));
            Files.move(place, folder.resolve("moved"));
            override("200", "more");
            until(
                () ->
                    text("dialog.edit .problem")
                        .startsWith("The change could not be saved, so it is not in force"));
            assertThat(text("dialog.edit .problem"))
                .contains("The incident in the server's log is ")
                .doesNotContain("store");
            button("Cancel").click();
          });
    }
    assertThat(browser.console()).singleElement().asString().contains("503");
  }

  /** Requests to an id of one limit must not go on to another limit. */
  @Test
  void limitThatVanishesFromThePlayground_takesItsIdWithIt(@TempDir Path folder)
      throws IOException {
    String stays = "LoginsPerIPAddress: {burst: 10, count: 10, period: 1m}\n";
    String signUps = "SignUpsPerIPAddress: {burst: 3, count: 3, period: 1h}\n";
    Path limits = Files.writeString(folder.resolve("limits.yml"), stays + signUps);
    try (Service other =
            Service.start(
                Configs.of(Sources.of(new ServerConfig.Files(limits, null, null, null))));
        Aside.End end = Aside.end(other)) {
      onPageOf(
          other,
          () -> {
            open("playground?limit=SignUpsPerIPAddress");
            until(() -> text(".level-now").equals("3 of 3 tokens"));
            fill("#play-id", "192.0.2.9\t");
            button("Send a request").click();
            until(() -> text(".level-now").equals("2 of 3 tokens"));
            Files.writeString(limits, stays);
            assertThat(admin("POST", "/v1/admin/reload", "")).isEqualTo(200);
            until(() -> text(".level-now").equals("10 of 10 tokens"));
            assertThat(find("#play-limit").getDomProperty("value")).isEqualTo("LoginsPerIPAddress");
            assertThat(find("#play-id").getDomProperty("value")).isNotEqualTo("192.0.2.9");

            open("limit?limit=SignUpsPerIPAddress");
            shows(".view", "There is no limit with this name.");
            Files.writeString(limits, stays + signUps);
            assertThat(admin("POST", "/v1/admin/reload", "")).isEqualTo(200);
            untilAskedAgain(() -> !text(".view").contains("There is no limit with this name."));
            shows(".lead", "3 per 1h");
          });
    }
    assertThat(browser.console())
        .allMatch(line -> line.contains("/v1/rates") && line.contains("404"));
  }

  @Test
  void debtOfABucket_isShown(@TempDir Path folder) throws IOException {
    Path limits =
        Files.writeString(
            folder.resolve("limits.yml"),
            "ApiCallsPerKey: {burst: 3, count: 3, period: 1h, debt: 1}\n");
    Path rules =
        Files.writeString(
            folder.resolve("rules.yml"),
            "rules: [{entries: [used], limit: ApiCallsPerKey, id: '{used}', excess: debt}]\n");
    ServerConfig owing =
        new ServerConfig(
            Configs.onPort(0),
            Sources.of(new ServerConfig.Files(limits, null, null, rules)),
            Configs.inMemory(),
            ServerConfig.Control.NONE,
            Telemetry.NONE);
    try (Service other = Service.start(owing)) {
      onPageOf(
          other,
          () -> {
            String used =
                "{\"domain\": \"edge\", \"hitsAddend\": 5, \"descriptors\": [{\"entries\": [{\"key\": \"used\", \"value\": \"k\"}]}]}";
            assertThat(admin("POST", "/json", used)).isEqualTo(429);
            openBucket("ApiCallsPerKey", "k");
            until(() -> text(".level-now").equals("0 of 3 tokens"));
            shows(".facts", "Debt", "2 tokens");
          });
    }
    assertThat(browser.console()).isEmpty();
  }

  @Test
  void requestThatIsTried_meetsItsRule_andOneThatIsRefusedHasNoAnswer(@TempDir Path folder)
      throws IOException {
    Path limits =
        Files.writeString(
            folder.resolve("limits.yml"), "LoginsPerIPAddress: {burst: 3, count: 3, period: 1h}\n");
    Path rules =
        Files.writeString(
            folder.resolve("rules.yml"),
            "rules: [{path: /login, limit: LoginsPerIPAddress, id: '{ip}'}]\n");
    try (Service other =
            Service.start(
                Configs.of(Sources.of(new ServerConfig.Files(limits, null, null, rules))));
        Aside.End end = Aside.end(other)) {
      onPageOf(
          other,
          () -> {
            open("rules");
            shows(".lead", "1 rule of ");
            fill("#rule-client", "192.0.2.1");
            fill("#rule-target", "/login\n");
            shows(".view [role=status]", "The rule on line 1 charges:", " · 192.0.2.1");
            fill("#rule-client", "nobody\n");
            until(() -> !text(".problem").isEmpty());
            assertThat(text(".view [role=status]")).isEmpty();
          });
    }
    assertThat(browser.console()).singleElement().asString().contains("400");
  }

  @Test
  void idThatNothingLimits_hasNoDefault(@TempDir Path folder) throws IOException {
    Path limits =
        Files.writeString(
            folder.resolve("limits.yml"), "OnlyOverrides: {id: string, overridesOnly: true}\n");
    try (Service other =
            Service.start(
                Configs.of(Sources.of(new ServerConfig.Files(limits, null, null, null))));
        Aside.End end = Aside.end(other)) {
      onPageOf(
          other,
          () -> {
            openBucket("OnlyOverrides", "k");
            shows(".problem", "Nothing limits this id");
            shows("[aria-labelledby=exceptions-title]", "Override\nNone.\n");
          });
    }
  }

  @Test
  void severalQuotas_areAllShown_inTheListAndInABucket(@TempDir Path folder) throws IOException {
    Path limits =
        Files.writeString(
            folder.resolve("limits.yml"),
            "LoginsPerIPAddress: {quotas: [5 per 1h, \"1 per 1s, burst 2\"]}\n");
    ServerConfig several =
        new ServerConfig(
            Configs.onPort(0),
            Sources.of(new ServerConfig.Files(limits, null, null, null)),
            Configs.inMemory(),
            ServerConfig.Control.NONE,
            Telemetry.NONE);
    try (Service other = Service.start(several)) {
      onPageOf(
          other,
          () -> {
            assertThat(admin("POST", "/v1/spend", SPEND)).isEqualTo(200);
            open("limits");
            shows(".limits", "5 per 1h and 1 per 1s", "5 and 2");
            openBucket("LoginsPerIPAddress", "192.0.2.77");
            shows(
                ".facts",
                "Left of 5 per 1h, at this look\n4 of 5",
                "Left of 1 per 1s, at this look");
          });
    }
  }

  private static String token(String name, String token, String roles) {
    return "  - name: %s\n    sha256: %s\n    roles: [%s]\n"
        .formatted(name, Tokens.sha256(token), roles);
  }

  private static void enter(String token) {
    find("#token").click();
    find("#token-text").sendKeys(token);
    button("Use this token").click();
  }

  @Test
  void overrideAndPenalty_ofOneId_areSet_shown_andRemoved() {
    openBucket("ApiCallsPerKey", "one of many");
    until(() -> text(".level-now").equals("100 of 100 tokens"));
    until(() -> text(".result").contains("None: the default of the limit is in force."));
    override("7", "Ticket <b>17</b>");
    until(() -> text(".level-now").equals("7 of 7 tokens"));
    until(() -> text(".result").contains("7 per 1m, burst 7."));
    shows(".result", "Comment: Ticket <b>17</b>", "The override is saved.");

    button("Impose a penalty").click();
    shows("dialog[open]", "Impose a penalty", "one of many", "every request is denied");
    fill("#penalty-much", "soon");
    button("Impose it").click();
    until(() -> text("dialog[open] .problem").contains("soon"));
    button("Cancel").click();
    assertThat(text(".result")).doesNotContain("The bucket counts as empty until");
    button("Impose a penalty").click();
    fill("#penalty-much", "10m");
    button("Impose it").click();
    until(() -> text(".result").contains("The bucket counts as empty until"));
    spend("ApiCallsPerKey", "one of many", 1);
    button("Reset").click();
    button("Reset it").click();
    until(() -> text(".result").contains("it is full, but a penalty denies until"));
    button("Give back").click();
    until(() -> text(".result").contains("nothing was given back, but a penalty denies until"));

    button("Lift the penalty").click();
    button("End it").click();
    until(() -> !text(".result").contains("The bucket counts as empty until"));
    button("Remove the override").click();
    button("End it").click();
    until(() -> text(".level-now").equals("100 of 100 tokens"));
    assertThat(browser.console()).singleElement().asString().contains("400");
  }

  @Test
  void overrideThatIsLowered_isSetOnlyIfThePersonConfirms() {
    openBucket("ApiCallsPerKey", "lowered");
    until(() -> text(".result").contains("None: the default of the limit is in force."));
    override("20", "keep this");
    until(() -> text(".level-now").equals("20 of 20 tokens"));

    override("8", "keep this");
    until(() -> text("dialog[open]:last-of-type").contains("Lower this override?"));
    shows("dialog[open]:last-of-type", "burst 20", "burst 8");
    find("dialog[open]:last-of-type [value=no]").click();
    until(() -> text("dialog.edit .problem").contains("would be lowered"));
    find("dialog.edit [value=no]").click();
    until(() -> text(".result").contains("burst 20"));
    assertThat(text(".level-now")).isEqualTo("20 of 20 tokens");

    override("8", "keep this");
    until(() -> text("dialog[open]:last-of-type").contains("Lower this override?"));
    button("Lower it").click();
    until(() -> text(".level-now").equals("8 of 8 tokens"));
    until(() -> text(".result").contains("8 per 1m, burst 8."));
    shows(".result", "Comment: keep this");

    override("9", "keep this");
    until(() -> text(".level-now").equals("9 of 9 tokens"));
    assertThat(browser.console()).hasSize(2).allMatch(line -> line.contains("409"));
    button("Remove the override").click();
    button("End it").click();
    until(() -> text(".result").contains("None: the default of the limit is in force."));
  }

  @Test
  void overrideWithSeveralQuotas_isSet_shown_andChanged() {
    openBucket("ApiCallsPerKey", "several");
    until(() -> text(".result").contains("None: the default of the limit is in force."));
    openOverride();
    fill("#override-burst", "100");
    fill("#override-count", "100");
    fill("#override-period", "1 day");
    fill("#override-further", "5 in 1s");
    find("dialog.edit .primary").click();
    until(() -> text("dialog.edit .problem").contains("expected COUNT per PERIOD"));
    assertThat(text("dialog.edit .problem")).contains("\"1 day\"").doesNotContain("see errors");
    fill("#override-period", "1m");
    fill("#override-further", "5 per 1s, burst 9; 900 per 1h");
    find("dialog.edit .primary").click();
    until(
        () ->
            text(".result")
                .contains("900 per 1h and 100 per 1m and 5 per 1s, burst 900 and 100 and 9."));
    openOverride();
    assertThat(find("#override-further").getDomProperty("value"))
        .isEqualTo("100 per 1m, burst 100; 5 per 1s, burst 9");
    fill("#override-further", "");
    find("dialog.edit .primary").click();
    until(() -> text("dialog[open]:last-of-type").contains("has fewer"));
    button("Lower it").click();
    until(() -> text(".result").contains("900 per 1h, burst 900."));
    assertThat(browser.console())
        .satisfiesExactly(
            mistake -> assertThat(mistake).contains("400"),
            fewer -> assertThat(fewer).contains("409"));
    button("Remove the override").click();
    button("End it").click();
    until(() -> text(".result").contains("None: the default of the limit is in force."));
  }

  /** The page first asks whether there is an override by now. */
  private static void openOverride() {
    find(".result [aria-labelledby=exceptions-title] button").click();
    until(() -> find("dialog.edit").isDisplayed());
  }

  private static void override(String perMinute, String comment) {
    openOverride();
    fill("#override-burst", perMinute);
    fill("#override-count", perMinute);
    fill("#override-period", "1m");
    fill("#override-comment", comment);
    find("dialog.edit .primary").click();
  }

  @Test
  void overrideThatEqualsTheDefault_isShown_andRemoved() {
    openBucket("ApiCallsPerKey", "usual");
    until(() -> text(".result").contains("None: the default of the limit is in force."));
    override("100", "the same");
    until(() -> text(".result").contains("Comment: the same"));
    openBucket("ApiCallsPerKey", "beside it");
    until(() -> text(".result").contains("None: the default of the limit is in force."));
    assertThat(browser.console()).as("no request for what is not there").isEmpty();
    openBucket("ApiCallsPerKey", "usual");
    until(() -> text(".result").contains("Comment: the same"));
    button("Remove the override").click();
    button("End it").click();
    until(() -> text(".result").contains("None: the default of the limit is in force."));
  }

  @Test
  void overrideThatEndsToday_isChanged_andKeepsItsEnd() {
    String path = "/v1/admin/overrides/ApiCallsPerKey/ends%20today";
    String end = Instant.now().plusSeconds(3600).truncatedTo(ChronoUnit.SECONDS).toString();
    assertThat(admin("PUT", path, BIG_UNTIL.formatted(end))).isEqualTo(200);
    openBucket("ApiCallsPerKey", "ends today");
    until(() -> text(".result").contains("200 per 1m, burst 200."));
    override("300", "more");
    until(() -> text(".result").contains("300 per 1m, burst 300."));
    assertThat(get(path)).contains("\"until\":\"" + end + "\"");
    assertThat(admin("DELETE", path, "")).isEqualTo(200);
  }

  @Test
  void overrideThatSomebodySetMeanwhile_isShownInItsDialog() {
    String path = "/v1/admin/overrides/ApiCallsPerKey/meanwhile";
    openBucket("ApiCallsPerKey", "meanwhile");
    until(() -> text(".result").contains("None: the default of the limit is in force."));
    assertThat(admin("PUT", path, BIG_UNTIL.formatted("2200-03-01"))).isEqualTo(200);
    button("Set an override").click();
    until(() -> text("dialog.edit").contains("Change the override"));
    assertThat(find("#override-until").getDomProperty("value")).isEqualTo("2200-03-01");
    button("Cancel").click();
    assertThat(admin("DELETE", path, "")).isEqualTo(200);
  }

  @Test
  void buttonThatIsClickedTwice_opensOneDialog() {
    openBucket("ApiCallsPerKey", "twice");
    until(() -> text(".result").contains("None: the default of the limit is in force."));
    String looks =
        "performance.getEntriesByType('resource').filter(one => one.name.endsWith('/twice')).length";
    Object before = browser.ask("return " + looks);
    var unused =
        browser.ask(
            "const set = document.querySelector('.result [aria-labelledby=exceptions-title] button');"
                + "set.click(); set.click(); return 1");
    until(() -> Boolean.TRUE.equals(browser.ask("return %s >= %s + 2".formatted(looks, before))));
    until(() -> find("dialog.edit").isDisplayed());
    assertThat(browser.driver().findElements(By.cssSelector("dialog.edit"))).hasSize(1);
    button("Cancel").click();
  }

  @Test
  void exceptions_areListed_pageByPage_andLeadToTheirBucket() {
    String page = "/v1/admin/overrides/ApiCallsPerKey/page-";
    String small = "{\"burst\":2,\"count\":2,\"period\":\"1m\",\"comment\":\"<b>17</b>\"}";
    try {
      for (int i = 0; i <= 100; i++) {
        assertThat(admin("PUT", page + i, small)).isEqualTo(200);
      }
      penalize("SignUpsPerIPAddress/192.0.2.88", "{\"for\":\"1h\"}");
      find("nav a[href='#/settings']").click();
      until(() -> rows("overrides") == 100);
      until(() -> text("main").contains("192.0.2.88"));
      shows("main table", "2 per 1m", "<b>17</b>", "memory");
      button("Show more overrides").click();
      until(() -> rows("overrides") == 101);
      find("#settings-new-limit").sendKeys("ApiCalls");
      find("#settings-id").sendKeys("new");
      button("Set an override").click();
      until(() -> text("dialog.edit").contains("new in ApiCallsPerKey"));
      fill("#override-burst", "9");
      browser.ask("document.querySelector('#override-until').value = '2200-03-01'; return 1");
      button("Set it").click();
      until(() -> text("main").contains("2200"));
      find("[aria-label='End the setting of new']").click();
      button("End it").click();
      until(() -> !text("main").contains("2200"));

      find("#settings-limit").sendKeys("SignUps");
      until(() -> text("main").contains("None is set."));
      browser.driver().findElement(By.linkText("192.0.2.88")).sendKeys(Keys.ENTER);
      until(() -> text(".level-now").equals("0 of 3 tokens"));
    } finally {
      for (int i = 0; i <= 100; i++) {
        int unused = admin("DELETE", page + i, "");
      }
    }
  }

  private static int rows(String kind) {
    return browser
        .driver()
        .findElements(By.cssSelector("[aria-labelledby=settings-" + kind + "] tbody tr"))
        .size();
  }

  private static String get(String path) {
    return send(HttpRequest.newBuilder(URI.create(base + path))).body();
  }

  private static int admin(String method, String path, String body) {
    return send(HttpRequest.newBuilder(URI.create(base + path))
            .header("Content-Type", "application/json")
            .method(method, BodyPublishers.ofString(body)))
        .statusCode();
  }

  /** Both are shorter than the bucket takes to fill, so that their ends lie within the chart. */
  @Test
  void penalizedBucket_isShownEmpty_untilThePenaltyEnds() {
    penalize("SignUpsPerIPAddress/192.0.2.99", "{\"for\":\"1h\"}");
    openBucket("SignUpsPerIPAddress", "192.0.2.99");
    until(() -> text(".level-now").equals("0 of 3 tokens"));
    until(() -> text("#live").startsWith("0 of 3 tokens. A penalty makes it count as empty until"));
    find(".split .theory summary").click();
    shows(".theory .facts", "TAT\nnot told until the penalty ends");
    assertThat(text(".facts")).containsPattern("Next token\nin (1 h|59 min)");
    assertThat(browser.driver().findElements(By.cssSelector(".level path.tat"))).isEmpty();
    assertThat(levels()).isEqualTo("bottom bottom top top top");

    spend("SignUpsPerIPAddress", "192.0.2.98", 3);
    penalize("SignUpsPerIPAddress/192.0.2.98", "{\"for\":\"1h\"}");
    openBucket("SignUpsPerIPAddress", "192.0.2.98");
    until(() -> text(".level-now").equals("0 of 3 tokens"));
    assertThat(levels()).isEqualTo("bottom bottom between top top");

    Object tokens =
        browser.ask(
            """
            const penaltyUntil = new Date(Date.now() - 30_000).toISOString();
            return import('/page/gcra.js').then(({Bucket, now}) => new Bucket(
                {burst: 300, count: 300, periodSeconds: 10_800, resetInSeconds: 60, penaltyUntil},
                now()).tokensAt(now()));
            """);
    assertThat(tokens).as("tokens, by a clock that is ahead of the penalty's end").isEqualTo(0L);
  }

  private static void penalize(String bucket, String body) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(base + "/v1/admin/penalties/" + bucket))
            .header("Content-Type", "application/json")
            .PUT(BodyPublishers.ofString(body));
    assertThat(send(request).statusCode()).isEqualTo(200);
  }

  /** Where the corners of the chart's line are: at its top, its bottom, or between. */
  private static Object levels() {
    until(() -> browser.driver().findElements(By.cssSelector(".level path.line")).size() == 1);
    return browser.ask(
        """
            const corners = (path) => document.querySelector('.level ' + path).getAttribute('d')
                .slice(1).split('L').map((corner) => Number(corner.split(' ')[1]));
            const grid = [...document.querySelectorAll('.level path.grid')]
                .map((line) => /^M[0-9.]+ ([0-9.]+)H/.exec(line.getAttribute('d')))
                .filter((match) => match).map((match) => Number(match[1]));
            const near = (one, other) => Math.abs(one - other) < 1;
            return corners('path.line').map((y) => near(y, Math.max(...grid)) ? 'bottom'
                : near(y, Math.min(...grid)) ? 'top' : 'between').join(' ');
            """);
  }

  private static void fill(String css, String text) {
    find(css).clear();
    find(css).sendKeys(text);
  }

  @Test
  void storeThatIsDown_isTold_andItsReturnToo() {
    redis.kill();
    try {
      until(() -> text("#status").contains("The server cannot decide now: the store does not"));
      shows(".cards", "▲ the store does not answer");
      until(
          () -> {
            int unused = admin("POST", "/v1/spend", SPEND); // enough failures open the breaker
            return text(".cards").contains("▲ unreachable, retrying");
          });
      openBucket("ApiCallsPerKey", "share");
      until(() -> text(".level-now").startsWith("50 of 50 tokens, by this server alone"));
      until(() -> text(".result").contains("None: the default of the limit is in force."));
      openOverride();
      assertThat(find("#override-burst").getDomProperty("value"))
          .as("what an override would begin with")
          .isEqualTo("100");
      button("Cancel").click();
      open("limits");
    } finally {
      redis.startAgain();
    }
    until(() -> !text("#status").contains("cannot decide now"));
    until(() -> text(".cards").contains(" ● reachable"));
    var unused = browser.console();
  }

  @Test
  void whileTheStoreIsDown_anOverrideIsChanged_andKeepsWhatIsNotChanged() {
    String path = "/v1/admin/overrides/LoginsPerIPAddress/192.0.2.60";
    assertThat(admin("PUT", path, SEVERAL_UNTIL)).isEqualTo(200);
    redis.kill();
    try {
      until(() -> text("#status").contains("The server cannot decide now: the store does not"));
      open("settings");
      until(() -> text("main").contains("192.0.2.60"));
      find("#settings-new-limit").sendKeys("LoginsPerIP");
      find("#settings-id").sendKeys("192.0.2.60");
      button("Set an override").click();
      until(() -> text("dialog.edit").contains("Change the override"));
      fill("#override-burst", "300");
      button("Change it").click();
      until(() -> text("main table").contains("300 and 20"));
      assertThat(get(path)).contains("\"until\":\"2200-03-01T00:00:00Z\"", "\"burst\":20");

      find("#settings-new-limit").sendKeys("LoginsPerUser");
      fill("#settings-id", "192.0.2.60:ann");
      button("Set an override").click();
      until(() -> text("dialog.edit").contains("The bucket of this id cannot be looked up now."));
      button("Cancel").click();
      open("limits");
    } finally {
      redis.startAgain();
    }
    until(() -> text(".cards").contains(" ● reachable"));
    assertThat(admin("DELETE", path, "")).isEqualTo(200);
    var unused = browser.console();
  }

  @Test
  void whileAFailureRuleDecides_thePlaygroundSaysSo_andGoesOnAfterwards() {
    // A server of its own: for a minute, a server says that a failure rule decided.
    try (Service other = serve(0);
        Aside.End end = Aside.end(other)) {
      onPageOf(other, this::decideByFailureRules);
    }
    var unused = browser.console();
  }

  private void decideByFailureRules() {
    open("playground?limit=FailedLoginsPerIPAddress");
    until(() -> text(".level-now").equals("30 of 30 tokens"));
    redis.kill();
    try {
      button("Send a request").click();
      until(() -> text(".verdict").contains("✓ Allowed"));
      assertThat(text(".verdict")).doesNotContain("left", "NaN");
      shows(".problem[role=alert]", "The failure rule “allow” decides");
      assertThat(text(".level-now")).isEqualTo("–");

      find("#play-limit").sendKeys("SignUpsPerIPv6Range");
      until(() -> text(".verdict").equals("Nothing was sent yet."));
      button("Send a request").click();
      until(() -> text(".verdict").contains("✕ Denied"));
      shows(".problem[role=alert]", "The failure rule “deny” decides");
      assertThat(text(".verdict"))
          .endsWith("As a status, that is 503 Service Unavailable.")
          .doesNotContain("next token");
      assertThat(find(".tank").isDisplayed()).as("what nobody knows").isFalse();
    } finally {
      redis.startAgain();
    }
    until(
        () -> {
          button("Send a request").click();
          return text(".level-now").matches("1[0-9] of 20 tokens");
        });
    assertThat(text(".problem[role=alert]")).isEmpty();
    assertThat(find(".tank").isDisplayed()).isTrue();
  }

  @ParameterizedTest
  @ValueSource(strings = {"rules", "limit?limit=LoginsPerIPAddress"})
  void serverThatIsAway_isTold_andItsReturnToo(String view) {
    until(() -> text(".limits").contains("LoginsPerIPAddress"));
    int port = service.addresses().get(0).getPort();
    Aside.end(service).close();
    try {
      until(() -> text("#trouble").contains("The server does not answer."));
      shows(".limits", "LoginsPerIPAddress");
      browser.ask("location.hash = '#/%s'; return 1".formatted(view));
      until(() -> text(".view").contains("The server does not answer."));
    } finally {
      service = serve(port);
    }
    until(() -> text("#trouble").isEmpty());
    await()
        .atMost(Duration.ofSeconds(20)) // the last day is asked for each minute anyway
        .until(() -> !text(".view").contains("The server does not answer."));
    assertThat(text(".lead")).isNotEmpty();
    var unused = browser.console();
  }

  private static void picture(String name) {
    browser.keepWholePage(SCREENSHOTS, name);
  }
}
