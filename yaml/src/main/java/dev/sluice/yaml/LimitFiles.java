// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement;
import dev.sluice.yaml.internal.AttachedFiles;
import dev.sluice.yaml.internal.CompanionReader;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The files that define the limits: a file of defaults, a file of overrides, a file of names, and
 * files that refer to limits, such as rules. Each file is optional.
 *
 * <p>Immutable and thread-safe. Only {@link #load}, {@link #lint}, {@link #lastGood} and {@link
 * #watch} read files, and these methods block on the file system.
 */
public final class LimitFiles {

  private static final Duration READ_TIMEOUT = Duration.ofSeconds(5);

  final @Nullable Path defaults;
  final @Nullable Path overrides;
  final @Nullable Path names;
  final List<Companion> companions;
  final List<AttachedFiles<?>> attached;
  final @Nullable Catalogue catalogue;
  final @Nullable Catalogue samples;
  final IdFormat.Registry idFormats;
  final Strictness strictness;
  final boolean places;
  final List<Requirement> required;
  final FileAccess access;
  private final @Nullable Path copy;

  private LimitFiles(Builder builder) {
    this.defaults = builder.defaults;
    this.overrides = builder.overrides;
    this.names = builder.names;
    this.companions = List.copyOf(builder.companions);
    this.attached = List.copyOf(builder.attached);
    this.catalogue = builder.catalogue;
    this.samples = builder.samples;
    this.idFormats = builder.idFormats;
    this.strictness = builder.strictness;
    this.places = builder.places;
    this.required = List.copyOf(builder.required);
    this.access = new FileAccess(builder.readTimeout);
    this.copy = builder.copy;
  }

  /**
   * Returns a description of a single file of defaults. Does not read the file yet.
   *
   * @param defaults the file
   * @return a description with only this file
   */
  public static LimitFiles of(Path defaults) {
    return builder().defaults(Objects.requireNonNull(defaults, "defaults")).build();
  }

  /**
   * Returns a builder for a description of files.
   *
   * @return a builder without any file
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * Reads the files.
   *
   * @return the limits
   * @throws LimitFilesException if a file has a mistake; the exception lists all mistakes of all
   *     files
   */
  public Limits load() {
    Loading.Loaded outcome = Loading.of(this, read());
    Limits limits = outcome.limits();
    if (limits == null) {
      throw new LimitFilesException(outcome.mistakes());
    }
    return limits;
  }

  /**
   * The limits of the last load without mistakes, read from the {@linkplain Builder#copy copy}.
   *
   * @param limits the limits
   * @param hash the hash of the loaded files, as in {@link ReloadListener#offered}
   * @param at when the files were loaded
   */
  public record LastGood(Limits limits, String hash, Instant at) {}

  /**
   * Reads the copy that was written after the last load without mistakes, instead of the files.
   *
   * @return the limits, the file hash and the time of the last load without mistakes
   * @throws LimitFilesException if the copy is unreadable, damaged, or has a mistake
   * @throws IllegalStateException if {@link Builder#copy} was not called
   */
  public LastGood lastGood() {
    if (copy == null) {
      throw new IllegalStateException("no file for the copy of the limits was set: call copy");
    }
    FileContent content =
        access.call(copy, () -> LimitsCopy.bytes(copy), reason -> FileContent.failed(copy, reason));
    LimitsCopy read = LimitsCopy.read(content, this);
    Loading.Loaded outcome = Loading.of(this, read.snapshot());
    Limits limits = outcome.limits();
    if (limits == null) {
      throw new LimitFilesException(outcome.mistakes());
    }
    return new LastGood(limits, read.snapshot().hash(), read.at());
  }

  /** Writes the copy, if configured; returns a problem if the write failed, otherwise null. */
  @Nullable Problem copy(Snapshot snapshot, Instant at) {
    if (copy == null) {
      return null;
    }
    String fault =
        access.call(copy, () -> LimitsCopy.written(copy, this, snapshot, at), reason -> reason);
    return fault.isEmpty()
        ? null
        : new Problem(
            copy.toString(),
            1,
            1,
            Severity.WARNING,
            "the copy of the limits could not be written (%s); the copy of an earlier load is kept"
                .formatted(fault));
  }

  /**
   * Reads the files, and returns every error and warning.
   *
   * @return mistakes and warnings, sorted by file, line and column; may be empty
   */
  public List<Problem> lint() {
    return Loading.lint(this, read(), null).problems();
  }

  /**
   * Reads the files as {@link #lint()} does, and also warns about each limit whose bucket keys
   * change. If a limit's bucket keys change, all of its buckets become full once.
   *
   * @param before the current limits
   * @return mistakes and warnings, sorted by file, line and column; may be empty
   */
  public List<Problem> lint(Limits before) {
    return Loading.lint(this, read(), Objects.requireNonNull(before, "before")).problems();
  }

  /**
   * Watches the files as {@link #watch(CurrentLimits, Duration, ReloadListener)} does, and logs
   * each load with its mistakes or warnings to the logger {@code dev.sluice.yaml.LimitFiles}.
   *
   * @param target the limits to replace
   * @param interval the time between polls, more than zero and at most 292 years
   * @return the watcher, to be closed
   * @throws IllegalArgumentException if the interval is out of its range
   */
  public LimitFilesWatcher watch(CurrentLimits target, Duration interval) {
    return watch(target, interval, new Log());
  }

  /** Logs each load. The watcher itself logs unexpected exceptions. */
  private static final class Log implements ReloadListener {

    private static final Logger LOG = System.getLogger(LimitFiles.class.getName());

    @Override
    public void loaded(Instant at, Limits limits, List<Problem> warnings) {
      LOG.log(Level.INFO, () -> "the limit files are in force: " + limits);
      warnings.forEach(one -> LOG.log(Level.WARNING, one::toString));
    }

    @Override
    public void failed(Instant at, List<Problem> problems) {
      LOG.log(
          Level.ERROR,
          () ->
              "the limit files have mistakes, and the current limits stay in force:\n"
                  + problems.stream().map(Problem::toString).collect(Collectors.joining("\n")));
    }
  }

  /**
   * Reads the files now, then polls the files and applies every valid change. After an invalid
   * change, the current limits stay in force.
   *
   * @param target the limits to replace
   * @param interval the time between polls, more than zero and at most 292 years
   * @param listener notified of every load
   * @return the watcher, to be closed
   * @throws IllegalArgumentException if the interval is out of its range
   */
  public LimitFilesWatcher watch(CurrentLimits target, Duration interval, ReloadListener listener) {
    Objects.requireNonNull(target, "target");
    Objects.requireNonNull(listener, "listener");
    return LimitFilesWatcher.start(this, target, interval, listener, Clock.systemUTC());
  }

  Snapshot read() {
    return new Snapshot(
        optional(names),
        optional(defaults),
        optional(overrides),
        companionPaths().stream().map(this::content).toList(),
        attachedPaths().stream().map(this::content).toList());
  }

  /** Returns the files that were added with {@link Builder#companion}. */
  List<Path> companionPaths() {
    return companions.stream().flatMap(one -> Stream.ofNullable(one.file())).toList();
  }

  /** Returns the files of all {@link AttachedFiles}, in order. */
  List<Path> attachedPaths() {
    return attached.stream().flatMap(one -> one.files().stream()).toList();
  }

  private @Nullable FileContent optional(@Nullable Path file) {
    return file == null ? null : content(file);
  }

  private FileContent content(Path file) {
    return access.call(
        file, () -> FileContent.read(file), reason -> FileContent.failed(file, reason));
  }

  /**
   * A companion file and its reader. If {@code file} is null, the reader's sections are in other
   * files.
   */
  record Companion(@Nullable Path file, CompanionReader<?> reader) {}

  /** Makes {@link LimitFiles}. Not thread-safe. */
  public static final class Builder {
    private @Nullable Path defaults;
    private @Nullable Path overrides;
    private @Nullable Path names;
    private final List<Companion> companions = new ArrayList<>();
    private final List<AttachedFiles<?>> attached = new ArrayList<>();
    private @Nullable Catalogue catalogue;
    private @Nullable Catalogue samples;
    private IdFormat.Registry idFormats = IdFormat.Registry.builtIn();
    private Strictness strictness = Strictness.LENIENT;
    private boolean places;
    private List<Requirement> required = List.of();
    private Duration readTimeout = READ_TIMEOUT;
    private @Nullable Path copy;

    private Builder() {}

    /**
     * Sets the file of defaults. The sections {@code names:}, {@code limits:}, {@code overrides:}
     * and {@code rules:} are allowed in this file, as in every limit file.
     *
     * @param file the file
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder defaults(Path file) {
      this.defaults = Objects.requireNonNull(file, "file");
      return this;
    }

    /**
     * Sets the file of overrides.
     *
     * @param file the file
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder overrides(Path file) {
      this.overrides = Objects.requireNonNull(file, "file");
      return this;
    }

    /**
     * Sets the file that declares names.
     *
     * @param file the file
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder names(Path file) {
      this.names = Objects.requireNonNull(file, "file");
      return this;
    }

    /**
     * Adds a file that refers to the limits. The file is loaded together with the limits, and its
     * content becomes a {@linkplain Limits#companion companion} of the limits. If this file or one
     * of the limit files has a mistake, none of these files takes effect.
     *
     * @param file the file
     * @param reader reads the file. Only one file is allowed for each type of content, unless the
     *     reader merges the contents of several files
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder companion(Path file, CompanionFile<?> reader) {
      Objects.requireNonNull(file, "file");
      Objects.requireNonNull(reader, "reader");
      companions.add(new Companion(file, (CompanionReader<?>) reader));
      return this;
    }

    /**
     * Adds a reader of sections that have no file of their own, but can occur in any of the limit
     * files, or a reader that names its own files.
     *
     * @param reader the reader; at most one for each type of content
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder companion(CompanionFile<?> reader) {
      Objects.requireNonNull(reader, "reader");
      if (reader instanceof AttachedFiles<?> files) {
        attached.add(files);
      } else {
        companions.add(new Companion(null, (CompanionReader<?>) reader));
      }
      return this;
    }

    /**
     * Sets the names that need no declaration in a file. By default, the {@linkplain
     * Catalogue#samples samples} need no declaration, as if {@link #samples} were called.
     *
     * @param base the names
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder catalogue(Catalogue base) {
      this.catalogue = Objects.requireNonNull(base, "base");
      return this;
    }

    /**
     * Sets the names that are known if no file has a list of names. If a default declares a name
     * with the field {@code id}, that name replaces the sample limit of the same name or number.
     *
     * @param samples the names
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder samples(Catalogue samples) {
      this.samples = Objects.requireNonNull(samples, "samples");
      return this;
    }

    /**
     * Sets the id formats that are allowed in files; by default the built-in formats.
     *
     * @param formats the formats
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder idFormats(IdFormat.Registry formats) {
      this.idFormats = Objects.requireNonNull(formats, "formats");
      return this;
    }

    /**
     * Sets how strictly ids are checked; by default leniently.
     *
     * @param strictness lenient or strict
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder strictness(Strictness strictness) {
      this.strictness = Objects.requireNonNull(strictness, "strictness");
      return this;
    }

    /**
     * Sets the required limits; by default no limit is required. A required limit without a default
     * is reported as a mistake ({@code REFUSE}) or as a warning ({@code WARN}).
     *
     * @param requirements the required limits, each with a text that names the part of the
     *     configuration that requires the limit
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder require(Collection<Requirement> requirements) {
      this.required = List.copyOf(requirements);
      return this;
    }

    /**
     * Sets the time-out for reading each file; by default 5 seconds. A file on a mount that does
     * not respond in time is unreadable.
     *
     * @param timeout the time-out, more than zero and at most 292 years
     * @return this
     * @throws IllegalArgumentException if the duration is out of its range
     */
    @CanIgnoreReturnValue
    public Builder readTimeout(Duration timeout) {
      this.readTimeout = GoDuration.positive("readTimeout", timeout);
      return this;
    }

    /**
     * Keeps a copy of all files of the last load without mistakes. If the files have mistakes at a
     * process's start, the process can use the copy: {@link LimitFiles#lastGood}. A {@linkplain
     * LimitFiles#watch watcher} writes the copy after each load without mistakes. Only the file's
     * owner can read the copy.
     *
     * @param file the copy
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder copy(Path file) {
      this.copy = Objects.requireNonNull(file, "file");
      return this;
    }

    /**
     * Keeps the file and line of each default and override with the loaded limits, for Sluice's
     * server.
     *
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder places() {
      this.places = true;
      return this;
    }

    /**
     * Makes the description.
     *
     * @return the files
     * @throws IllegalStateException if no file was set, or if both a copy and attached files were
     *     set, since attached files may be secret
     */
    public LimitFiles build() {
      if (defaults == null
          && overrides == null
          && names == null
          && companions.stream().allMatch(one -> one.file() == null)
          && attached.isEmpty()) {
        throw new IllegalStateException("name at least one file: defaults, overrides or names");
      }
      if (copy != null && !attached.isEmpty()) {
        throw new IllegalStateException(
            "attached files can contain secrets, so they cannot be combined with a copy; do not call copy");
      }
      return new LimitFiles(this);
    }
  }
}
