// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whatever a file holds, a load gives limits or says what is wrong; it never fails otherwise. */
@Tag("slow")
class MutationTest {

  private static final int MUTANTS = 5_000;
  private static final String ODD =
      "\t\n\r :-?[]{},#&*!|>'\"%@`~<\\0019._+eEx=/ab\u0000\u0007\u0085\u2028\ufeffé";

  @TempDir Path folder;

  @Test
  void load_ofRandomlyChangedFiles_failsOnlyWithProblems() throws IOException {
    List<byte[]> seeds = new ArrayList<>();
    for (String resources : List.of("vectors", "bad")) {
      for (Path file : TestFiles.yaml(resources)) {
        if (Files.size(file) < 2000) {
          seeds.add(Files.readAllBytes(file));
        }
      }
    }
    assertThat(seeds).hasSizeGreaterThan(40);
    long seed = Long.getLong("sluice.seed", 1);
    Path file = folder.resolve("limits.yml");
    List<LimitFiles> kinds =
        List.of(
            TestFiles.builder().defaults(file).build(),
            TestFiles.builder().overrides(file).build(),
            TestFiles.builder().names(file).build());
    for (int i = 0; i < MUTANTS; i++) {
      Random random = new Random(seed + i);
      byte[] mutant = mutate(seeds.get(random.nextInt(seeds.size())), seeds, random);
      Files.write(file, mutant);
      LimitFiles files = kinds.get(random.nextInt(kinds.size()));
      try {
        assertThat(files.load()).isNotNull();
      } catch (LimitFilesException e) {
        assertThat(e.problems())
            .as("seed %d", seed + i)
            .isNotEmpty()
            .allMatch(MutationTest::isWhole);
      } catch (RuntimeException | Error e) {
        fail("seed %s: %s".formatted(seed + i, new String(mutant, UTF_8)), e);
      }
    }
  }

  private static boolean isWhole(Problem problem) {
    return problem.line() >= 1
        && problem.column() >= 1
        && problem.severity() == Severity.MISTAKE
        && !problem.message().isBlank()
        && problem.message().chars().noneMatch(Character::isISOControl);
  }

  private static byte[] mutate(byte[] bytes, List<byte[]> others, Random random) {
    byte[] mutant = bytes;
    for (int i = random.nextInt(6); i >= 0; i--) {
      int from = random.nextInt(mutant.length + 1);
      int to = Math.min(mutant.length, from + random.nextInt(12));
      mutant =
          switch (random.nextInt(5)) {
            case 0 -> replaced(mutant, from, to, new byte[0]);
            case 1 -> replaced(mutant, from, from, odd(random));
            case 2 -> replaced(mutant, from, to, odd(random));
            case 3 -> replaced(mutant, from, from, Arrays.copyOfRange(mutant, from, to));
            default -> {
              byte[] other = others.get(random.nextInt(others.size()));
              int start = random.nextInt(other.length + 1);
              int end = Math.min(other.length, start + random.nextInt(60));
              yield replaced(mutant, from, to, Arrays.copyOfRange(other, start, end));
            }
          };
    }
    return mutant;
  }

  private static byte[] odd(Random random) {
    if (random.nextInt(20) == 0) {
      return new byte[] {(byte) random.nextInt(256)};
    }
    int at = random.nextInt(ODD.length());
    return ODD.substring(at, at + 1).repeat(1 + random.nextInt(3)).getBytes(UTF_8);
  }

  private static byte[] replaced(byte[] bytes, int from, int to, byte[] by) {
    byte[] result = new byte[bytes.length - (to - from) + by.length];
    System.arraycopy(bytes, 0, result, 0, from);
    System.arraycopy(by, 0, result, from, by.length);
    System.arraycopy(bytes, to, result, from + by.length, bytes.length - to);
    return result;
  }
}
