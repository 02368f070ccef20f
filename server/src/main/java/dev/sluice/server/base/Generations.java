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
 * The versions of the watched configuration files, called generations. There are three {@linkplain
 * Kind kinds} of files; a mistake in one kind never delays a change in another. For each kind of
 * files, this class keeps the generation in force and the generation that was read last.
 * Thread-safe; only {@link #reload} blocks, on the file system.
 */
public final class Generations {

  /** The kinds of watched files. A reload applies all files of one kind or none. */
  public enum Kind {
    /** The file with the access tokens of callers. */
    TOKENS,
    /** The server's certificate, its key, and the authorities of its clients. */
    CERTIFICATES,
    /** The files with limits, overrides, names and rules. */
    LIMITS;

    /** Returns the files' name in responses, metrics and logs, such as {@code tokens}. */
    public String word() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /**
   * The version of the files that is in force.
   *
   * @param hash the hash of the contents of all files; {@code none} without files
   * @param changes the differences from the previous generation, one line for each
   */
  public record Active(String hash, Instant since, List<String> changes) {

    public Active {
      changes = List.copyOf(changes);
    }
  }

  /** An applied version of the files, with the limits, overrides and rules in these files. */
  public record Past(String hash, Instant at, Limits limits) {}

  /**
   * The version of the files that was read last, after a change of the files or by {@link #reload}.
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

  /** The generation in force and the generation that was read last, as a consistent pair. */
  public record State(Active active, Offered offered) {}

  /**
   * A source, such as the store of overrides, that a reload reads besides the files, and applies
   * even if the files have mistakes.
   */
  public interface Beside {

    /** Reads the source, which can block, and returns whether the source's content is in force. */
    boolean read();

    /** Returns a line for each mistake in the source; empty if the source's content is in force. */
    List<String> mistakes();
  }

  /** The hash of a generation without files. */
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
   * Reads all files now, and applies the files of each kind that has no mistake. After the files,
   * this method reads the source that {@link #readBeside} has set. Returns whether everything that
   * was read is now in force. Reads the tokens file first, so that a token is revoked without
   * waiting for other files.
   */
  public boolean reload() {
    boolean applied = true;
    for (Watched files : byKind.values()) {
      LimitFilesWatcher read = files.files;
      applied &= read == null || read.reloadNow();
    }
    return beside.read() && applied;
  }

  /**
   * Returns the mistakes found in the last read of all files and of the source of {@link
   * #readBeside}, one line each; empty if all content is in force.
   */
  public List<String> mistakes() {
    List<String> all = new ArrayList<>();
    byKind.values().forEach(files -> all.addAll(files.state.offered().mistakes()));
    all.addAll(mistakesBeside());
    return all;
  }

  /** Sets a source that a reload reads after the files: overrides and penalties set at run time. */
  public void readBeside(Beside place) {
    this.beside = place;
  }

  /** Returns the mistakes found in the last read of the source of {@link #readBeside}. */
  public List<String> mistakesBeside() {
    return beside.mistakes();
  }

  /** The generations of one kind of files. Thread-safe; never blocks. */
  public static final class Watched {

    /** The most generations that this object keeps, including the generation in force. */
    private static final int MOST_PAST = 10;

    /** The most overrides in all kept generations; at least two generations are always kept. */
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

    /** Returns the object that reads the files of this kind; null if there are no such files. */
    public @Nullable LimitFilesWatcher files() {
      return files;
    }

    /** Returns the last generations that were applied, at most ten, the newest first. */
    public List<Past> past() {
      synchronized (past) {
        return List.copyOf(past);
      }
    }

    /**
     * Whether a rollback has restored an earlier generation, and no newer files were applied since.
     */
    public boolean isPutBack() {
      synchronized (past) {
        return !past.isEmpty() && !past.getFirst().hash().equals(state.active().hash());
      }
    }

    /** Records that a rollback has put an earlier generation in force. */
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
        // If a rollback has put an old generation in force, the old generation becomes the newest
        // past generation, so that the next rollback restores it again.
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
