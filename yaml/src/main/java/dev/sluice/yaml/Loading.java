// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import dev.sluice.yaml.internal.AttachedFiles;
import dev.sluice.yaml.internal.CompanionReader;
import dev.sluice.yaml.internal.LapsingReservations;
import dev.sluice.yaml.internal.LimitPlaces;
import dev.sluice.yaml.internal.LongestReservations;
import dev.sluice.yaml.internal.Node;
import dev.sluice.yaml.internal.NodeReader;
import dev.sluice.yaml.internal.Problems;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * One load: converts the contents of files to limits, or to a list of mistakes. Names are read
 * first, since the other files use names. Defaults are read before overrides, since overrides are
 * compared with defaults. Does not access files. Not thread-safe.
 */
final class Loading {

  /**
   * The outcome of a load.
   *
   * @param limits the limits; null if there is a mistake
   * @param problems mistakes and warnings, sorted
   * @param reduced returns the limits in force without everything that a file with a mistake
   *     revokes, such as access tokens; see {@link CompanionReader#reduced}
   * @param lacksOverrides whether the file of overrides is unreadable, or empty except for comments
   *     and the name of its section
   */
  record Loaded(
      @Nullable Limits limits,
      List<Problem> problems,
      UnaryOperator<Limits> reduced,
      boolean lacksOverrides) {

    Loaded adding(String words) {
      List<Problem> told =
          problems.stream()
              .map(
                  p ->
                      p.severity() == Severity.MISTAKE
                          ? new Problem(
                              p.file(), p.line(), p.column(), p.severity(), p.message() + words)
                          : p)
              .toList();
      return new Loaded(limits, told, reduced, lacksOverrides);
    }

    /** Returns the mistakes, without the warnings. */
    List<Problem> mistakes() {
      return problems.stream().filter(p -> p.severity() == Severity.MISTAKE).toList();
    }
  }

  private final LimitFiles files;
  private final boolean isWhole;
  private final @Nullable Limits before;
  private final List<Problem> problems = new ArrayList<>();
  private final Map<Path, Source> sources = new LinkedHashMap<>();
  private boolean mistaken;
  private UnaryOperator<Limits> reduced = before -> before;

  private Loading(LimitFiles files, boolean isWhole, @Nullable Limits before) {
    this.files = files;
    this.isWhole = isWhole;
    this.before = before;
  }

  /** Loads all files of a program. A name that no file declares is a mistake. */
  static Loaded of(LimitFiles files, Snapshot snapshot) {
    return of(files, snapshot, null);
  }

  /**
   * Loads files that will replace the current limits.
   *
   * @param before the current limits, to warn about each limit whose bucket keys change; null for
   *     no comparison
   */
  static Loaded of(LimitFiles files, Snapshot snapshot, @Nullable Limits before) {
    return new Loading(files, true, before).run(snapshot);
  }

  /** Checks some of the files of a server; other files of the server can be missing. */
  static Loaded lint(LimitFiles files, Snapshot snapshot, @Nullable Limits before) {
    return new Loading(files, false, before).run(snapshot);
  }

  private Loaded run(Snapshot snapshot) {
    Source names =
        source(files.names, snapshot.names(), "a map with the single field names", "names: []");
    Source defaults =
        source(files.defaults, snapshot.defaults(), "a map name → {burst, count, period}", "{}");
    Source overrides =
        source(
            files.overrides,
            snapshot.overrides(),
            "a list of name → {burst, count, period, ids}",
            "[]");
    List<@Nullable Source> companions = companions(snapshot);

    Place quotasAt = limits(defaults);
    KnownNames known = names(names, defaults, quotasAt);
    Limits.Builder limits = Limits.builder(known.catalogue());
    DefaultsReader quotas =
        new DefaultsReader(known, quotasAt == null ? new Problems("") : quotasAt.problems());
    if (quotasAt != null) {
      quotas.read(quotasAt.node());
      quotas.addTo(limits);
      if (before != null) {
        quotas.compareWith(before);
      }
    }
    Map<LimitOverride, Integer> overrideLines = Map.of();
    Place overridesAt = overrides(overrides, defaults);
    if (overridesAt != null) {
      boolean areKnown = defaults == null ? isWhole || quotasAt != null : defaults.root != null;
      boolean areGood = quotasAt == null || !quotasAt.problems().mistaken();
      overrideLines =
          new OverridesReader(
                  known,
                  files.strictness,
                  areKnown && areGood ? quotas : null,
                  overridesAt.problems())
              .read(overridesAt.node());
      overrideLines.keySet().forEach(limits::override);
    }
    Limits declared = withDeclared(limits.build(), quotas);
    if (files.places) {
      String file = overridesAt == null ? "" : overridesAt.problems().file();
      declared =
          declared.with(LimitPlaces.class, new LimitPlaces(quotas.places(), file, overrideLines));
    }
    boolean areKnown = sources.values().stream().noneMatch(one -> one.problems.mistaken());
    Limits whole = withAttached(withCompanions(declared, companions, areKnown), snapshot);
    sources.values().forEach(this::collect);
    companions.stream()
        .filter(one -> one != null && !sources.containsValue(one))
        .forEach(one -> collect(Objects.requireNonNull(one)));
    Limits built = mistaken ? null : whole;
    if (built != null) {
      require(built, snapshot);
      if (isWhole) {
        warnOfDisabled(built, snapshot);
      }
    }
    problems.sort(null);
    boolean lacksOverrides =
        overrides != null && overrides != defaults && overrides.lacksOverrides();
    return new Loaded(mistaken ? null : built, List.copyOf(problems), reduced, lacksOverrides);
  }

  /** Returns a file that can have sections, parsed only once; null for a file not configured. */
  private @Nullable Source source(
      @Nullable Path path, @Nullable FileContent content, String expected, String none) {
    return path == null || content == null
        ? null
        : sources.computeIfAbsent(
            path,
            any -> new Source(content, expected + "; write " + none + " for none", true, false));
  }

  /** Returns the file of each companion reader; null for a reader without its own file. */
  private List<@Nullable Source> companions(Snapshot snapshot) {
    List<@Nullable Source> companions = new ArrayList<>();
    int next = 0;
    for (LimitFiles.Companion one : files.companions) {
      Path path = one.file();
      String expected = one.reader().expected();
      if (path == null) {
        companions.add(null);
        continue;
      }
      FileContent content = snapshot.companions().get(next++);
      companions.add(
          one.reader().sections().isEmpty()
              ? new Source(content, expected, false, one.reader().hasAliases())
              : sources.computeIfAbsent(path, any -> new Source(content, expected, true, false)));
    }
    return companions;
  }

  /** A node of a file, with the collector for the file's problems. */
  private record Place(Node node, Problems problems) {}

  /** Finds the defaults: in the section {@code limits}, or at the top of the file of defaults. */
  private @Nullable Place limits(@Nullable Source defaults) {
    Source source = having(List.of(Sections.LIMITS));
    Node rest = defaults == null ? null : defaults.sections.rest();
    if (source == null) {
      return defaults == null || rest == null ? null : new Place(rest, defaults.problems);
    }
    Node.Entry section = source.entry(Sections.LIMITS);
    if (defaults != null && rest != null) {
      String place = source.place(section);
      defaults.outside(rest, "; write limits below the section limits, " + place);
    }
    return new Place(section.value(), source.problems);
  }

  /** Finds the overrides: in the section {@code overrides}, or as the whole file of overrides. */
  private @Nullable Place overrides(@Nullable Source overrides, @Nullable Source defaults) {
    Source source = having(List.of(Sections.OVERRIDES));
    Node rest = overrides == null || overrides == defaults ? null : overrides.sections.rest();
    if (overrides != null && rest != null) {
      if (source == null) {
        return new Place(rest, overrides.problems);
      }
      overrides.outside(
          rest, "; the overrides are in " + source.place(source.entry(Sections.OVERRIDES)));
    } else if (overrides != null
        && overrides.root != null
        && overrides.sections.find(Sections.OVERRIDES) == null) {
      overrides.problems.mistakeWithoutText(
          overrides.root, "the section overrides is missing; write overrides: [] for none");
    }
    return source == null
        ? null
        : new Place(source.entry(Sections.OVERRIDES).value(), source.problems);
  }

  /** Returns the file with one of the given sections. */
  private @Nullable Source having(List<String> keys) {
    Source found = null;
    for (Source one : sources.values()) {
      Node.Entry entry = one.sections.first(keys);
      if (entry != null && found != null) {
        Node.Entry other = Objects.requireNonNull(found.sections.first(keys));
        boolean isSame = entry.key().text().equals(other.key().text());
        String also = isSame ? "which" : "and the section %s, which".formatted(other.key().text());
        one.problems.mistakeWithoutText(
            entry.key(),
            "found the section %s, %s is%s in %s; expected the section%s in one file"
                .formatted(
                    entry.key().text(),
                    also,
                    isSame ? " also" : "",
                    found.place(other),
                    isSame ? "" : "s"));
      } else if (entry != null) {
        found = one;
      }
    }
    return found;
  }

  private Limits withDeclared(Limits limits, DefaultsReader defaults) {
    LongestReservations declared = defaults.longestReservations();
    LapsingReservations lapsing = defaults.lapsingReservations();
    Limits with =
        declared.byLimit().isEmpty() ? limits : limits.with(LongestReservations.class, declared);
    return lapsing.limits().isEmpty() ? with : with.with(LapsingReservations.class, lapsing);
  }

  /** Adds the contents of the companion files to the limits, and collects the files' mistakes. */
  private Limits withCompanions(
      Limits limits, List<@Nullable Source> companions, boolean areKnown) {
    Limits whole = limits;
    Set<String> read = new HashSet<>();
    for (int i = 0; i < files.companions.size(); i++) {
      CompanionReader<?> reader = files.companions.get(i).reader();
      read.addAll(reader.sections());
      Source own = companions.get(i);
      Source other = having(reader.sections());
      Source source = own == null ? other : own;
      if (source != null) {
        if (other != null && other != source) {
          other.problems.mistakeWithoutText(
              Objects.requireNonNull(other.sections.first(reader.sections())).key(),
              "found rules here and in the file of rules, %s; expected all rules in one file"
                  .formatted(source.file));
        }
        whole = withCompanion(reader, whole, source, own != null, areKnown);
      }
    }
    warnOfUnread(read);
    return whole;
  }

  private void warnOfUnread(Set<String> read) {
    Source source = read.contains(Sections.RULES) ? null : having(List.of(Sections.RULES));
    if (source != null) {
      source.problems.warning(
          source.entry(Sections.RULES).key(),
          "found the section rules, which this program does not read: the rules do not apply here");
    }
  }

  private <T> Limits withCompanion(
      CompanionReader<T> reader, Limits limits, Source source, boolean isOwn, boolean areKnown) {
    boolean isSplit = !reader.sections().isEmpty();
    boolean hasRest = isOwn && !isNamedOtherwise(source);
    Node root = isSplit ? source.sections.only(reader.sections(), hasRest) : source.root;
    if (root == null || source.root == null) {
      return limits;
    }
    T companion = reader.read(root, source.file, limits, areKnown, source.problems);
    if (companion == null && source.whole) {
      UnaryOperator<Limits> others = reduced;
      reduced = before -> reader.reduced(root, others.apply(before));
    }
    return companion == null ? limits : reader.joined(limits, companion);
  }

  /** Returns whether a companion file is also the file of names, defaults or overrides. */
  private boolean isNamedOtherwise(Source source) {
    return Stream.of(files.names, files.defaults, files.overrides)
        .anyMatch(path -> path != null && sources.get(path) == source);
  }

  private Limits withAttached(Limits limits, Snapshot snapshot) {
    Limits whole = limits;
    int next = 0;
    for (AttachedFiles<?> reader : files.attached) {
      int end = next + reader.files().size();
      whole = withAttached(reader, whole, snapshot.attached().subList(next, end));
      next = end;
    }
    return whole;
  }

  private <T> Limits withAttached(
      AttachedFiles<T> reader, Limits limits, List<FileContent> contents) {
    AttachedReports reports = new AttachedReports();
    for (int i = 0; i < contents.size(); i++) {
      String fault = contents.get(i).fault();
      if (fault != null) {
        reports.mistake(reader.files().get(i), fault);
      }
    }
    T read =
        reports.mistaken
            ? null
            : reader.read(contents.stream().map(FileContent::bytes).toList(), reports);
    reports.byFile.values().forEach(of -> problems.addAll(of.found()));
    mistaken |= reports.mistaken;
    return read == null ? limits : limits.with(reader.type(), read);
  }

  /** Collects the mistakes in attached files. Each mistake is reported at line 1 of its file. */
  private static final class AttachedReports implements AttachedFiles.Reports {

    private static final Node WHOLE = new Node.Broken(1, 1);

    final Map<Path, Problems> byFile = new LinkedHashMap<>();
    boolean mistaken;

    @Override
    public void mistake(Path file, String message) {
      mistaken = true;
      of(file).mistake(message);
    }

    @Override
    public void warning(Path file, String message) {
      of(file).warning(WHOLE, message);
    }

    private Problems of(Path file) {
      return byFile.computeIfAbsent(file, path -> new Problems(path.toString()));
    }
  }

  /** Reports required limits without a default; called only if the files have no mistakes. */
  private void require(Limits limits, Snapshot snapshot) {
    for (Requirement one : files.required) {
      if (one.onMissing() != MissingDefault.ALLOW && !one.isMetBy(limits)) {
        boolean refused = one.onMissing() == MissingDefault.REFUSE;
        mistaken |= refused;
        problems.add(missing(one, limits, snapshot, refused ? Severity.MISTAKE : Severity.WARNING));
      }
    }
  }

  /**
   * Warns about names that are disabled because they have no default. Warns only if the files
   * configure at least one limit that a missing default would disable: without such a limit, the
   * files were not written for Boulder.
   */
  private void warnOfDisabled(Limits limits, Snapshot snapshot) {
    List<LimitName> mayBe =
        limits.catalogue().names().stream()
            .filter(name -> name.disabledWithoutDefault() && !name.overridesOnly())
            .toList();
    List<String> disabled =
        mayBe.stream().filter(name -> !limits.hasDefault(name)).map(LimitName::name).toList();
    if (!disabled.isEmpty() && mayBe.stream().anyMatch(limits::isConfigured)) {
      String message =
          "found no default for %s: as in Boulder, these limits are disabled and allow everything"
              .formatted(String.join(", ", disabled));
      problems.add(new Problem(snapshot.firstFile(), 1, 1, Severity.WARNING, message));
    }
  }

  /** Returns the problem of a missing required limit, at line 1 of the first file. */
  static Problem missing(Requirement one, Limits limits, Snapshot snapshot, Severity severity) {
    return new Problem(snapshot.firstFile(), 1, 1, severity, one.message(limits));
  }

  private KnownNames names(
      @Nullable Source names, @Nullable Source defaults, @Nullable Place quotas) {
    List<String> key = List.of(Sections.NAMES);
    Catalogue base = files.catalogue == null ? Catalogue.of() : files.catalogue;
    Catalogue samples = files.catalogue == null ? Catalogue.samples() : files.samples;
    boolean declared =
        files.names != null
            || sources.values().stream().anyMatch(one -> one.sections.find(Sections.NAMES) != null);
    NamesReader reader =
        new NamesReader(
            base, samples == null || declared ? Catalogue.of() : samples, files.idFormats);
    for (Source one : sources.values()) {
      Node.Entry section = one.sections.find(Sections.NAMES);
      if (one == names) {
        Node own = one.sections.only(key, names != defaults);
        if (own != null && one.root != null) {
          reader.file(own, one.whole, one.problems);
        }
      } else if (section != null) {
        reader.section(section.value(), one.problems);
      }
    }
    if (quotas != null) {
      reader.defaults(quotas.node(), quotas.problems());
    }
    KnownNames known =
        reader.known((names == null || names.whole) && (defaults == null || defaults.whole));
    if (before != null && !sources.isEmpty()) {
      Problems ofDefaults =
          quotas == null ? sources.values().iterator().next().problems : quotas.problems();
      reader.compareWith(before, known.catalogue(), ofDefaults);
    }
    return known;
  }

  private void collect(Source source) {
    problems.addAll(source.problems.found());
    mistaken |= source.problems.mistaken();
  }

  /** A file of the load, parsed to nodes. */
  private static final class Source {
    final String file;
    final Problems problems;
    final @Nullable Node root;
    final Sections sections;
    final boolean whole;

    /** Whether the file is unreadable, empty, or contains only comments. */
    final boolean isLacking;

    Source(FileContent content, String expected, boolean isSplit, boolean hasAliases) {
      this.file = content.file();
      this.problems = new Problems(file);
      NodeReader.Content read = read(content, hasAliases, problems);
      this.root = read.root();
      this.sections = isSplit ? Sections.of(root, problems) : Sections.none(root);
      this.whole = read.whole() && root != null;
      boolean isEmpty = root == null && !problems.mistaken();
      this.isLacking = isEmpty || content.fault() != null;
      if (isEmpty) {
        problems.mistake("found an empty file, expected " + expected);
      }
    }

    /** Whether the file lacks content, or contains only the section of overrides with nothing. */
    boolean lacksOverrides() {
      return isLacking
          || (root instanceof Node.Mapping map
              && map.entries().size() == 1
              && map.entries().get(0).key().text().equals(Sections.OVERRIDES)
              && map.entries().get(0).value() instanceof Node.Scalar value
              && value.isNull());
    }

    /** Returns a section; the caller has checked that the file has this section. */
    Node.Entry entry(String section) {
      return Objects.requireNonNull(sections.find(section), section);
    }

    /** Reports entries outside of the sections, which are not allowed in a file with sections. */
    void outside(Node rest, String hint) {
      String expected = ", expected one of " + String.join(", ", Sections.ALL) + hint;
      if (rest instanceof Node.Mapping map) {
        for (Node.Entry one : map.entries()) {
          problems.unknownKey(
              one.key(), "found %s outside of the sections" + expected, map, Sections.ALL);
        }
      } else if (!(rest instanceof Node.Broken)) {
        problems.wrongKind(rest, "sections" + hint);
      }
    }

    String place(Node.Entry entry) {
      return "%s, line %s".formatted(file, entry.key().line());
    }

    private static NodeReader.Content read(
        FileContent content, boolean hasAliases, Problems problems) {
      String fault = content.fault();
      if (fault != null) {
        problems.mistake(fault);
        return NodeReader.UNREAD;
      }
      return NodeReader.read(content.bytes(), hasAliases, problems);
    }
  }
}
