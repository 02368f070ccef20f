// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server;

import java.time.Clock;
import java.time.Instant;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * The generation of watched files that is in force, and the one that was offered last: limits,
 * overrides, names, rules, certificates and tokens are replaced together or not at all.
 * Thread-safe; only {@link #reload} blocks, on the file system.
 */
public final class Generations {

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
   * Both at one moment.
   *
   * @param active what holds
   * @param offered what was read last
   */
  public record State(Active active, Offered offered) {}

  /** A place beside the files that a reload reads too, and that is taken over or not alone. */
  public interface Beside {

    /**
     * Reads it at once. Blocks on it.
     *
     * @return whether what it says holds now
     */
    boolean read();

    /**
     * Returns why it could not be read.
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

  private volatile State state;
  private volatile BooleanSupplier reader = () -> true;
  private volatile Beside beside = NOTHING;

  /** Makes the generations of a server without files. */
  public Generations() {
    Instant now = Clock.systemUTC().instant();
    this.state = new State(new Active(NONE, now), new Offered(NONE, now, List.of(), List.of()));
  }

  /**
   * Returns what holds and what was offered.
   *
   * @return both
   */
  public State state() {
    return state;
  }

  /**
   * Reads all files at once, and applies them if they have no mistake; then the place beside them.
   *
   * @return whether what all of them say holds now
   */
  public boolean reload() {
    boolean applied = reader.getAsBoolean();
    return beside.read() && applied;
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

  /**
   * Sets what reads the files.
   *
   * @param newReader reads them, and returns whether they were applied
   */
  public void readBy(BooleanSupplier newReader) {
    this.reader = newReader;
  }

  /**
   * Remembers a generation that was applied.
   *
   * @param hash of all files
   * @param at when it was applied
   * @param warnings what is doubtful in it
   */
  public void applied(String hash, Instant at, List<String> warnings) {
    Active active = state.active();
    boolean same = active.hash().equals(hash);
    state =
        new State(same ? active : new Active(hash, at), new Offered(hash, at, List.of(), warnings));
  }

  /**
   * Remembers a generation that was refused.
   *
   * @param hash of all files
   * @param at when it was read
   * @param mistakes why
   */
  public void refused(String hash, Instant at, List<String> mistakes) {
    state = new State(state.active(), new Offered(hash, at, mistakes, List.of()));
  }
}
