package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.LocalRedis;
import dev.sluice.testkit.RedisBinary;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ActCommandTest {

  @TempDir Path folder;

  private Cli run(String store, String... act) throws IOException {
    Path limits = folder.resolve("limits.yml");
    Files.writeString(limits, "NewOrdersPerAccount: {burst: 3, count: 3, period: 24h}\n");
    String[] args = new String[act.length + 4];
    System.arraycopy(act, 0, args, 0, act.length);
    args[act.length] = "--limits";
    args[act.length + 1] = limits.toString();
    args[act.length + 2] = "--store";
    args[act.length + 3] = store;
    return Cli.run(args);
  }

  @Test
  void acts_onALiveStore_sayWhatTheyDidByTheirExitCode() throws IOException {
    try (LocalRedis redis = LocalRedis.start(RedisBinary.bundled())) {
      String store = redis.uri() + "?timeout=10s";
      assertThat(run(store, "check", "NewOrdersPerAccount", "17").out())
          .startsWith("{\"allowed\":true,\"remaining\":2,");
      Cli spent = run(store, "spend", "NewOrdersPerAccount", "17", "--cost", "3");
      assertThat(spent.code()).isZero();
      assertThat(spent.out()).startsWith("{\"allowed\":true,\"remaining\":0,");
      Cli denied = run(store, "spend", "NewOrdersPerAccount", "17");
      assertThat(denied.code()).isEqualTo(Exit.NO);
      assertThat(denied.err()).contains("too many new orders (3)");
      assertThat(run(store, "refund", "NewOrdersPerAccount", "17").code()).isZero();
      Cli reset = run(store, "reset", "NewOrdersPerAccount", "17");
      assertThat(reset.out()).isEqualTo("{\"reset\":true}\n");
      assertThat(redis.command("EXISTS", "3:17")).isEqualTo(0L);
      assertThat(run(store, "refund", "NewOrdersPerAccount", "17").code()).isEqualTo(Exit.NO);
    }
  }

  @Test
  void unreachableStore_endsWithThree() throws IOException {
    Cli run = run("redis://127.0.0.1:1/0", "spend", "NewOrdersPerAccount", "17");
    assertThat(run.code()).isEqualTo(Exit.UNREACHABLE);
    assertThat(run.err())
        .startsWith("sluice: ")
        .contains("127.0.0.1:1")
        .doesNotContain("at dev.sluice");
    assertThat(run.out()).isEmpty();
  }

  @Test
  void brokenInput_endsWithTwoAndSaysWhat() throws IOException {
    Cli store = run("redsi://localhost", "check", "NewOrdersPerAccount", "17");
    assertThat(store.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(store.err()).contains("--store: ").contains("did you mean \"redis\"?");
    Cli secret = run("redis://app:S3 cret@h", "check", "NewOrdersPerAccount", "17");
    assertThat(secret.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(secret.err()).contains("--store: ").doesNotContain("S3").doesNotContain("cret");
    Cli misplaced = Cli.run("check", "a", "b", "redis://app:S3cret@h", "--store", "memory");
    assertThat(misplaced.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(misplaced.err()).doesNotContain("S3cret");
    Cli cost = run("memory", "spend", "NewOrdersPerAccount", "17", "--cost", "4");
    assertThat(cost.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(cost.err()).contains("invalid cost, must be <= limit.Burst");
    assertThat(run("memory", "reset", "NewOrdersPerAccount", "17", "--cost", "1").err())
        .contains("found --cost");
    Cli limits = Cli.run("check", "NewOrdersPerAccount", "17", "--store", "memory");
    assertThat(limits.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(limits.err()).contains("found no --limits FILE");
  }
}
