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

  /** The hash of a server without files. */
  public static final String NONE = "none";

  private volatile State state;
  private volatile BooleanSupplier reader = () -> true;

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
   * Reads all files at once, and applies them if they have no mistake. Does nothing without files.
   *
   * @return whether what the files say holds now
   */
  public boolean reload() {
    return reader.getAsBoolean();
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
