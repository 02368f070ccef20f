// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules.convert;

import dev.sluice.acme.AcmeLimits;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.rules.convert.EnvoyRateLimitFile.Branch;
import dev.sluice.rules.convert.EnvoyRateLimitFile.Domains;
import dev.sluice.rules.convert.EnvoyRateLimitFile.Domains.Domain;
import dev.sluice.yaml.LimitFiles;
import dev.sluice.yaml.LimitFilesException;
import dev.sluice.yaml.Problem;
import dev.sluice.yaml.Severity;
import dev.sluice.yaml.internal.Node;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Sluice files converted from the configuration of another rate limiter.
 *
 * @param files the text of each file by its name, in reading order
 * @param notExpressed the settings that the files cannot express, each with its place in the
 *     configuration
 * @param renamed the limits whose name the conversion changed
 */
public record Conversion(
    Map<String, String> files, List<Problem> notExpressed, List<Renaming> renamed) {

  /**
   * Converts a configuration of envoyproxy/ratelimit. Requires {@code sluice-acme} on the class
   * path, since a converted limit must not have the name of an ACME limit.
   *
   * @param configs the files of the configuration, which this call reads; files of one domain are
   *     merged in the given order
   * @return one file of limits, one file of rules and, if needed, one file of overrides, for all
   *     domains
   * @throws LimitFilesException with every mistake, if a file is not a configuration of
   *     envoyproxy/ratelimit, or two files have the same descriptor
   */
  public static Conversion ofEnvoyRateLimit(List<Path> configs) {
    LimitFiles.Builder builder = LimitFiles.builder();
    configs.forEach(config -> builder.companion(config, new EnvoyRateLimitFile()));
    LimitFiles files = builder.build();
    List<Problem> problems = new ArrayList<>(files.lint());
    Domains domains =
        Objects.requireNonNull(files.load().companion(Domains.class), "no mistake, no domains");
    ConvertedFiles converted = DomainWriter.write(domains);
    problems.addAll(converted.notExpressed());
    Collections.sort(problems);
    return new Conversion(converted.texts(), List.copyOf(problems), converted.renamed());
  }

  /**
   * A limit whose name the conversion changed.
   *
   * @param file the configuration, as the caller named it
   * @param line the line of the name, from 1
   * @param column the column of the name in characters, from 1
   * @param from the name in the configuration
   * @param to the name in the converted files
   * @param why the reason why the name in the configuration cannot be used
   */
  public record Renaming(String file, int line, int column, String from, String to, String why) {

    /** Formats a note in the format of compilers: {@code file:line:column: note: message}. */
    @Override
    public String toString() {
      return "%s:%s:%s: note: the limit %s is named %s in the converted files: %s"
          .formatted(file, line, column, SafeText.quote(from), to, why);
    }
  }

  /** Collects the text of the converted files, with unique limit names. Not thread-safe. */
  static final class ConvertedFiles {

    /** Top-level keys of limit files, which are not allowed as names of limits. */
    private static final List<String> SECTIONS =
        List.of(
            "names", "limits", "overrides", "rules", "rulesOnly", "ignoreCase", "methodOverride");

    private static final int LONGEST_NAME = 90;

    private final String head;
    private final String domains;
    private final StringBuilder limits = new StringBuilder();
    private final StringBuilder overrides = new StringBuilder();
    private final List<Supplier<String>> rules =
        new ArrayList<>(); // the text of a rule is made after all limits have names
    private final Set<String> taken = new HashSet<>();
    private final Map<String, Integer> times = new HashMap<>();
    private final List<Renaming> renamed = new ArrayList<>();
    private final List<Problem> notExpressed = new ArrayList<>();
    private final AtomicLong steps = new AtomicLong();

    ConvertedFiles(Domains converted) {
      taken.addAll(SECTIONS);
      taken.addAll(LimitName.reserved());
      for (Catalogue known : List.of(Catalogue.samples(), AcmeLimits.bundled().catalogue())) {
        known.names().forEach(one -> taken.add(one.name()));
      }
      this.head = converted.all().stream().map(ConvertedFiles::head).collect(Collectors.joining());
      this.domains =
          converted.all().stream().map(one -> quoted(one.name())).collect(Collectors.joining(", "));
    }

    private static String head(Domain domain) {
      return "# Converted from %s, domain %s.\n"
          .formatted(
              String.join(", ", domain.files()).replaceAll("\\p{Cntrl}", " "),
              quoted(domain.name()));
    }

    /**
     * Adds a limit. If the preferred name is taken or not valid, the limit gets a similar name.
     *
     * @param wish the preferred name
     * @return the name of the added limit
     */
    String limit(String wish, Quota quota) {
      String name = name(wish);
      limits.append(
          "%s: {id: string, burst: %s, count: %s, period: %s}\n"
              .formatted(name, quota.burst(), quota.count(), GoDuration.format(quota.period())));
      return name;
    }

    private String name(String wish) {
      String plain = wish.replace("*", "").replaceAll("[^A-Za-z0-9_.-]", "_");
      String started = plain.matches("(?!shadow-)[A-Za-z].*") ? plain : "limit_" + plain;
      String base = started.substring(0, Math.min(started.length(), LONGEST_NAME));
      String name = base;
      while (!taken.add(name)) {
        name = base + "_" + times.merge(base, 2, (known, two) -> known + 1);
      }
      return name;
    }

    void override(String limit, Quota quota, String id) {
      overrides.append(
          "- %s:\n    burst: %s\n    count: %s\n    period: %s\n    ids: [%s]\n"
              .formatted(
                  limit,
                  quota.burst(),
                  quota.count(),
                  GoDuration.format(quota.period()),
                  quoted(id)));
    }

    /** Adds a rule after all others; calls the supplier of its text after all limits have names. */
    void rule(Supplier<String> text) {
      rules.add(text);
    }

    /** Returns how many nodes were visited by pattern searches, for a test of the upper bound. */
    AtomicLong steps() {
      return steps;
    }

    int rules() {
      return rules.size();
    }

    void renamed(Renaming one) {
      renamed.add(one);
    }

    void notExpressed(Branch branch, String why) {
      Node at = branch.node();
      notExpressed.add(new Problem(branch.file(), at.line(), at.column(), Severity.WARNING, why));
    }

    List<Problem> notExpressed() {
      return notExpressed;
    }

    /** Returns the renamed limits, in the order in which they were added. */
    List<Renaming> renamed() {
      return List.copyOf(renamed);
    }

    /** Returns the text of each file by its name, in reading order. */
    Map<String, String> texts() {
      Map<String, String> files = new LinkedHashMap<>();
      files.put(
          "limits.yml",
          head
              + (limits.isEmpty()
                  ? "{}\n"
                  : "# Names are part of bucket keys: never change a name.\n" + limits));
      if (!overrides.isEmpty()) {
        files.put("overrides.yml", head + overrides);
      }
      files.put(
          "rules.yml",
          head
              + "# A descriptor without a rule is not limited, even if it names a limit.\n"
              + "rulesOnly: [%s]\n".formatted(domains)
              + "# The first rule that matches decides.\nrules:\n"
              + rules.stream().map(Supplier::get).collect(Collectors.joining()));
      return files;
    }

    /** Quotes a text in a way that YAML and JSON both read. */
    static String quoted(String text) {
      StringBuilder quoted = new StringBuilder("\"");
      for (int i = 0; i < text.length(); i++) {
        char c = text.charAt(i);
        if (c == '"' || c == '\\') {
          quoted.append('\\').append(c);
        } else if (c < ' ' || c == 0x7f || c == 0x85 || c == 0x2028 || c == 0x2029) {
          quoted.append(String.format(Locale.ROOT, "\\u%04x", (int) c));
        } else {
          quoted.append(c);
        }
      }
      return quoted.append('"').toString();
    }
  }
}
