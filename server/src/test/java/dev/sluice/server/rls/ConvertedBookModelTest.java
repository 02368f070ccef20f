// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Transaction;
import dev.sluice.limit.Limits;
import dev.sluice.rules.RuleBook;
import dev.sluice.rules.RuleBook.DescriptorEntry;
import dev.sluice.rules.RuleMatch;
import dev.sluice.rules.convert.Conversion;
import dev.sluice.yaml.LimitFiles;
import dev.sluice.yaml.Problem;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * Converted configurations beside a model of envoyproxy/ratelimit's look-up, on random files and
 * descriptors. Each test has a {@linkplain FreshSeed fresh seed}.
 *
 * <p>The model walks down the tree as the reference does. It compares the limit, and which
 * descriptors share a count. There is one difference: the reference joins an entry's key and value
 * with "_" before it compares them, so {@code a} with {@code b_c} is {@code a_b} with {@code c};
 * rules compare the two apart. Each difference that is found must vanish where the model compares
 * them apart, too.
 */
@Tag("slow")
final class ConvertedBookModelTest {

  private static final int FILES = 1_000;
  private static final int DESCRIPTORS = 100;
  private static final String NONE = "none";

  /** No key has it, so nothing is joined by accident. */
  private static final String APART = "\u0001";

  @TempDir private Path folder;

  @RegisterExtension final FreshSeed seed = new FreshSeed();

  private final SplittableRandom random = seed.random();

  @SafeVarargs
  private final <T> T one(T... of) {
    return of[random.nextInt(of.length)];
  }

  /** A descriptor of a file; a rate of -1 is none, of -2 unlimited. */
  private record Node(
      String key, String value, int rate, boolean shadow, boolean shared, List<Node> below) {

    String composite(String joint) {
      return value.isEmpty() ? key : key + joint + value;
    }

    void write(String indent, StringBuilder yaml) {
      yaml.append(indent).append("- key: \"").append(key).append("\"\n");
      if (!value.isEmpty()) {
        yaml.append("%s  value: \"%s\"%n".formatted(indent, value.replace("\\", "\\\\")));
      }
      if (rate >= 0) {
        yaml.append("%s  rate_limit: {unit: day, requests_per_unit: %s}%n".formatted(indent, rate));
      } else if (rate == -2) {
        yaml.append(indent).append("  rate_limit: {unlimited: true}\n");
      }
      if (shadow) {
        yaml.append(indent).append("  shadow_mode: true\n");
      }
      if (shared) {
        yaml.append(indent).append("  share_threshold: true\n");
      }
      if (!below.isEmpty()) {
        yaml.append(indent).append("  descriptors:\n");
        below.forEach(node -> node.write(indent + "    ", yaml));
      }
    }
  }

  private static boolean decides(Node node) {
    return node.rate != -1 || node.below.stream().anyMatch(ConvertedBookModelTest::decides);
  }

  private int rates;

  private List<Node> nodes(int depth) {
    Map<String, Node> nodes = new LinkedHashMap<>();
    int count = 1 + random.nextInt(6);
    for (int i = 0; i < count; i++) {
      boolean deeper = depth < 3 && random.nextInt(3) == 0;
      int rate =
          random.nextInt(deeper ? 2 : 6) == 0
              ? -1
              : random.nextInt(8) == 0 ? -2 : random.nextInt(10) == 0 ? 0 : ++rates;
      String value = random.nextInt(4) == 0 ? "" : pattern();
      boolean shared = value.contains("*") && random.nextInt(3) == 0;
      Node node =
          new Node(
              one("k", "k", "k", "l", "k_a"),
              value,
              rate,
              rate > 0 && random.nextInt(8) == 0,
              shared,
              deeper ? nodes(depth + 1) : List.of());
      nodes.putIfAbsent(node.composite("_"), node);
    }
    return List.copyOf(nodes.values());
  }

  private String text(String... letters) {
    StringBuilder text = new StringBuilder();
    int length = 1 + random.nextInt(4);
    for (int i = 0; i < length; i++) {
      text.append(one(letters));
    }
    return text.toString();
  }

  private String pattern() {
    return random.nextInt(3) == 0 ? text("a", "b", "_") : text("a", "b", "*", "*", "\\", "a");
  }

  private List<DescriptorEntry> entries(List<String> values) {
    List<DescriptorEntry> entries = new ArrayList<>();
    int count = 1 + (random.nextInt(2) == 0 ? 0 : random.nextInt(3));
    for (int i = 0; i < count; i++) {
      String value =
          switch (random.nextInt(8)) {
            case 0 -> "";
            case 1, 2, 3 -> values.get(random.nextInt(values.size()));
            case 4 -> text("a", "b", "*", "\\", "_");
            default -> text("a", "b", "a");
          };
      entries.add(new DescriptorEntry(one("k", "k", "k", "l", "k_a"), value));
    }
    return entries;
  }

  private static void values(List<Node> nodes, List<String> all) {
    for (Node node : nodes) {
      all.add(node.value);
      values(node.below, all);
    }
  }

  private static boolean matches(String pattern, String text) {
    String form =
        Pattern.compile("\\*")
            .splitAsStream(pattern + " ")
            .map(Pattern::quote)
            .collect(Collectors.joining(".*"));
    return Pattern.compile(form, Pattern.DOTALL).matcher(text + " ").matches();
  }

  /**
   * The look-up of the reference.
   *
   * @param joint what stands between a key and a value
   * @return the limit and what is counted together; "none" if nothing limits
   */
  private static String model(List<Node> tree, List<DescriptorEntry> entries, String joint) {
    List<Node> level = tree;
    StringBuilder count = new StringBuilder();
    for (int i = 0; i < entries.size(); i++) {
      DescriptorEntry entry = entries.get(i);
      String asked = entry.key() + joint + entry.value();
      Node found = null;
      boolean byPattern = false;
      for (Node node : level) {
        found = found == null && node.composite(joint).equals(asked) ? node : found;
      }
      for (Node node : level) {
        if (found == null && node.value.contains("*") && matches(node.composite(joint), asked)) {
          found = node;
          byPattern = true;
        }
      }
      for (Node node : level) {
        found = found == null && node.composite(joint).equals(entry.key()) ? node : found;
      }
      if (found == null) {
        return NONE;
      }
      String counted = byPattern && found.shared ? found.value : entry.value();
      count.append(entry.key()).append('=').append(counted).append(';');
      if (i == entries.size() - 1) {
        return switch (found.rate) {
          case -1 -> NONE;
          case -2 -> "unlimited";
          case 0 -> "denied";
          default -> found.rate + (found.shadow ? " in shadow for " : " for ") + count;
        };
      }
      level = found.below;
    }
    return NONE;
  }

  private Limits converted(String config) throws IOException {
    Path file = Files.writeString(folder.resolve("config.yaml"), config);
    Conversion conversion = Conversion.ofEnvoyRateLimit(List.of(file));
    assertThat(conversion.notExpressed()).as("%s", config).isEmpty();
    Files.deleteIfExists(folder.resolve("overrides.yml"));
    for (Map.Entry<String, String> one : conversion.files().entrySet()) {
      Files.writeString(folder.resolve(one.getKey()), one.getValue());
    }
    LimitFiles.Builder files =
        LimitFiles.builder()
            .defaults(folder.resolve("limits.yml"))
            .companion(folder.resolve("rules.yml"), RuleBook.reader());
    if (conversion.files().containsKey("overrides.yml")) {
      files.overrides(folder.resolve("overrides.yml"));
    }
    List<Problem> problems = files.build().lint();
    assertThat(problems).as("%s%n%s", config, conversion.files().get("rules.yml")).isEmpty();
    return files.build().load();
  }

  /** The limit by its burst, and the bucket; buckets stand for counts. */
  private static String found(Limits limits, List<DescriptorEntry> entries) {
    Optional<RuleMatch> match = RuleBook.of(limits).match("d", entries);
    if (match.isEmpty()) {
      return NONE;
    }
    return switch (match.get().verdict()) {
      case UNLIMITED -> "unlimited";
      case DENIES -> "denied";
      case CHARGES -> {
        if (match.get().charges().isEmpty()) {
          yield NONE;
        }
        Transaction one = match.get().charges().get(0).transaction(limits);
        yield "%s%s for %s"
            .formatted(one.quota().burst(), one.isShadow() ? " in shadow" : "", one.bucketKey());
      }
    };
  }

  private static String limit(String answer) {
    return answer.split(" for ", 2)[0];
  }

  @Test
  void descriptors_comeToTheLimitsAndCountsOfTheReference() throws IOException {
    Map<String, Integer> outcomes = new TreeMap<>();
    for (int file = 0; file < FILES; file++) {
      rates = 0;
      List<Node> tree = nodes(1);
      while (tree.stream().noneMatch(ConvertedBookModelTest::decides)) {
        tree = nodes(1);
      }
      StringBuilder yaml = new StringBuilder("domain: d\ndescriptors:\n");
      for (Node node : tree) {
        node.write("  ", yaml);
      }
      Limits limits = converted(yaml.toString());
      List<String> values = new ArrayList<>();
      values(tree, values);
      Map<String, String> counts = new HashMap<>();
      Map<String, String> buckets = new HashMap<>();
      for (int i = 0; i < DESCRIPTORS; i++) {
        List<DescriptorEntry> entries = entries(values);
        String expected = model(tree, entries, "_");
        String apart = model(tree, entries, APART);
        String found = found(limits, entries);
        outcomes.merge(
            expected.equals(apart)
                ? limit(expected).replaceAll("[1-9]\\d*", "N")
                : "key and value joined",
            1,
            Integer::sum);
        assertThat(limit(found)).as("%s by%n%s", entries, yaml).isEqualTo(limit(apart));
        if (apart.contains(" for ")) {
          String other = counts.putIfAbsent(found, apart);
          assertThat(other == null ? apart : other)
              .as("%s: one bucket for two counts%n%s", entries, yaml)
              .isEqualTo(apart);
          other = buckets.putIfAbsent(apart, found);
          assertThat(other == null ? found : other)
              .as("%s: two buckets for one count%n%s", entries, yaml)
              .isEqualTo(found);
        }
      }
    }
    assertThat(outcomes)
        .containsOnlyKeys("N", "N in shadow", "denied", "key and value joined", NONE, "unlimited")
        .allSatisfy((kind, times) -> assertThat(times).as(kind).isGreaterThan(300));
  }
}
