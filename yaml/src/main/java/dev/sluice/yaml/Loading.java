package dev.sluice.yaml;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One load: contents to limits, or to all that is wrong with them. Names first, for the other files
 * use them; defaults next, for overrides are compared with them. Touches no file. Not thread-safe.
 */
final class Loading {

  /**
   * What became of a load.
   *
   * @param limits null if there is any mistake
   * @param problems mistakes and warnings, sorted
   */
  record Outcome(@Nullable Limits limits, List<Problem> problems) {

    /** What is wrong, without what is only doubtful. */
    List<Problem> mistakes() {
      return problems.stream().filter(p -> p.severity() == Severity.MISTAKE).toList();
    }
  }

  private final LimitFiles files;
  private final List<Problem> problems = new ArrayList<>();
  private boolean mistaken;

  private Loading(LimitFiles files) {
    this.files = files;
  }

  static Outcome of(LimitFiles files, Snapshot snapshot) {
    return new Loading(files).run(snapshot);
  }

  private Outcome run(Snapshot snapshot) {
    Source names = new Source(snapshot.names(), "a map with the one field names", "names: []");
    Source defaults = new Source(snapshot.defaults(), "a map name → {burst, count, period}", "{}");
    Source overrides =
        new Source(snapshot.overrides(), "a list of name → {burst, count, period, ids}", "[]");

    KnownNames known = names(names, defaults);
    Limits.Builder limits = Limits.builder(known.catalogue());
    Map<LimitName, Quota> quotas = null;
    if (defaults.root != null) {
      quotas = DefaultsReader.read(defaults.root, known, defaults.problems);
      quotas.forEach((name, quota) -> limits.limit(name.name(), quota));
    }
    if (overrides.root != null) {
      boolean comparable = quotas != null && !defaults.problems.mistaken();
      List<LimitOverride> read =
          new OverridesReader(
                  known, files.strictness, comparable ? quotas : null, overrides.problems)
              .read(overrides.root);
      read.forEach(limits::override);
    }
    List.of(names, defaults, overrides).forEach(this::collect);
    problems.sort(null);
    return new Outcome(mistaken ? null : limits.build(), List.copyOf(problems));
  }

  private KnownNames names(Source names, Source defaults) {
    Node section = DefaultsReader.names(defaults.root);
    Catalogue base = files.catalogue == null ? Catalogue.seed() : files.catalogue;
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

    Source(@Nullable FileContent content, String expected, String none) {
      this.problems = new Problems(content == null ? "" : content.file());
      NodeReader.Content read = content == null ? UNREAD : read(content, problems);
      this.root = read.root();
      this.whole = content == null || (read.whole() && root != null);
      if (content != null && root == null && !problems.mistaken()) {
        problems.mistake(
            "found an empty file, expected %s; write %s for none".formatted(expected, none));
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
