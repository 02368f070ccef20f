// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.admin;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.internal.text.EndTime;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.InvalidRequestException.UnknownLimitException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Penalty;
import dev.sluice.server.admin.Keeper.ListKeeper;
import dev.sluice.server.admin.RuntimeLimits.KeepException;
import dev.sluice.server.admin.Setting.Kept;
import dev.sluice.server.base.SymlinkTargets;
import dev.sluice.yaml.LimitFiles;
import dev.sluice.yaml.LimitFilesException;
import dev.sluice.yaml.internal.CompanionReader;
import dev.sluice.yaml.internal.Fields;
import dev.sluice.yaml.internal.LimitsYaml;
import dev.sluice.yaml.internal.Node;
import dev.sluice.yaml.internal.Problems;
import dev.sluice.yaml.internal.Values;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/*
 * Overrides and penalties are in two files. FILE holds the overrides, in the format of every
 * overrides file: people can read FILE, lint it, and copy it to another server. FILE.penalties
 * holds the penalties.
 *
 * A file is never changed in place. The server writes the new content to a temporary file in the
 * same folder, forces that file to the disk, and renames it to the old file's name. So a crash
 * leaves either the old or the new content. Before the rename, the server reads the new file back
 * in the same way as at startup. A file that is too large to be read back would make every later
 * change and startup fail.
 *
 * If FILE is a symbolic link, the server uses the link's target and the files in the target's
 * folder. So servers that open the same file through different links share one lock, and a change
 * does not replace the link.
 *
 * Several servers can share the files. For each change, a server locks FILE.lock, reads the files,
 * writes them, and releases the lock. FILE.lock is never replaced: a lock on the old file would not
 * stop a process that opens the new file. The operating system releases the lock of a process that
 * ends.
 */

/** Saves overrides and penalties in files. Several servers can share the files. */
final class FileKeeper extends ListKeeper {

  private static final Duration LONGEST_WAIT = Duration.ofSeconds(5);
  private static final Duration LOOK_EVERY = Duration.ofMillis(5);

  /** Locks for the threads of this process, by lock file; a file lock excludes only processes. */
  private static final ConcurrentMap<Path, ReentrantLock> IN_THIS_PROCESS =
      new ConcurrentHashMap<>();

  private final Path overrides;
  private final Path penalties;
  private final Path lock;
  private String seen = "";

  FileKeeper(Path file) {
    this.overrides = SymlinkTargets.followed(file);
    this.penalties = overrides.resolveSibling(overrides.getFileName() + ".penalties");
    this.lock = overrides.resolveSibling(overrides.getFileName() + ".lock");
    if (!areThere()) {
      alone(this::make);
    }
  }

  private boolean areThere() {
    return Files.exists(overrides) && Files.exists(penalties);
  }

  /** Creates the files that are still missing now that this server has the lock. */
  private boolean make() {
    try {
      if (!Files.exists(overrides)) {
        replace(overrides, "[]\n", fresh -> {});
      }
      if (!Files.exists(penalties)) {
        replace(penalties, PenaltiesFile.text(List.of()), fresh -> {});
      }
      return true;
    } catch (IOException e) {
      throw unwritable(e);
    }
  }

  @Override
  public String place() {
    return "file";
  }

  @Override
  public boolean hasChanged() {
    return !fingerprint().equals(seen);
  }

  private String fingerprint() {
    return fingerprint(overrides) + " " + fingerprint(penalties);
  }

  private static String fingerprint(Path file) {
    try {
      BasicFileAttributes found = Files.readAttributes(file, BasicFileAttributes.class);
      return "%s %s %s".formatted(found.fileKey(), found.size(), found.lastModifiedTime());
    } catch (IOException e) {
      return e.toString();
    }
  }

  @Override
  public Kept load(Catalogue names) {
    String before = fingerprint();
    Set<String> texts = new HashSet<>();
    KeptNames.Reader reader = new KeptNames.Reader(texts);
    read(LimitFiles.builder().companion(overrides, reader).companion(penalties, reader));
    Catalogue asTheyStand = KeptNames.asTheyStand(texts);
    Limits read =
        read(
            LimitFiles.builder()
                .catalogue(asTheyStand)
                .overrides(overrides)
                .companion(penalties, new PenaltiesFile()));
    seen = before;
    PenaltiesFile.Content content = read.companion(PenaltiesFile.Content.class);
    List<Penalty> kept = content == null ? List.of() : content.penalties();
    return new Kept(
        KeptNames.fitting(Setting.OVERRIDE, read.overrides(), names),
        KeptNames.fitting(Setting.PENALTY, kept, names));
  }

  @CanIgnoreReturnValue
  private static Limits read(LimitFiles.Builder files) {
    try {
      return files.build().load();
    } catch (LimitFilesException e) {
      throw new KeepException(String.valueOf(e.getMessage()), e);
    }
  }

  @Override
  @CanIgnoreReturnValue
  boolean alone(BooleanSupplier change) {
    long deadline = System.nanoTime() + LONGEST_WAIT.toNanos();
    Path real = lock.toAbsolutePath().normalize();
    ReentrantLock here = IN_THIS_PROCESS.computeIfAbsent(real, any -> new ReentrantLock(true));
    try {
      if (!here.tryLock(LONGEST_WAIT.toNanos(), TimeUnit.NANOSECONDS)) {
        throw tooLong();
      }
    } catch (IOException e) {
      throw unwritable(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw unwritable(new InterruptedIOException("interrupted"));
    }
    try (FileChannel channel = opened(lock);
        FileLock held = held(channel, deadline)) {
      return change.getAsBoolean();
    } catch (IOException e) {
      throw unwritable(e);
    } finally {
      here.unlock();
    }
  }

  /** Opens the lock file for its owner only, so that no other user can lock it. */
  private static FileChannel opened(Path lock) throws IOException {
    Set<StandardOpenOption> options = Set.of(StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    return lock.getFileSystem().supportedFileAttributeViews().contains("posix")
        ? FileChannel.open(
            lock,
            options,
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")))
        : FileChannel.open(lock, options);
  }

  /** Waits for the file lock, which another process keeps for a few milliseconds at most. */
  private static FileLock held(FileChannel channel, long deadline) throws IOException {
    while (true) {
      FileLock held = tried(channel);
      if (held != null) {
        return held;
      }
      if (System.nanoTime() - deadline >= 0) {
        throw tooLong();
      }
      LockSupport.parkNanos(LOOK_EVERY.toNanos());
    }
  }

  private static @Nullable FileLock tried(FileChannel channel) throws IOException {
    try {
      return channel.tryLock();
    } catch (OverlappingFileLockException e) {
      return null; // this process holds the lock, through another name of the file
    }
  }

  private static IOException tooLong() {
    return new IOException(
        "another server has been changing the file for " + LONGEST_WAIT.toSeconds() + " s");
  }

  @Override
  void save(Kept kept, Catalogue names) {
    Kept before = load(names);
    try {
      if (!before.overrides().equals(kept.overrides())) {
        List<String> texts = kept.overrides().stream().map(one -> one.name().name()).toList();
        Catalogue asTheyStand = KeptNames.asTheyStand(texts);
        Limits.Builder limits = Limits.builder(asTheyStand);
        for (LimitOverride one : kept.overrides()) {
          LimitName name = asTheyStand.get(one.name().name());
          limits.override(Setting.OVERRIDE.moved(one, name, one.id()));
        }
        StringBuilder text = new StringBuilder();
        LimitsYaml.writeOverrides(limits.build(), text);
        replace(
            overrides,
            text.toString(),
            fresh -> readable(builder -> builder.catalogue(asTheyStand).overrides(fresh)));
      }
      if (!before.penalties().equals(kept.penalties())) {
        List<String> texts = kept.penalties().stream().map(one -> one.name().name()).toList();
        Catalogue asTheyStand = KeptNames.asTheyStand(texts);
        replace(
            penalties,
            PenaltiesFile.text(kept.penalties()),
            fresh ->
                readable(
                    builder ->
                        builder.catalogue(asTheyStand).companion(fresh, new PenaltiesFile())));
      }
    } catch (IOException e) {
      throw unwritable(e);
    }
  }

  private static void readable(UnaryOperator<LimitFiles.Builder> fresh) {
    try {
      Limits unused = fresh.apply(LimitFiles.builder()).build().load();
    } catch (LimitFilesException e) {
      throw new KeepException(
          "the change was rejected, since it would make the file invalid: "
              + e.problems().get(0).message(),
          e);
    }
  }

  private KeepException unwritable(IOException e) {
    return new KeepException(
        "%s cannot be written (%s); nothing was changed".formatted(overrides, e), e);
  }

  private static void replace(Path file, String text, Consumer<Path> check) throws IOException {
    Path absolute = file.toAbsolutePath();
    Path folder = absolute.getParent();
    Path fresh = Files.createTempFile(folder, absolute.getFileName() + ".", ".tmp");
    try {
      try (FileChannel out = FileChannel.open(fresh, StandardOpenOption.WRITE)) {
        ByteBuffer bytes = ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
        while (bytes.hasRemaining()) {
          out.write(bytes);
        }
        out.force(true);
      }
      check.accept(fresh);
      Files.move(
          fresh, absolute, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } finally {
      Files.deleteIfExists(fresh);
    }
    try (FileChannel entry = FileChannel.open(folder, StandardOpenOption.READ)) {
      entry.force(true); // also saves the new file's name
    } catch (IOException e) {
      // Some systems cannot open a folder; the file's content is on the disk in any case.
    }
  }

  /*
   * The files are read twice. The first read collects the limit names in the files. The second read
   * accepts every id for each of these names. So a file can contain an entry whose limit was
   * removed, or whose id no longer has the right form. An entry that no limit accepts stays in the
   * file unchanged, but has no effect on the limits in force.
   */

  /** The limit names in the files, including names of removed limits. Stateless. */
  private static final class KeptNames {

    private KeptNames() {}

    /** Returns a catalogue of limit names, each of which accepts every id unchanged. */
    static Catalogue asTheyStand(Collection<String> texts) {
      List<LimitName> names = new ArrayList<>();
      for (String text : new TreeSet<>(texts)) {
        try {
          names.add(LimitName.builder(text).id(AnyId.AS_IT_STANDS).build());
        } catch (IllegalArgumentException e) {
          // An invalid limit name is not in the catalogue, and later reported as an unknown name.
        }
      }
      return Catalogue.of(names.toArray(LimitName[]::new));
    }

    /**
     * Returns the overrides or penalties that were read from a file. If an entry's id is valid for
     * a current limit, the entry gets the {@link LimitName} of this limit. If two entries spell the
     * same id differently, only one entry gets the {@code LimitName}: the entry with the canonical
     * spelling, if there is one.
     */
    static <T> List<T> fitting(Setting<T> kind, List<T> read, Catalogue names) {
      List<T> canonicalFirst = new ArrayList<>(read);
      canonicalFirst.sort(
          Comparator.comparing(
              one -> {
                T fits = fit(kind, one, names);
                return fits == null || !kind.id(fits).equals(kind.id(one));
              }));
      List<T> fitting = new ArrayList<>();
      Set<String> taken = new HashSet<>();
      for (T one : canonicalFirst) {
        T fits = fit(kind, one, names);
        boolean isFirst = fits != null && taken.add(kind.name(fits).bucketKey(kind.id(fits)));
        fitting.add(isFirst && fits != null ? fits : one);
      }
      return fitting;
    }

    private static <T> @Nullable T fit(Setting<T> kind, T one, Catalogue names) {
      LimitName name = names.find(kind.name(one).name());
      String id = name == null ? null : canonical(kind.form(name), kind.id(one));
      return name == null || id == null ? null : kind.moved(one, name, id);
    }

    private static @Nullable String canonical(IdFormat form, String id) {
      try {
        return form.canonical(id, Strictness.LENIENT);
      } catch (InvalidIdException e) {
        return null;
      }
    }

    /** The id format that accepts every id unchanged. */
    private enum AnyId implements IdFormat {
      AS_IT_STANDS;

      // Enum.name() also implements IdFormat.name().

      @Override
      public String canonical(String text, Strictness strictness) {
        return text;
      }
    }

    /** Collects the limit names in a file of overrides or of penalties. */
    record Reader(Set<String> texts) implements CompanionReader<Reader> {

      @Override
      public Class<Reader> type() {
        return Reader.class;
      }

      @Override
      public String expected() {
        return "a list of overrides, or a map with the one field penalties";
      }

      @Override
      public @Nullable Reader read(
          Node root, String file, Limits limits, boolean known, Problems problems) {
        if (root instanceof Node.Sequence overrides) {
          for (Node item : overrides.items()) {
            entries(item).forEach(entry -> texts.add(entry.key().text()));
          }
        }
        for (Node.Entry field : entries(root)) {
          if (field.value() instanceof Node.Sequence penalties) {
            penalties.items().forEach(this::penalty);
          }
        }
        return null; // the field `texts` collects the result
      }

      private void penalty(Node item) {
        for (Node.Entry field : entries(item)) {
          if (field.key().text().equals("limit") && field.value() instanceof Node.Scalar limit) {
            texts.add(limit.text());
          }
        }
      }

      private static List<Node.Entry> entries(Node node) {
        return node instanceof Node.Mapping map ? map.entries() : List.of();
      }
    }
  }

  /** Reads and writes a file with the one field {@code penalties}. Stateless. */
  static final class PenaltiesFile implements CompanionReader<PenaltiesFile.Content> {

    private static final String PENALTIES = "penalties";
    private static final List<String> FIELDS =
        List.of("limit", "id", "until", "owed", "comment", "author");

    record Content(List<Penalty> penalties) {}

    @Override
    public Class<Content> type() {
      return Content.class;
    }

    @Override
    public String expected() {
      return "a map with the one field penalties; write penalties: [] for none";
    }

    @Override
    public @Nullable Content read(
        Node root, String file, Limits limits, boolean known, Problems problems) {
      Node.Mapping map = Values.map(root, expected(), problems);
      if (map == null) {
        return null;
      }
      Node list = Fields.of(map, root, List.of(PENALTIES), problems).require(PENALTIES);
      List<Penalty> penalties = new ArrayList<>();
      Set<String> keys = new HashSet<>();
      Node.Sequence sequence = Values.list(list, "a list of penalties", problems);
      if (sequence != null) {
        for (Node item : sequence.items()) {
          Penalty penalty = penalty(item, limits, problems);
          if (penalty != null) {
            penalties.add(penalty);
            if (!keys.add(penalty.name().bucketKey(penalty.id()))) {
              problems.mistake(item, "found a second penalty of this id, expected one");
            }
          }
        }
      }
      return problems.mistaken() ? null : new Content(penalties);
    }

    private static @Nullable Penalty penalty(Node item, Limits limits, Problems problems) {
      Node.Mapping map = Values.map(item, "{limit, id, until}", problems);
      if (map == null) {
        return null;
      }
      Fields fields = Fields.of(map, item, FIELDS, problems);
      String limit = Values.text(fields.require("limit"), "a limit's name", problems);
      String id = Values.text(fields.require("id"), "an id", problems);
      String until = Values.text(fields.require("until"), "an instant", problems);
      Node owedNode = fields.find("owed");
      Long owed = owedNode == null ? Long.valueOf(0) : Values.wholeNumber(owedNode, problems);
      String comment = note(fields.find("comment"), problems);
      String author = note(fields.find("author"), problems);
      if (limit == null
          || id == null
          || until == null
          || owed == null
          || comment == null
          || author == null) {
        return null;
      }
      Instant end;
      try {
        end = EndTime.parse(until);
      } catch (IllegalArgumentException e) {
        problems.mistake(fields.at("until"), String.valueOf(e.getMessage()));
        return null;
      }
      try {
        LimitName name = limits.catalogue().get(limit);
        String canonical = name.id().canonical(id, Strictness.LENIENT);
        return new Penalty(name, canonical, end, owed, comment, author);
      } catch (UnknownLimitException | InvalidIdException e) {
        problems.mistake(item, String.valueOf(e.getMessage()));
      } catch (IllegalArgumentException e) {
        problems.mistake(item, String.valueOf(e.getMessage()));
      }
      return null;
    }

    private static @Nullable String note(@Nullable Node node, Problems problems) {
      return node == null ? "" : Values.text(node, "a text", problems);
    }

    static String text(List<Penalty> penalties) {
      StringBuilder text = new StringBuilder("penalties:");
      if (penalties.isEmpty()) {
        return text.append(" []\n").toString();
      }
      text.append('\n');
      for (Penalty penalty : penalties) {
        text.append("  - limit: ").append(penalty.name().name()).append('\n');
        text.append("    id: ").append(LimitsYaml.quoted(penalty.id())).append('\n');
        text.append("    until: ").append(penalty.until()).append('\n');
        if (penalty.owed() > 0) {
          text.append("    owed: ").append(penalty.owed()).append('\n');
        }
        if (!penalty.comment().isEmpty()) {
          text.append("    comment: ").append(LimitsYaml.quoted(penalty.comment())).append('\n');
        }
        if (!penalty.author().isEmpty()) {
          text.append("    author: ").append(LimitsYaml.quoted(penalty.author())).append('\n');
        }
      }
      return text.toString();
    }
  }
}
