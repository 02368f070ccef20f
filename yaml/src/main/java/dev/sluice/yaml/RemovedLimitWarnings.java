// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Finds defaults, overrides and ends of files that a reload would remove. */
final class RemovedLimitWarnings {

  private static final int SHOWN = 10;

  private RemovedLimitWarnings() {}

  /**
   * Returns warnings about everything that the reload would remove.
   *
   * @param before the current limits, without overrides that have ended
   * @param applied the contents from which the current limits were loaded; null before the first
   *     load
   * @return the warnings; empty if the reload would remove nothing
   */
  static List<Problem> warnings(
      Limits before, Limits after, @Nullable Snapshot applied, Snapshot files) {
    List<Problem> warnings = new ArrayList<>();
    if (files.defaults() != null || applied != null) {
      defaults(before, after, files.firstFile(), warnings);
    }
    if (files.overrides() != null || applied != null) {
      FileContent own = files.overrides();
      overrides(before, after, own == null ? files.firstFile() : own.file(), warnings);
    }
    if (applied != null) {
      List<@Nullable FileContent> old = applied.texts();
      List<@Nullable FileContent> now = files.texts();
      for (int i = 0; i < now.size(); i++) {
        boolean isCut = cut(old.get(i), now.get(i), warnings);
        if (!isCut && (files.companions().contains(now.get(i)) || hasRules(old.get(i)))) {
          shortened(old.get(i), now.get(i), warnings);
        }
      }
    }
    return warnings;
  }

  private static void defaults(Limits before, Limits after, String file, List<Problem> warnings) {
    List<String> names =
        before.configured().stream()
            .filter(name -> hasDefault(before, name) && !hasDefault(after, name))
            .map(LimitName::name)
            .toList();
    if (!names.isEmpty()) {
      warnings.add(warning(file, "the default of %s was removed".formatted(shown(names))));
    }
  }

  private static boolean hasDefault(Limits limits, LimitName name) {
    LimitName known = limits.catalogue().find(name.name());
    return known != null && limits.hasDefault(known);
  }

  private static void overrides(Limits before, Limits after, String file, List<Problem> warnings) {
    Map<String, Integer> gone = new TreeMap<>();
    for (LimitName name : before.catalogue().names()) {
      int missing = missing(before, after, name);
      if (missing > 0) {
        gone.put(name.name(), missing);
      }
    }
    if (!gone.isEmpty()) {
      List<String> each =
          gone.entrySet().stream().map(one -> one.getKey() + ": " + one.getValue()).toList();
      int all = gone.values().stream().mapToInt(Integer::intValue).sum();
      warnings.add(warning(file, "overrides were removed: %s (%s)".formatted(all, shown(each))));
    }
  }

  private static int missing(Limits before, Limits after, LimitName name) {
    LimitName known = after.catalogue().find(name.name());
    Set<String> left = new HashSet<>();
    if (known != null) {
      after.overridesOf(known).stream().map(LimitOverride::id).forEach(left::add);
    }
    return (int) before.overridesOf(name).stream().filter(one -> !left.contains(one.id())).count();
  }

  /** Whether a file was truncated: its new content is only the beginning of its old content. */
  private static boolean cut(
      @Nullable FileContent before, @Nullable FileContent now, List<Problem> warnings) {
    if (before == null || now == null || now.fault() != null || before.fault() != null) {
      return false;
    }
    byte[] old = before.bytes();
    byte[] left = now.bytes();
    int end = lengthWithoutEndOfLine(left);
    boolean isBeginning =
        end < lengthWithoutEndOfLine(old) && Arrays.equals(old, 0, end, left, 0, end);
    if (isBeginning) {
      warnings.add(
          warning(
              now.file(),
              "the end of the file is missing: %s of %s bytes remain"
                  .formatted(left.length, old.length)));
    }
    return isBeginning;
  }

  /**
   * Warns about a file of rules or tokens with fewer lines than before. The file can have been
   * changed at one place and truncated after that place. This class cannot compare single rules or
   * tokens, since only the file's own reader can parse them.
   */
  private static void shortened(
      @Nullable FileContent before, @Nullable FileContent now, List<Problem> warnings) {
    if (before == null || now == null || now.fault() != null || before.fault() != null) {
      return;
    }
    long had = lines(before);
    long has = lines(now);
    if (has < had) {
      warnings.add(
          warning(
              now.file(),
              "the file has fewer lines than before: %s instead of %s, not counting comments"
                  .formatted(has, had)));
    }
  }

  private static boolean hasRules(@Nullable FileContent file) {
    return file != null && text(file).lines().anyMatch(line -> line.startsWith("rules:"));
  }

  private static String text(FileContent file) {
    return new String(file.bytes(), StandardCharsets.UTF_8);
  }

  private static long lines(FileContent file) {
    return text(file)
        .lines()
        .map(String::strip)
        .filter(line -> !line.isEmpty() && !line.startsWith("#"))
        .count();
  }

  private static int lengthWithoutEndOfLine(byte[] bytes) {
    int end = bytes.length;
    while (end > 0 && (bytes[end - 1] == '\n' || bytes[end - 1] == '\r')) {
      end--;
    }
    return end;
  }

  private static String shown(List<String> words) {
    String first = words.stream().limit(SHOWN).collect(Collectors.joining(", "));
    return words.size() > SHOWN ? first + " and " + (words.size() - SHOWN) + " more" : first;
  }

  private static Problem warning(String file, String message) {
    return new Problem(file, 1, 1, Severity.WARNING, message);
  }
}
