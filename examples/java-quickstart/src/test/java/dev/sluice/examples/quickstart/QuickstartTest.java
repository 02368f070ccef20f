// SPDX-License-Identifier: Apache-2.0
package dev.sluice.examples.quickstart;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.Reservation.Estimate;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import dev.sluice.yaml.LimitFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class QuickstartTest {

  private final Limiter limiter =
      Limiter.of(
          LimitFiles.of(Path.of("limits.yml")).load(), BucketStore.inMemory(new ManualTime()));
  private final Quickstart quickstart = new Quickstart(limiter);

  @Test
  void login_moreThanTheBurst_isRefusedWithItsWait() {
    for (int i = 0; i < 10; i++) {
      assertThat(quickstart.login()).startsWith("200");
    }

    assertThat(quickstart.login())
        .matches( // up to a second later, so that clients don't come back together
            "429, retry in [67] s: too many logins \\(10\\) from this IP address in the last 1m.*");
  }

  @Test
  void loginWithPassword_goodOnes_costNothing() {
    for (int i = 0; i < 1000; i++) {
      assertThat(quickstart.loginWithPassword("192.0.2.7", "ann", "the password of ann"))
          .isEqualTo("200");
    }

    for (int i = 0; i < 30; i++) {
      assertThat(quickstart.loginWithPassword("192.0.2.7", "ann", "guess")).isEqualTo("401");
    }
    assertThat(quickstart.loginWithPassword("192.0.2.7", "ann", "the password of ann"))
        .startsWith("429");
  }

  @Test
  void costKnownAfterwards_replacesTheEstimate() {
    Estimate estimate = Estimate.mean(16, 8_192);
    for (int i = 0; i < 10; i++) { // an estimate of all 100 tokens, of which 8 are used
      assertThat(quickstart.costKnownAfterwards(estimate, "k", "mo", "prompt"))
          .startsWith(i == 0 ? "200" : "429");
    }
    assertThat(limiter.check("ApiCallsPerKey", "k", 0).remaining()).isEqualTo(92);
  }

  @Test
  void acquire_forms_areThoseOfTheDocs() throws InterruptedException {
    assertThat(Quickstart.acquireInOneLine()).isEqualTo("200");
    LimitName outbound = Quickstart.nameThatWaits();
    assertThat(outbound.longestWait()).isEqualTo(Duration.ofSeconds(30));
    Transaction call = Transaction.of(outbound, Quota.per(1, Duration.ofSeconds(1)), "partner-1");
    assertThat(Quickstart.acquireWithoutBlocking(limiter, call).join().allowed()).isTrue();
  }

  @Test
  void signUp_isAllOrNothing() {
    for (int i = 0; i < 3; i++) {
      assertThat(quickstart.signUp().allowed()).isTrue();
    }
    Decision fourth = quickstart.signUp();

    assertThat(fourth.denied()).isTrue();
    assertThat(fourth.parts()).hasSize(2);
    assertThat(limiter.check("SignUpsPerIPv6Range", "2001:db8::/64", 0).remaining()).isEqualTo(17);
  }

  @Test
  void limitInOneLine_limits() {
    assertThat(Quickstart.limitInOneLine().remaining()).isEqualTo(9);
  }

  @Test
  void suppliedQuota_holdsForItsBucket() {
    assertThat(quickstart.suppliedQuota().remaining()).isEqualTo(98);
    assertThat(quickstart.suppliedQuota().remaining()).isEqualTo(96);
  }

  @Test
  void limiterInCode_knowsItsOwnName() {
    Decision export =
        Quickstart.limiterInCode()
            .spend("ExportsPerTenantPerUser", "123e4567-e89b-12d3-a456-426614174000:ann");

    assertThat(export.remaining()).isEqualTo(9);
  }

  @Test
  void joinedId_bracketsAnIpv6Address() {
    assertThat(quickstart.joinedId()).isEqualTo("[2001:db8::1]:alice");
  }

  @Test
  void replacedLimits_holdForTheNextRequest() {
    assertThat(Quickstart.replaced(logins(10), logins(3)).remaining()).isEqualTo(2);
  }

  @Test
  void hotPath_decidesAsTheLimiterDoes(@TempDir Path folder) throws IOException {
    HotPath hotPath = new HotPath(limiter);
    for (int i = 0; i < 5; i++) {
      assertThat(hotPath.oneByOne("192.0.2.9")).isEqualTo("200");
    }
    assertThat(hotPath.oneByOne("192.0.2.9")).isEqualTo("429");
    assertThat(hotPath.manyAtOnce(List.of("192.0.2.9", "192.0.2.10"))).containsExactly(false, true);
    assertThat(hotPath.leased(12)).isEqualTo(10);

    Path snapshot = folder.resolve("buckets");
    Limiter first = HotPath.afterARestart(logins(3), snapshot);
    assertThat(first.spend("LoginsPerIPAddress", "192.0.2.7").remaining()).isEqualTo(2);
    Limiter second = HotPath.afterARestart(logins(3), snapshot);
    assertThat(second.spend("LoginsPerIPAddress", "192.0.2.7").remaining())
        .as("saved before the spend")
        .isEqualTo(2);
  }

  @Test
  void pages_quoteThesePrograms() throws IOException {
    assertThat(quotes("../../docs/java-api.md", "Quickstart.java")).isEqualTo(12);
    assertThat(quotes("../../docs/memory-store.md", "HotPath.java")).isEqualTo(4);
    assertThat(quotes("../../docs/testing.md", "LoginsTest.java")).isEqualTo(3);
  }

  /** Every snippet of the page that names the program stands in it, word for word. */
  private static int quotes(String page, String program) throws IOException {
    String folder = program.endsWith("Test.java") ? "src/test/java" : "src/main/java";
    String source = Files.readString(Path.of(folder, "dev/sluice/examples/quickstart", program));
    List<MatchResult> quotes =
        Pattern.compile("<!-- from: (\\S+)#(\\w+) -->\n```java\n(.*?)```", Pattern.DOTALL)
            .matcher(Files.readString(Path.of(page)))
            .results()
            .toList();
    for (MatchResult quote : quotes) {
      assertThat(quote.group(1)).isEqualTo(program);
      String part = quote.group(2);
      String begin = "// begin: " + part + "\n";
      String quoted =
          source.substring(
              source.indexOf(begin) + begin.length(), source.indexOf("// end: " + part));
      assertThat(quoted.stripIndent().strip()).as(part).isEqualTo(quote.group(3).strip());
    }
    return quotes.size();
  }

  private static Limits logins(long count) {
    return Limits.builder(Catalogue.samples())
        .limit("LoginsPerIPAddress", Quota.per(count, Duration.ofMinutes(1)))
        .build();
  }
}
