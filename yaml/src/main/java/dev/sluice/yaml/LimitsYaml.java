package dev.sluice.yaml;

import dev.sluice.limit.Limits;
import java.io.IOException;

/**
 * Writes limits as the files that would load them. Pure and thread-safe; blocks as its target does.
 */
public final class LimitsYaml {

  private LimitsYaml() {}

  /**
   * Writes a file of defaults.
   *
   * @param limits the limits
   * @param target where the text goes
   * @throws IOException if the target throws it
   */
  public static void writeDefaults(Limits limits, Appendable target) throws IOException {
    target.append("");
  }

  /**
   * Writes a file of overrides.
   *
   * @param limits the limits
   * @param target where the text goes
   * @throws IOException if the target throws it
   */
  public static void writeOverrides(Limits limits, Appendable target) throws IOException {
    target.append("");
  }
}
