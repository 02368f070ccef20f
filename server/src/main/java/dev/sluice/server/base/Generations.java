// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.base;

import dev.sluice.limit.Limits;
import dev.sluice.yaml.LimitFilesWatcher;
import java.time.Clock;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The versions of the watched files, called generations. There are up to three {@linkplain Kind
 * kinds} of files; a mistake in the files of one kind never delays another kind. For each kind,
 * this class keeps the generation in force and the generation that was read last. Thread-safe; only
 * {@link #reload} blocks, on the file system.
 */
public final class Generations {

  /** The kinds of files. Files of one kind are replaced together or not at all. */
  public enum Kind {
    /** The file of tokens. */
    TOKENS,
    /** The server's certificate, its key, and the authorities of its clients. */
    CERTIFICATES,
    /** Limits, overrides, names and rules. */
    LIMITS;

    /** Returns the word for the kind in answers, metrics and logs, such as {@code tokens}. */
    public String word() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /**
   * The generation in force.
   *
   * @param hash the hash of the contents of all files; {@code none} without files
   * @param changes the differences from the previous generation, one line each
   */
  public record Active(String hash, Instant since, List<String> changes) {

    public Active {
      changes = List.copyOf(changes);
    }
  }

  /** A generation in the history, with the limits, overrides and rules of its files. */
  public record Past(String hash, Instant at, Limits limits) {}

  /**
   * The generation that was read last, after a change of the files or on demand.
   *
   * @param mistakes why the generation was refused, a line for each mistake; empty if it was
   *     applied
   * @param warnings warnings about an applied generation, one line each
   */
  public record Offered(String hash, Instant at, List<String> mistakes, List<String> warnings) {

    public Offered {
      mistakes = List.copyOf(mistakes);
      warnings = List.copyOf(warnings);
    }
  }

  /** The generation in force and the generation that was read last, at one moment. */
  public record State(Active active, Offered offered) {}

  /**
   * A further place that a reload reads, such as saved overrides. The content of this place is
   * applied even if the files have mistakes.
   */
  public interface Beside {

    /** Reads the place now, and returns whether its content is now in force. Blocks meanwhile. */
    boolean read();

    /** Returns a line for each mistake of the last read; empty if its content is in force. */
    List<String> mistakes();
  }

  /** The hash that stands for no files. */
  public static final String NONE = "none";

  private static final Beside NOTHING =
      new Beside() {
        @Override
        public boolean read() {
          return true;
        }

        @Override
        public List<String> mistakes() {
          return List.of();
        }
      };

  private final Map<Kind, Watched> byKind = new EnumMap<>(Kind.class);
  private volatile Beside beside = NOTHING;

  public Generations() {
    for (Kind kind : Kind.values()) {
      byKind.put(kind, new Watched());
    }
  }

  public Watched of(Kind kind) {
    return Objects.requireNonNull(byKind.get(kind)); // the map contains every kind
  }

  /**
   * Reads all files now, and applies the files of each kind that has no mistake. Afterwards, reads
   * the place set by {@link #readBeside}. Returns whether everything that was read is now in force.
   * The tokens file is read first, so that the revocation of a token does not wait for other files.
   */
  public boolean reload() {
    boolean applied = true;
    for (Watched files : byKind.values()) {
      LimitFilesWatcher read = files.files;
      applied &= read == null || read.reloadNow();
    }
    return beside.read() && applied;
  }

  /** Returns each mistake in the last read of all files and of {@link #readBeside}. */
  public List<String> mistakes() {
    List<String> all = new ArrayList<>();
    byKind.values().forEach(files -> all.addAll(files.state.offered().mistakes()));
    all.addAll(mistakesBeside());
    return all;
  }

  /** Sets a further place that a reload reads: the overrides and penalties set at run time. */
  public void readBeside(Beside place) {
    this.beside = place;
  }

  /** Returns a line for each mistake in the last read of the place set by {@link #readBeside}. */
  public List<String> mistakesBeside() {
    return beside.mistakes();
  }

  /** The generations of one kind of files. Thread-safe; never blocks. */
  public static final class Watched {

    /** How many generations are kept, including the generation in force. */
    private static final int MOST_PAST = 10;

    /** The most overrides in all kept generations together; two generations are always kept. */
    private static final long MOST_OVERRIDES = 200_000;

    private final Deque<Past> past = new ArrayDeque<>(); // guarded by itself; the newest first
    private volatile State state;
    private volatile @Nullable LimitFilesWatcher files;

    private Watched() {
      Instant now = Clock.systemUTC().instant();
      this.state =
          new State(new Active(NONE, now, List.of()), new Offered(NONE, now, List.of(), List.of()));
    }

    public State state() {
      return state;
    }

    /** Returns whether there are files of this kind; false before their first read. */
    public boolean isPresent() {
      return !state.offered().hash().equals(NONE);
    }

    public void readBy(LimitFilesWatcher newFiles) {
      this.files = newFiles;
    }

    /** Returns the reader of the files, null without files of this kind. */
    public @Nullable LimitFilesWatcher files() {
      return files;
    }

    /** Returns at most ten applied generations, the newest first; the one put back second. */
    public List<Past> past() {
      synchronized (past) {
        return List.copyOf(past);
      }
    }

    /** Whether a rollback is in force, and the files have not changed since. */
    public boolean isPutBack() {
      synchronized (past) {
        return !past.isEmpty() && !past.getFirst().hash().equals(state.active().hash());
      }
    }

    /** Records a rollback; {@code offered} is the hash of the files it replaces. */
    public void putBack(String hash, Instant at, String offered, List<String> changes) {
      State now = state;
      boolean same = now.active().hash().equals(hash);
      state =
          new State(
              same ? now.active() : new Active(hash, at, changes),
              now.offered().hash().equals(offered)
                  ? now.offered()
                  : new Offered(offered, at, List.of(), List.of()));
    }

    private void keep(Past one) {
      synchronized (past) {
        // A rollback can have put an old generation in force. This generation becomes the newest
        // past
        // generation, so that the next rollback restores it.
        String active = state.active().hash();
        past.stream()
            .filter(other -> other.hash().equals(active))
            .findFirst()
            .ifPresent(
                other -> {
                  past.remove(other);
                  past.addFirst(other);
                });
        past.removeIf(other -> other.hash().equals(one.hash()));
        past.addFirst(one);
        while (past.size() > MOST_PAST || (past.size() > 2 && overrides() > MOST_OVERRIDES)) {
          past.removeLast();
        }
      }
    }

    private long overrides() {
      return past.stream()
          .map(Past::limits)
          .flatMap(limits -> limits.configured().stream().map(limits::overridesOf))
          .mapToLong(Collection::size)
          .sum();
    }

    public void applied(
        String hash, Instant at, List<String> warnings, Limits limits, List<String> changes) {
      keep(new Past(hash, at, limits));
      Active active = state.active();
      boolean same = active.hash().equals(hash);
      state =
          new State(
              same ? active : new Active(hash, at, changes),
              new Offered(hash, at, List.of(), warnings));
    }

    public void refused(String hash, Instant at, List<String> mistakes) {
      state = new State(state.active(), new Offered(hash, at, mistakes, List.of()));
    }
  }
}
