// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.base;

import java.time.Clock;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.function.BooleanSupplier;

/**
 * The generations of the watched files. There are up to three {@linkplain Kind kinds} of files, and
 * a mistake in one kind never delays another. For each kind, one generation is in force, and one
 * was offered last. Thread-safe; only {@link #reload} blocks, on the file system.
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

    /**
     * Returns the word for the kind in answers, metrics and logs.
     *
     * @return such as {@code tokens}
     */
    public String word() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /**
   * The generation in force.
   *
   * @param hash equal for equal contents of all files; {@code none} without files
   * @param since when it was applied
   */
  public record Active(String hash, Instant since) {}

  /**
   * The content of the files when they last changed or were read on demand.
   *
   * @param hash equal for equal contents of all files
   * @param at when they were read
   * @param mistakes why it was refused, a line each; none if it was applied
   * @param warnings what is doubtful in a generation that was applied, a line each
   */
  public record Offered(String hash, Instant at, List<String> mistakes, List<String> warnings) {

    /**
     * Makes an offer.
     *
     * @param hash of all files
     * @param at when they were read
     * @param mistakes copied
     * @param warnings copied
     */
    public Offered {
      mistakes = List.copyOf(mistakes);
      warnings = List.copyOf(warnings);
    }
  }

  /**
   * The generation in force and the last offered one, at one moment.
   *
   * @param active the generation in force
   * @param offered the last generation that was read
   */
  public record State(Active active, Offered offered) {}

  /** A place besides the files that a reload reads too, and applies on its own. */
  public interface Beside {

    /**
     * Reads the place at once. Blocks on the place.
     *
     * @return whether what it says holds now
     */
    boolean read();

    /**
     * Returns why the place could not be read.
     *
     * @return a line each, as of the last read; none if what it says holds
     */
    List<String> mistakes();
  }

  /** The hash of a server without files. */
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

  /** Makes the generations of a server without files. */
  public Generations() {
    for (Kind kind : Kind.values()) {
      byKind.put(kind, new Watched());
    }
  }

  /**
   * Returns the files of a kind.
   *
   * @param kind the kind
   * @return its files
   */
  public Watched of(Kind kind) {
    return Objects.requireNonNull(byKind.get(kind)); // each kind has its files
  }

  /**
   * Reads all files at once, and applies those of each kind if they have no mistake; then the place
   * beside them. Tokens come first: what they revoke waits for no other file.
   *
   * @return whether what all of them say holds now
   */
  public boolean reload() {
    boolean applied = true;
    for (Watched files : byKind.values()) {
      applied &= files.reader.getAsBoolean();
    }
    return beside.read() && applied;
  }

  /**
   * Returns the mistakes of all files and of the place beside them.
   *
   * @return a line each, as of the last reads; none if what all of them say holds
   */
  public List<String> mistakes() {
    List<String> all = new ArrayList<>();
    byKind.values().forEach(files -> all.addAll(files.state.offered().mistakes()));
    all.addAll(mistakesBeside());
    return all;
  }

  /**
   * Sets the place that is read beside the files.
   *
   * @param place where overrides and penalties are kept that are set at run time
   */
  public void readBeside(Beside place) {
    this.beside = place;
  }

  /**
   * Returns the mistakes of the place beside the files.
   *
   * @return a line each, as of its last read
   */
  public List<String> mistakesBeside() {
    return beside.mistakes();
  }

  /** The files of one kind. Thread-safe; never blocks. */
  public static final class Watched {

    private volatile State state;
    private volatile BooleanSupplier reader = () -> true;

    private Watched() {
      Instant now = Clock.systemUTC().instant();
      this.state = new State(new Active(NONE, now), new Offered(NONE, now, List.of(), List.of()));
    }

    /**
     * Returns the generation in force and the last offered one.
     *
     * @return both generations
     */
    public State state() {
      return state;
    }

    /**
     * Returns whether there are files of this kind.
     *
     * @return false before any was read
     */
    public boolean isPresent() {
      return !state.offered().hash().equals(NONE);
    }

    /**
     * Sets the reader of the files.
     *
     * @param newReader reads them, and returns whether they were applied
     */
    public void readBy(BooleanSupplier newReader) {
      this.reader = newReader;
    }

    /**
     * Records a generation that was applied.
     *
     * @param hash of all files
     * @param at when it was applied
     * @param warnings what is doubtful in it
     */
    public void applied(String hash, Instant at, List<String> warnings) {
      Active active = state.active();
      boolean same = active.hash().equals(hash);
      state =
          new State(
              same ? active : new Active(hash, at), new Offered(hash, at, List.of(), warnings));
    }

    /**
     * Records a generation that was refused.
     *
     * @param hash of all files
     * @param at when it was read
     * @param mistakes why
     */
    public void refused(String hash, Instant at, List<String> mistakes) {
      state = new State(state.active(), new Offered(hash, at, mistakes, List.of()));
    }
  }
}
