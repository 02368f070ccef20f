// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

/** The severity of a {@link Problem}. */
public enum Severity {
  /** Nothing is loaded while it stands. */
  MISTAKE,
  /** The files load, but probably do not say what their author meant. */
  WARNING
}
