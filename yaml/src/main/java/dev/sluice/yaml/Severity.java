// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

/** The severity of a {@link Problem}. */
public enum Severity {
  /** A mistake, which prevents the load of all files. */
  MISTAKE,
  /**
   * A warning. The files are loaded, but their content is probably not what their author intended.
   */
  WARNING
}
