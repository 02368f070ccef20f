// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.FailureRule;
import dev.sluice.server.access.Tokens;
import dev.sluice.server.net.HostPort;
import dev.sluice.server.service.ServerConfig;
import dev.sluice.server.service.ServerConfig.Control;
import dev.sluice.server.service.ServerConfig.Doors;
import dev.sluice.server.service.ServerConfig.Http;
import dev.sluice.server.service.ServerConfig.Sources;
import dev.sluice.server.service.ServerConfig.Storage;
import dev.sluice.server.service.ServerConfig.Telemetry;
import dev.sluice.server.service.Service;
import dev.sluice.server.service.StoreAccess;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Reloads, dry runs, rollbacks and questions to a running server. */
class ReloadCommandTest {

  private static final String FIRST =
      "CallsPerId: {id: string, burst: 20, count: 20, period: 1h}\n";
  private static final String SECOND = FIRST.replace("burst: 20", "burst: 30");
  private static final String THIRD = FIRST.replace("burst: 20", "burst: 40");

  @TempDir private Path folder;
  private Path limits;
  private Path audit;
  private Service service;
  private String url;

  @BeforeEach
  void start() throws IOException {
    limits = Files.writeString(folder.resolve("limits.yml"), FIRST);
    audit = folder.resolve("audit.jsonl");
    service = Service.start(config(limits, audit, Storage.in(StoreAccess.of("memory"))));
    url = "http://" + HostPort.format(service.addresses().get(0));
  }

  @AfterEach
  void stop() {
    new End(service).close();
  }

  private Cli reload(String... options) {
    String[] args = new String[options.length + 3];
    args[0] = "reload";
    args[1] = "--server";
    args[2] = url;
    System.arraycopy(options, 0, args, 3, options.length);
    return Cli.run(args);
  }

  private static ServerConfig config(Path limits, Path audit, Storage storage) {
    return new ServerConfig(
        Doors.of(Http.on(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))),
        Sources.of(new ServerConfig.Files(limits, null, null, null, true)),
        storage,
        new Control(null, audit.toString(), null, null),
        new Telemetry(true, null));
  }

  private void apply(String content) throws IOException {
    Files.writeString(limits, content);
    Cli done = reload();
    assertThat(done.err()).isEqualTo("reloaded\n");
    assertThat(done.code()).isEqualTo(Exit.DONE);
  }

  private long burst() throws Exception {
    String body = get("/v1/limits/CallsPerId");
    return Long.parseLong(body.replaceAll("(?s).*\"burst\":(\\d+).*", "$1"));
  }

  private String get(String path) throws Exception {
    return HttpClient.newHttpClient()
        .send(HttpRequest.newBuilder(URI.create(url + path)).build(), BodyHandlers.ofString())
        .body();
  }

  /** The audit log is written by a thread of its own, after the answer. */
  private void awaitAudited(String... texts) {
    await()
        .atMost(Duration.ofMinutes(1))
        .untilAsserted(() -> assertThat(Files.readString(audit)).contains(texts));
  }

  @Test
  void dryRun_printsTheChanges_andAppliesNothing() throws Exception {
    Files.writeString(limits, SECOND + "OtherPerId: {id: string, unlimited: true}\n");
    Cli dry = reload("--dry-run");
    assertThat(dry.out()).isEqualTo("CallsPerId: burst 20 → 30\nOtherPerId: added, unlimited\n");
    assertThat(dry.code()).isEqualTo(Exit.DONE);

    // If the dry run had a line in the audit log, the line of a later reload would follow it.
    apply(SECOND);
    awaitAudited("\"what\":\"reload\"");
    assertThat(Files.readString(audit)).containsOnlyOnce("\"what\":\"reload\"");
  }

  @Test
  void dryRun_countsTheIdsThatWouldBeDenied() throws Exception {
    for (String id : new String[] {"ann", "bob"}) {
      assertThat(Cli.run("spend", "CallsPerId", id, "--cost", "20", "--server", url).code())
          .isEqualTo(Exit.DONE);
      assertThat(Cli.run("spend", "CallsPerId", id, "--server", url).code()).isEqualTo(Exit.NO);
    }
    assertThat(
            Cli.run(
                    "overrides",
                    "set",
                    "CallsPerId",
                    "bob",
                    "--burst",
                    "200",
                    "--count",
                    "90",
                    "--period",
                    "1h",
                    "--server",
                    url)
                .code())
        .isEqualTo(Exit.DONE);
    assertThat(reload("--dry-run").err())
        .contains("of 2 ids denied last, 1 are denied now, and 1 would be; of ")
        .contains(" ids charged most, ");
    Files.writeString(limits, SECOND);
    assertThat(reload("--dry-run").err())
        .contains("of 2 ids denied last, 1 are denied now, and 0 would be")
        .contains("this store cannot list its buckets, so other ids were not checked");
  }

  @Test
  void dryRun_whileAFailureRuleDecides_saysThatTheEffectIsNotKnown() throws Exception {
    Storage usual = Storage.in(StoreAccess.of("memory"));
    Storage away =
        new Storage(
            StoreAccess.of("redis://127.0.0.1:1/0?timeout=100ms"),
            null,
            usual.tokenKey(),
            FailureRule.deny(),
            Map.of(),
            true);
    try (Service other = Service.start(config(limits, folder.resolve("other.jsonl"), away));
        End end = new End(other)) {
      url = "http://" + HostPort.format(other.addresses().get(0));
      assertThat(Cli.run("spend", "CallsPerId", "ann", "--server", url).code()).isEqualTo(Exit.NO);
      assertThat(reload("--dry-run").err())
          .contains("the ids that would be denied are unknown: the store does not answer");
    }
  }

  @Test
  @Tag("slow")
  void dryRun_afterTheEndOfAnOverride_saysThatNothingChanges() throws Exception {
    Instant end = Instant.now().plusSeconds(10); // after the reload, which warns otherwise
    apply(
        """
        limits:
          CallsPerId: {id: string, burst: 20, count: 20, period: 1h}
        overrides:
          - CallsPerId: {burst: 30, count: 30, period: 1h, ids: [{id: ann, until: %s}]}
        """
            .formatted(end));
    await()
        .atMost(Duration.ofMinutes(1))
        .untilAsserted(
            () -> assertThat(get("/v1/admin/overrides")).startsWith("{\"overrides\":[]"));
    Cli dry = reload("--dry-run");
    assertThat(dry.out()).isEmpty();
    assertThat(dry.err()).startsWith("a reload would change nothing\n");
  }

  @Test
  void dryRun_ofUnchangedFiles_saysSo() {
    Cli dry = reload("--dry-run");
    assertThat(dry.out()).isEmpty();
    assertThat(dry.err())
        .isEqualTo(
            "a reload would change nothing\nof 0 ids denied last, 0 are denied now, and 0 would be;"
                + " of 0 ids charged most, 0 are denied now, and 0 would be;"
                + " this store cannot list its buckets, so other ids were not checked\n");
  }

  @Test
  void mistakes_areListed_with1() throws Exception {
    Files.writeString(limits, "CallsPerId: {id: string, burst: many, count: 2, period: 1h}\n");
    for (Cli refused : new Cli[] {reload("--dry-run"), reload()}) {
      assertThat(refused.code()).isEqualTo(Exit.NO);
      assertThat(refused.out()).contains("limits.yml:1:", "many");
      assertThat(refused.err()).contains("mistakes; limits, ", "stay as they are");
    }
    assertThat(burst()).isEqualTo(20);
  }

  @Test
  void mistakesInTheTokens_doNotHideThatTheLimitsChanged() throws Exception {
    Path tokens = folder.resolve("tokens.yml");
    String token = "s3cret";
    String good =
        "tokens:\n- {name: ops, sha256: %s, roles: [decide, read, admin]}\n"
            .formatted(Tokens.sha256(token));
    Files.writeString(tokens, good);
    Path secret = Files.writeString(folder.resolve("token"), token);
    ServerConfig plain =
        config(limits, folder.resolve("o.jsonl"), Storage.in(StoreAccess.of("memory")));
    ServerConfig guarded =
        new ServerConfig(
            plain.doors(),
            plain.sources(),
            plain.storage(),
            new Control(tokens, null, null, null),
            plain.telemetry());
    try (Service other = Service.start(guarded);
        End end = new End(other)) {
      url = "http://" + HostPort.format(other.addresses().get(0));
      Files.writeString(limits, SECOND);
      Files.writeString(tokens, good + "- {name: b, sha256: abc, roles: [read]}\n");

      Cli dry = reload("--dry-run", "--token-file", secret.toString());
      Cli done = reload("--token-file", secret.toString());

      assertThat(dry.err())
          .startsWith(
              "mistakes; limits, tokens or certificates with mistakes stay as they are; a reload"
                  + " applies only the others\n");
      assertThat(done.out()).contains("tokens.yml:3:");
      assertThat(done.code()).isEqualTo(Exit.NO);
      assertThat(done.err())
          .isEqualTo(
              "mistakes; limits, tokens or certificates with mistakes stay as they are; a reload"
                  + " applies only the others\n");
      assertThat(Cli.run("limits", "--server", url, "--token-file", secret.toString()).out())
          .contains("30");
    }
  }

  @Test
  void dryRun_ofAMendedFile_reportsNoOldMistake() throws Exception {
    Files.writeString(limits, "CallsPerId: {id: string, burst: many, count: 2, period: 1h}\n");
    assertThat(reload().code()).isEqualTo(Exit.NO);
    Files.writeString(limits, SECOND);
    Cli dry = reload("--dry-run");
    assertThat(dry.out()).isEqualTo("CallsPerId: burst 20 → 30\n");
    assertThat(dry.err()).doesNotContain("mistakes");
    assertThat(dry.code()).isEqualTo(Exit.DONE);
  }

  @Test
  void emptyFile_isRefusedByADryRun_asByAReload() throws Exception {
    Files.writeString(limits, "{}\n");
    Cli dry = reload("--dry-run");
    assertThat(dry.code()).isEqualTo(Exit.NO);
    assertThat(dry.out()).contains("found no defaults");
  }

  @Test
  void rollback_staysInForce_untilTheFilesChange() throws Exception {
    apply(SECOND);
    apply(THIRD);
    Cli back = Cli.run("rollback", "--server", url);
    assertThat(back.out()).isEqualTo("CallsPerId: burst 40 → 30\n");
    assertThat(back.err())
        .contains("is in force until changed files are applied or the server restarts");
    assertThat(burst()).isEqualTo(30);
    assertThat(get("/v1/limits")).contains("\"putBack\":true");
    assertThat(get("/metrics")).contains("sluice_generation_put_back 1");

    Cli again = reload();
    assertThat(again.code()).isEqualTo(Exit.NO);
    assertThat(again.err()).contains("a rollback is in force");
    assertThat(burst()).isEqualTo(30);

    Files.writeString(limits, THIRD.replace("burst: 40", "burst: many"));
    Cli mistaken = reload();
    assertThat(mistaken.out()).contains("limits.yml:1:", "many");
    assertThat(mistaken.err())
        .startsWith("mistakes; limits, ")
        .endsWith("\na rollback is in force until changed files are applied\n");
    Files.writeString(limits, THIRD);

    Cli dry = reload("--dry-run");
    assertThat(dry.out()).isEqualTo("CallsPerId: burst 30 → 40\n");
    assertThat(dry.err()).startsWith("a rollback is in force until changed files are applied\n");
    assertThat(Cli.run("limits", "--server", url).out()).contains("\"putBack\":true");

    Cli further = Cli.run("rollback", "--server", url);
    assertThat(further.out()).isEqualTo("CallsPerId: burst 30 → 20\n");

    apply(THIRD + "# changed\n");
    assertThat(burst()).isEqualTo(40);
    assertThat(get("/v1/limits")).doesNotContain("putBack");
    assertThat(get("/metrics")).contains("sluice_generation_put_back 0");
    awaitAudited("\"what\":\"rollback\",\"result\":\"done\"");
  }

  @Test
  void rollback_afterARollbackAndNewFiles_returnsToWhatWasInForce() throws Exception {
    apply(SECOND);
    apply(THIRD); // the bad one
    assertThat(Cli.run("rollback", "--server", url).out()).contains("burst 40 → 30");
    apply(FIRST.replace("burst: 20", "burst: 50"));
    assertThat(Cli.run("rollback", "--server", url).out()).contains("burst 50 → 30");
  }

  @Test
  void dryRun_withAnotherValue_isRefused_andAudited() throws Exception {
    HttpRequest other =
        HttpRequest.newBuilder(URI.create(url + "/v1/admin/reload?dryRun=yes"))
            .POST(HttpRequest.BodyPublishers.noBody())
            .build();
    assertThat(HttpClient.newHttpClient().send(other, BodyHandlers.ofString()).statusCode())
        .isEqualTo(400);
    awaitAudited("\"what\":\"reload\",\"result\":\"refused\"", "dryRun: found another value");
  }

  @Test
  void rollbackToTheFilesOwnGeneration_endsARollback() throws Exception {
    String own = generation();
    apply(SECOND);
    String second = generation();
    assertThat(Cli.run("rollback", own, "--server", url).code()).isEqualTo(Exit.DONE);
    assertThat(burst()).isEqualTo(20);
    Cli forward = Cli.run("rollback", second, "--server", url);
    assertThat(forward.err()).isEqualTo("generation %s is in force%n".formatted(second));
    assertThat(burst()).isEqualTo(30);
    assertThat(reload().code()).isEqualTo(Exit.DONE);
  }

  private String generation() throws Exception {
    return get("/v1/limits").replaceAll("(?s).*\"active\":\\{\"hash\":\"([0-9a-f]+)\".*", "$1");
  }

  @Test
  void unknownGeneration_isRefused_withThoseThereAre() throws Exception {
    apply(SECOND);
    Cli unknown = Cli.run("rollback", "abc", "--server", url);
    assertThat(unknown.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(unknown.err()).contains("an unknown generation, expected one of", generation());
  }

  @Test
  void rollbackWithoutAnEarlierGeneration_isRefused() {
    Cli none = Cli.run("rollback", "--server", url);
    assertThat(none.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(none.err()).contains("the server keeps no earlier generation");
  }

  @Test
  void why_asksTheServer() {
    Cli why = Cli.run("why", "CallsPerId", "ann", "--server", url, "--request", "GET /x");
    assertThat(why.code()).isEqualTo(Exit.DONE);
    assertThat(why.out().lines())
        .containsExactly(
            "CallsPerId of ann: 20 of 20 tokens left, a request passes now",
            "limited by the default (" + limits + ":1): 20 per 1h, burst 20",
            "no denial is kept",
            "no rule matches: nothing is charged");
  }

  @Test
  void why_withoutASource_orWithBoth_isRefused() {
    Cli none = Cli.run("why", "CallsPerId", "ann");
    assertThat(none.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(none.err()).contains("expected --server URL");
    Cli both = Cli.run("why", "CallsPerId", "ann", "--server", url, "--log", "access.log");
    assertThat(both.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(both.err()).contains("expected one or the other");
    Cli broken = Cli.run("why", "CallsPerId", "ann", "--server", url, "--request", "x");
    assertThat(broken.err()).contains("expected a method and a target");
  }

  @Test
  void why_usesAnAddressAsTheClientOfTheRequest() throws Exception {
    apply(
        """
        limits:
          PerIp: {id: ipAddress, burst: 3, count: 3, period: 1h}
          CallsPerId: {id: string, burst: 20, count: 20, period: 1h}
        rules:
          - {path: /health, unlimited: true}
          - {path: /**, limit: PerIp, id: "{ip}"}
        """);
    Cli why = Cli.run("why", "PerIp", "192.0.2.7", "--server", url, "--request", "GET /cart");
    assertThat(why.out())
        .contains("limits.yml:5: not this rule: the rule is for the path /health")
        .contains("limits.yml:6: this rule\n  PerIp of 192.0.2.7, cost 1");
  }

  @Test
  void why_takesHeadersAndTheClientOfTheRequest() throws Exception {
    apply(
        """
        limits:
          PerIp: {id: ipAddress, burst: 3, count: 3, period: 1h}
          CallsPerId: {id: string, burst: 20, count: 20, period: 1h}
        rules:
          - {path: /x, host: api.example.com, limit: CallsPerId, id: "{header:x-api-key}"}
          - {path: /**, limit: PerIp, id: "{ip}"}
        """);
    String[] request = {"why", "CallsPerId", "k1", "--server", url, "--request", "GET /x"};
    Cli keyed =
        Cli.run(with(request, "--header", "Host: api.example.com", "--header", "X-Api-Key: k1"));
    assertThat(keyed.out()).contains("limits.yml:5: this rule\n  CallsPerId of k1, cost 1");
    Cli other = Cli.run(with(request, "--client", "192.0.2.7"));
    assertThat(other.out()).contains("limits.yml:6: this rule\n  PerIp of 192.0.2.7, cost 1");
    Cli alone = Cli.run("why", "CallsPerId", "k1", "--server", url, "--client", "192.0.2.7");
    assertThat(alone.err()).contains("--client: requires --request");
    assertThat(alone.code()).isEqualTo(Exit.BROKEN_INPUT);
  }

  private static String[] with(String[] first, String... more) {
    return Stream.concat(Arrays.stream(first), Arrays.stream(more)).toArray(String[]::new);
  }
}
