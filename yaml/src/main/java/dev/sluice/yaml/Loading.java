// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Requirement;
import dev.sluice.limit.Requirement.MissingDefault;
import dev.sluice.text.SafeText;
import dev.sluice.text.Suggestion;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * One load: turns contents into limits, or into the list of their errors. Names first, for the
 * other files use them; defaults next, for overrides are compared with them. Touches no file. Not
 * thread-safe.
 */
final class Loading {

  /**
   * The outcome of a load.
   *
   * @param limits null if there is any mistake
   * @param problems mistakes and warnings, sorted
   * @param reduced takes from the limits in force what files with mistakes take away all the same
   * @param lacksOverrides whether the file of overrides is empty, or could not be read
   */
  record Loaded(
      @Nullable Limits limits,
      List<Problem> problems,
      UnaryOperator<Limits> reduced,
      boolean lacksOverrides) {

    /** Returns the errors, without the warnings. */
    List<Problem> mistakes() {
      return problems.stream().filter(p -> p.severity() == Severity.MISTAKE).toList();
    }
  }

  private final LimitFiles files;
  private final boolean isWhole;
  private final List<Problem> problems = new ArrayList<>();
  private boolean mistaken;
  private UnaryOperator<Limits> reduced = before -> before;

  private Loading(LimitFiles files, boolean isWhole) {
    this.files = files;
    this.isWhole = isWhole;
  }

  /** Reads files whose limits are to hold: what they do not say is not said elsewhere. */
  static Loaded of(LimitFiles files, Snapshot snapshot) {
    return new Loading(files, true).run(snapshot);
  }

  /** Looks at files that may be a part of what is to hold. */
  static Loaded lint(LimitFiles files, Snapshot snapshot) {
    return new Loading(files, false).run(snapshot);
  }

  private Loaded run(Snapshot snapshot) {
    Source names = new Source(snapshot.names(), "a map with the one field names", "names: []");
    Source defaults = new Source(snapshot.defaults(), "a map name → {burst, count, period}", "{}");
    Source overrides =
        new Source(snapshot.overrides(), "a list of name → {burst, count, period, ids}", "[]");

    KnownNames known = names(names, defaults);
    Limits.Builder limits = Limits.builder(known.catalogue());
    DefaultsReader quotas = new DefaultsReader(known, defaults.problems);
    if (defaults.root != null) {
      quotas.read(defaults.root);
      quotas.quotas().forEach((name, quota) -> limits.limit(name.name(), quota));
      quotas.unlimited().forEach(name -> limits.unlimited(name.name()));
    }
    if (overrides.root != null) {
      boolean areKnown = defaults.root != null || (isWhole && snapshot.defaults() == null);
      DefaultsReader comparable = areKnown && !defaults.problems.mistaken() ? quotas : null;
      new OverridesReader(known, files.strictness, comparable, overrides.problems)
          .read(overrides.root)
          .forEach(limits::override);
    }
    List.of(names, defaults, overrides).forEach(this::collect);
    Limits whole =
        withAttached(
            withCompanions(withReservations(limits.build(), quotas), snapshot, !mistaken),
            snapshot);
    Limits built = mistaken ? null : whole;
    if (built != null) {
      require(built, snapshot);
      if (isWhole) {
        warnOfDisabled(built, snapshot);
      }
    }
    problems.sort(null);
    return new Loaded(mistaken ? null : built, List.copyOf(problems), reduced, overrides.isLacking);
  }

  private static Limits withReservations(Limits limits, DefaultsReader defaults) {
    LongestReservations declared = defaults.longestReservations();
    return declared.byLimit().isEmpty() ? limits : limits.with(LongestReservations.class, declared);
  }

  /** The limits with what the companion files say; mistakes in them are collected. */
  private Limits withCompanions(Limits limits, Snapshot snapshot, boolean known) {
    Limits whole = limits;
    for (int i = 0; i < files.companions.size(); i++) {
      CompanionFile<?> reader = files.companions.get(i).reader();
      whole = withCompanion(reader, whole, snapshot.companions().get(i), known);
    }
    return whole;
  }

  private <T> Limits withCompanion(
      CompanionFile<T> reader, Limits limits, FileContent content, boolean known) {
    Source source = new Source(content, reader.expected());
    T companion = null;
    if (source.root != null) {
      Node root = source.root;
      companion = reader.read(root, content.file(), limits, known, source.problems);
      if (companion == null && source.whole) {
        UnaryOperator<Limits> others = reduced;
        reduced = before -> reader.reduced(root, others.apply(before));
      }
    }
    collect(source);
    return companion == null ? limits : reader.joined(limits, companion);
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

  /** The mistakes of attached files, which have no lines to name. */
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

  /** Only of files without a mistake: in others a default may be missing because of that. */
  private void require(Limits limits, Snapshot snapshot) {
    for (Requirement one : files.required) {
      if (one.onMissing() != MissingDefault.ALLOW && !one.isMetBy(limits)) {
        boolean refused = one.onMissing() == MissingDefault.REFUSE;
        mistaken |= refused;
        problems.add(missing(one, limits, snapshot, refused ? Severity.MISTAKE : Severity.WARNING));
      }
    }
  }

  /** Some names belong together, and files that configure none of them are for other limits. */
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

  /** Where something is missing, there is no line: the file as a whole is named. */
  static Problem missing(Requirement one, Limits limits, Snapshot snapshot, Severity severity) {
    List<String> known = limits.catalogue().names().stream().map(LimitName::name).toList();
    String message =
        known.contains(one.limit())
            ? one.message()
            : "%s asks for %s, but no limit has that name%s"
                .formatted(
                    one.by(),
                    SafeText.quote(one.limit()),
                    Suggestion.didYouMean(one.limit(), known));
    return new Problem(snapshot.firstFile(), 1, 1, severity, message);
  }

  private KnownNames names(Source names, Source defaults) {
    Node section = DefaultsReader.names(defaults.root);
    Catalogue base = files.catalogue == null ? Catalogue.of() : files.catalogue;
    Catalogue samples = files.catalogue == null ? Catalogue.samples() : files.samples;
    boolean declared = files.names != null || section != null;
    if (samples != null && !declared) {
      base = base.plus(samples);
    }
    NamesReader reader = new NamesReader(base, files.idFormats);
    if (names.root != null) {
      reader.file(names.root, names.whole, names.problems);
    }
    if (section != null) {
      reader.section(section, defaults.problems);
    }
    return reader.known(names.whole && defaults.whole);
  }

  private void collect(Source source) {
    problems.addAll(source.problems.found());
    mistaken |= source.problems.mistaken();
  }

  /** One file on its way from bytes to nodes. */
  private static final class Source {
    private static final NodeReader.Content UNREAD = new NodeReader.Content(null, false);

    final Problems problems;
    final @Nullable Node root;
    final boolean whole;

    /** Whether there is nothing to read: no file, an empty one, or comments alone. */
    final boolean isLacking;

    Source(@Nullable FileContent content, String expected, String none) {
      this(content, "%s; write %s for none".formatted(expected, none));
    }

    Source(@Nullable FileContent content, String expected) {
      this.problems = new Problems(content == null ? "" : content.file());
      NodeReader.Content read = content == null ? UNREAD : read(content, problems);
      this.root = read.root();
      this.whole = content == null || (read.whole() && root != null);
      boolean isEmpty = content != null && root == null && !problems.mistaken();
      this.isLacking = isEmpty || (content != null && content.fault() != null);
      if (isEmpty) {
        problems.mistake("found an empty file, expected " + expected);
      }
    }

    private static NodeReader.Content read(FileContent content, Problems problems) {
      String fault = content.fault();
      if (fault != null) {
        problems.mistake(fault);
        return UNREAD;
      }
      String text = Utf8.decode(content.bytes(), problems);
      return text == null ? UNREAD : NodeReader.read(text, problems);
    }
  }
}
