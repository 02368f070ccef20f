// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.FailureRule;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Reservation;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.store.MemoryStore;
import dev.sluice.store.TimeSource;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.ProxyHeader;
import dev.sluice.web.RequestLimiter;
import dev.sluice.web.Rule;
import dev.sluice.web.VaryBy;
import dev.sluice.yaml.LimitFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The mistakes that users make in code, in limit files and on the command line, each with the
 * message that they read: what is wrong, where, and what to do. {@code mistakes.txt} lists them
 * all; {@code -Dsluice.write} writes it.
 */
@SuppressWarnings({"NullAway", "CheckReturnValue"}) // mistakes are what this is about
final class MistakesTest {

  private static final Path LIST = Path.of("src/test/resources/dev/sluice/cli/mistakes.txt");

  private static final String HERE = Path.of("").toAbsolutePath().toString();

  private static final Duration MINUTE = Duration.ofMinutes(1);
  private static final LimitName CALLS = LimitName.builder("CallsPerKey").build();

  private static final String LIMITS =
      """
      LoginsPerIPAddress: {burst: 10, count: 10, period: 1m}
      LoginsPerUserPerIPAddress: {burst: 3, count: 3, period: 1m}
      ExportsPerUser: {id: string, burst: 10, count: 10, period: 1m}
      """;

  @TempDir private Path folder;

  private final StringBuilder list = new StringBuilder();
  private Path file;
  private Limits limits;
  private Limiter limiter;

  private interface Act {
    void run() throws Exception;
  }

  @BeforeEach
  void load() throws IOException {
    file = folder.resolve("limits.yml");
    Files.writeString(file, LIMITS);
    limits = LimitFiles.of(file).load();
    limiter = Limiter.of(limits, BucketStore.inMemory(TimeSource.system()));
  }

  private void title(String text) {
    list.append(list.isEmpty() ? "" : "\n").append("# ").append(text).append('\n');
  }

  private void write(String mistake, String message) {
    String where =
        message
            .replace(folder + "/", "")
            .replace(folder.toString(), ".")
            .replace(HERE, "/here")
            .strip();
    list.append('\n').append(mistake).append('\n');
    where.lines().forEach(line -> list.append("    ").append(line).append('\n'));
  }

  private void code(String mistake, Act act) {
    try {
      act.run();
    } catch (Exception e) {
      write(mistake, e.getClass().getSimpleName() + ": " + e.getMessage());
      return;
    }
    throw new AssertionError("not refused: " + mistake);
  }

  private void file(String text) throws IOException {
    Files.writeString(file, text);
    try {
      LimitFiles.of(file).load();
    } catch (RuntimeException e) {
      write(text.isEmpty() ? "(an empty file)" : text.strip(), String.valueOf(e.getMessage()));
      return;
    } finally {
      Files.writeString(file, LIMITS);
    }
    throw new AssertionError("not refused: " + text);
  }

  private void command(String line) {
    Cli run = Cli.run(line.replace("limits.yml", file.toString()).split(" "));
    assertThat(run.code()).as(line).isNotEqualTo(Exit.DONE);
    write("$ sluice " + line, run.out() + run.err());
  }

  @Test
  void mistake_isAnsweredByWhatIsWrongWhereAndWhatToDo() throws IOException {
    names();
    ids();
    costs();
    quotas();
    nulls();
    storesAndOthers();
    rules();
    files();
    commands();
    if (System.getProperty("sluice.write") != null) {
      Files.writeString(LIST, list);
    }
    assertThat(list.toString()).isEqualTo(Files.readString(LIST));
  }

  private void names() {
    title("Names");
    code("limiter.spend(\"LoginsPerIpAddress\", ip)", () -> spend("LoginsPerIpAddress", "::1"));
    code("limiter.spend(ip, \"LoginsPerIPAddress\")", () -> spend("::1", "LoginsPerIPAddress"));
    code("limiter.limit(\"ExportPerUser\")", () -> limiter.limit("ExportPerUser"));
    code(
        "Limiter.of(store).spend(\"ExportsPerUser\", \"ann\")",
        () -> Limiter.of(BucketStore.inMemory()).spend("ExportsPerUser", "ann"));
    code("limiter.spend(\"ApiCallsPerKey\", \"k1\")", () -> spend("ApiCallsPerKey", "k1"));
    code(
        "limiter.limit(LimitName.builder(\"LoginsPerIPAddress\").build(), quota).spend(ip)",
        () ->
            limiter
                .limit(LimitName.builder("LoginsPerIPAddress").build(), Quota.per(1, MINUTE))
                .spend("::1"));
    code("LimitName.builder(\"Calls per key\").build()", () -> name("Calls per key").build());
    code("LimitName.builder(0, \"Calls\").build()", () -> LimitName.builder(0, "Calls").build());
    code("Catalogue.of(calls, calls)", () -> Catalogue.of(CALLS, CALLS));
    code(
        "Catalogue.of(name(1001, \"A\"), name(1001, \"B\"))",
        () ->
            Catalogue.of(
                LimitName.builder(1001, "A").build(), LimitName.builder(1001, "B").build()));
    code(
        "Limits.builder(names).limit(\"CallPerKey\", quota)",
        () -> builder().limit("CallPerKey", Quota.per(1, MINUTE)));
    code(
        "Limits.builder(names).limit(\"CallsPerKey\", a).limit(\"CallsPerKey\", b)",
        () ->
            builder()
                .limit("CallsPerKey", Quota.per(1, MINUTE))
                .limit("CallsPerKey", Quota.per(2, MINUTE)));
    code(
        "Limiter.builder(limits, store).onFailure(\"LoginPerIPAddress\", rule)",
        () ->
            Limiter.builder(limits, BucketStore.inMemory())
                .onFailure("LoginPerIPAddress", FailureRule.allow()));
    code("LimitName.builder(…).message(\"{limit}\")", () -> name("A").message("{limit}"));
    code("LimitName.builder(…).message(\"{id.2}\")", () -> name("A").message("{id.2}").build());
    code("LimitName.builder(…).jitter(3)", () -> name("A").jitter(3));
  }

  private void ids() {
    title("Ids");
    code(
        "limiter.spend(\"LoginsPerIPAddress\", \"ann\")", () -> spend("LoginsPerIPAddress", "ann"));
    code(
        "limiter.spend(\"LoginsPerIPAddress\", \"192.0.2.7:443\")",
        () -> spend("LoginsPerIPAddress", "192.0.2.7:443"));
    code("limiter.spend(\"LoginsPerIPAddress\", \"\")", () -> spend("LoginsPerIPAddress", ""));
    code("limiter.spend(\"ExportsPerUser\", \"a\\nb\")", () -> spend("ExportsPerUser", "a\nb"));
    code(
        "limiter.spend(\"ExportsPerUser\", \"x\".repeat(2000))",
        () -> spend("ExportsPerUser", "x".repeat(2000)));
    code(
        "limiter.spend(\"LoginsPerUserPerIPAddress\", \"ann\")",
        () -> spend("LoginsPerUserPerIPAddress", "ann"));
    code(
        "limiter.spend(\"LoginsPerUserPerIPAddress\", \"ann:192.0.2.7\")",
        () -> spend("LoginsPerUserPerIPAddress", "ann:192.0.2.7"));
    code(
        "limiter.spend(\"LoginsPerUserPerIPAddress\", \"2001:db8::1:ann\")",
        () -> spend("LoginsPerUserPerIPAddress", "2001:db8::1:ann"));
    code(
        "limiter.spend(List.of(login, login))",
        () -> {
          Transaction login = limiter.transaction("LoginsPerIPAddress", "::1");
          limiter.spend(List.of(login, login));
        });
    code("IdFormat.joined(IdFormat.string())", () -> IdFormat.joined(IdFormat.string()));
    code("IdFormat.ipv6Range(200)", () -> IdFormat.ipv6Range(200));
    code(
        "Limits.builder(names).override(\"CallsPerKey\", \"k1\", a).override(…, \"k1\", b)",
        () ->
            builder()
                .override("CallsPerKey", "k1", Quota.per(1, MINUTE))
                .override("CallsPerKey", "k1", Quota.per(2, MINUTE)));
  }

  private void costs() {
    title("Costs and waits");
    code("limiter.spend(\"ExportsPerUser\", \"ann\", -1)", () -> spend(-1));
    code("limiter.spend(\"ExportsPerUser\", \"ann\", 11)", () -> spend(11));
    code("limit.spend(\"ann\", 11)", () -> Limit.of(Quota.per(10, MINUTE)).spend("ann", 11));
    code(
        "limiter.spendUpTo(\"ExportsPerUser\", \"ann\", 0)",
        () -> limiter.spendUpTo("ExportsPerUser", "ann", 0));
    code("reservation.settle(Map.of(\"ExportPerUser\", 1L))", () -> settle("ExportPerUser", 1));
    code("reservation.settle(Map.of(\"ExportsPerUser\", 0L))", () -> settle("ExportsPerUser", 0));
    code("reservation.settle(Map.of(\"ExportsPerUser\", -1L))", () -> settle("ExportsPerUser", -1));
    code("Reservation.Estimate.mean(16, 10)", () -> Reservation.Estimate.mean(16, 10));
    code(
        "limiter.lease(\"ExportsPerUser\", \"ann\", 0)",
        () -> limiter.lease("ExportsPerUser", "ann", 0));
    code(
        "limiter.acquire(\"ExportsPerUser\", \"ann\", wait)",
        () -> limiter.acquire("ExportsPerUser", "ann", MINUTE));
    code(
        "limit.acquire(\"ann\", Duration.ofSeconds(-1))",
        () -> Limit.of(Quota.per(10, MINUTE)).acquire("ann", Duration.ofSeconds(-1)));
    code(
        "limit.spend(\"ann\").orThrow()",
        () -> {
          Limit limit = Limit.of(Quota.per(1, MINUTE), () -> 0);
          Decision first = limit.spend("ann").orThrow();
          assertThat(first.allowed()).isTrue();
          Decision second = limit.spend("ann");
          while (second.retryAfterSeconds() > 60) { // its jitter is 0 s or 1 s
            second = limit.spend("ann");
          }
          second.orThrow();
        });
  }

  private void quotas() {
    title("Quotas and units");
    code("Quota.per(0, minute)", () -> Quota.per(0, MINUTE));
    code("Quota.burst(0).refill(10, minute)", () -> Quota.burst(0).refill(10, MINUTE));
    code("Quota.per(10, Duration.ZERO)", () -> Quota.per(10, Duration.ZERO));
    code("Quota.per(10, minute.negated())", () -> Quota.per(10, MINUTE.negated()));
    code(
        "Quota.per(10, Duration.ofDays(1_000_000))",
        () -> Quota.per(10, Duration.ofDays(1_000_000)));
    code("Quota.per(Long.MAX_VALUE, minute)", () -> Quota.per(Long.MAX_VALUE, MINUTE));
    code(
        "Quota.burst(1_000_000_000).refill(1, Duration.ofDays(365))",
        () -> Quota.burst(1_000_000_000).refill(1, Duration.ofDays(365)));
    code(
        "Limit.of(Quota.per(5, minute), Quota.per(10, minute))",
        () -> Limit.of(Quota.per(5, MINUTE), Quota.per(10, MINUTE)));
    code("Transaction.of(calls, List.of(), \"k1\")", () -> Transaction.of(CALLS, List.of(), "k1"));
    code(
        "Limits.builder(names).debt(\"CallsPerKey\", -1)", () -> builder().debt("CallsPerKey", -1));
    code("FailureRule.local(0)", () -> FailureRule.local(0));
  }

  private void nulls() {
    title("Nulls");
    String none = null;
    Duration noWait = null;
    code("limiter.spend(null, \"ann\")", () -> spend(none, "ann"));
    code("limiter.spend(\"ExportsPerUser\", null)", () -> spend("ExportsPerUser", none));
    code("limiter.spend((List<Transaction>) null)", () -> limiter.spend((List<Transaction>) null));
    code("limit.spend(null)", () -> Limit.of(Quota.per(10, MINUTE)).spend(none));
    code("limit.acquire(id, null)", () -> Limit.of(Quota.per(10, MINUTE)).acquire("ann", noWait));
    code(
        "Limiter.of((Limits) null, store)",
        () -> Limiter.of((Limits) null, BucketStore.inMemory()));
    code("Limiter.of(limits, null)", () -> Limiter.of(limits, null));
    code("Quota.per(10, null)", () -> Quota.per(10, null));
    code(
        "Costs.of((Map<String, Long>) null)", () -> Reservation.Costs.of((Map<String, Long>) null));
    code("new CurrentLimits(limits).replace(null)", () -> new CurrentLimits(limits).replace(null));
    code("LimitFiles.of(null)", () -> LimitFiles.of(null));
    code(
        "Rule.on(\"/login\").limit((String) null, id)",
        () -> Rule.on("/login").limit(none, VaryBy.path()));
    code("Rule.on((String) null)", () -> Rule.on(none));
    code(
        "Rule.on(\"/login\").limit(\"ExportsPerUser\", (VaryBy) null)",
        () -> Rule.on("/login").limit("ExportsPerUser", (VaryBy) null));
    code("RequestLimiter.builder(null)", () -> RequestLimiter.builder(null));
    code(
        "RequestLimiter.builder(limiter).rule(null)",
        () -> RequestLimiter.builder(limiter).rule(null));
  }

  private void storesAndOthers() throws IOException {
    title("Stores");
    code(
        "limiter.spend(\"ExportsPerUser\", \"ann\") after store.close()",
        () -> {
          BucketStore store = BucketStore.inMemory();
          Limiter closed = Limiter.of(limits, store);
          store.close();
          closed.spend("ExportsPerUser", "ann");
        });
    code("MemoryStore.builder().maxBuckets(0)", () -> MemoryStore.builder().maxBuckets(0).build());
    Files.writeString(folder.resolve("buckets"), "nonsense");
    code(
        "MemoryStore.builder().restore(a file of something else)",
        () -> MemoryStore.builder().restore(folder.resolve("buckets")));
    code(
        "MemoryStore.builder().build().save(Path.of(\"none/buckets\"))",
        () -> MemoryStore.builder().build().save(folder.resolve("none/buckets")));
    code("TimeSource.ticking(Duration.ZERO)", () -> TimeSource.ticking(Duration.ZERO));
  }

  private void rules() {
    title("Rules of filters");
    code("Rule.on(\"login\")", () -> rule(Rule.on("login").limit("ExportsPerUser", VaryBy.path())));
    code("Rule.on(\"/a/{x\")", () -> rule(Rule.on("/a/{x").limit("ExportsPerUser", VaryBy.path())));
    code("Rule.on(\"/login\").build()", () -> rule(Rule.on("/login")));
    code(
        "Rule.on(\"/a/{x}\").limit(\"ExportsPerUser\", VaryBy.pathVariable(\"y\"))",
        () -> rule(Rule.on("/a/{x}").limit("ExportsPerUser", VaryBy.pathVariable("y"))));
    code(
        "Rule.on(\"/a\").limit(\"ExportPerUser\", VaryBy.path())",
        () -> rule(Rule.on("/a").limit("ExportPerUser", VaryBy.path())));
    code(
        "Rule.on(\"/a\").limit(\"LoginsPerUserPerIPAddress\", VaryBy.clientAddress())",
        () -> rule(Rule.on("/a").limit("LoginsPerUserPerIPAddress", VaryBy.clientAddress())));
    code(
        "Rule.on(\"/a\").limit(\"ApiCallsPerKey\", VaryBy.header(\"X-Api-Key\"))",
        () -> rule(Rule.on("/a").limit("ApiCallsPerKey", VaryBy.header("X-Api-Key"))));
    code("VaryBy.header(\"X Api Key\")", () -> VaryBy.header("X Api Key"));
    code(
        "ClientAddress.behind(X_FORWARDED_FOR, \"10.0.0.0/33\")",
        () -> ClientAddress.behind(ProxyHeader.X_FORWARDED_FOR, "10.0.0.0/33"));
    code("RequestLimiter.builder(limiter).build()", () -> RequestLimiter.builder(limiter).build());
  }

  private void files() throws IOException {
    title("Limit files");
    for (String period : List.of("1 minute", "1min", "60", "0s", "-1m")) {
      file("LoginsPerIPAddress: {burst: 10, count: 10, period: " + period + "}\n");
    }
    for (String burst : List.of("0", "ten", "1_000", "1.5")) {
      file("LoginsPerIPAddress: {burst: " + burst + ", count: 10, period: 1m}\n");
    }
    file("LoginsPerIPAddress: {burst: 10, count: 10}\n");
    file("LoginsPerIPAddress: 10 per 1m\n");
    file("LoginsPerIPAddress:\n");
    file("LoginsPerIPAddress: {burst: 10, count: 10, perid: 1m}\n");
    file("LoginsPerIPAddress: {burst: 10, burst: 11, count: 10, period: 1m}\n");
    file("LoginsPerIpAddress: {burst: 10, count: 10, period: 1m}\n");
    file("OrdersPerUser: {burst: 10, count: 10, period: 1m}\n");
    file("OrdersPerUser: {id: strng, burst: 10, count: 10, period: 1m}\n");
    file("OrdersPerUser: {id: string, number: 0, burst: 10, count: 10, period: 1m}\n");
    file(LIMITS + "LoginsPerIPAddress: {burst: 11, count: 10, period: 1m}\n");
    file("LoginsPerIPAddress:\n\tburst: 10\n");
    file("LoginsPerIPAddress: {burst: 10, count: 10, period: 1m\n");
    file("- LoginsPerIPAddress: {burst: 10, count: 10, period: 1m, ids: [192.0.2.7]}\n");
    file("ApiCallsPerKey: {quotas: [10 per 1s]}\n");
    file("ApiCallsPerKey: {quotas: [10 per 1s, 20 per 1s]}\n");
    file("ApiCallsPerKey: {quotas: [10/s, 20 per 1m]}\n");
    file("ApiCallsPerKey: {unlimited: true, burst: 10}\n");
    file("");
    file("<html>\n");
    file("limits:\n  LoginsPerIPAddress: {burst: 10, count: 10, period: 1m}\noverride: []\n");
    for (String ids :
        List.of(
            "",
            ", ids: [ann]",
            ", ids: [192.0.2.7, 192.0.2.7]",
            ", ids: [{id: 192.0.2.7, until: tomorrow}]")) {
      file(
          "limits: {}\noverrides:\n- LoginsPerIPAddress: {burst: 1, count: 1, period: 1m"
              + ids
              + "}\n");
    }
    code(
        "LimitFiles.of(Path.of(\"limts.yml\")).load()",
        () -> LimitFiles.of(Path.of("limts.yml")).load());
    code("LimitFiles.of(a folder).load()", () -> LimitFiles.of(folder).load());
  }

  private void commands() {
    title("Command line");
    command("lnt limits.yml");
    command("lint --limit limits.yml");
    command("lint nope.yml");
    command("lint --limits limits.yml --for ApiCallsPerKey");
    command("key LoginPerIPAddress 192.0.2.7 --limits limits.yml");
    command("key LoginsPerIPAddress ann --limits limits.yml");
    command("simulate --limits limits.yml --limit LoginPerIPAddress");
    command("serve --limits nope.yml");
    command("serve --limits limits.yml --port http");
    command("serve --limits limits.yml --store localhost:6379");
    command("serve --limits limits.yml --store redis://localhost:6379/x");
    command("serve --limits limits.yml --store redis://localhost:6379?timeut=1s");
    command("serve --limits limits.yml --store redis://localhost:6379?timeout=1");
    command("serve --limits limits.yml --missing-default warm");
    command("spend --server http://127.0.0.1:1 ExportsPerUser ann");
  }

  private static LimitName.Builder name(String name) {
    return LimitName.builder(name);
  }

  private static Limits.Builder builder() {
    return Limits.builder(Catalogue.of(CALLS));
  }

  private void spend(String name, String id) {
    limiter.spend(name, id);
  }

  private void spend(long cost) {
    limiter.spend("ExportsPerUser", "ann", cost);
  }

  private void settle(String name, long cost) {
    try (Reservation reservation = limiter.reserve("ExportsPerUser", "ann")) {
      reservation.settle(Map.of(name, cost));
    }
  }

  private void rule(Rule.Builder rule) {
    RequestLimiter.builder(limiter).rule(rule.build()).build().close();
  }
}
