// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

/** How bad a {@link Problem} is. */
public enum Severity {
  /** Nothing is loaded while it stands. */
  MISTAKE,
  /** The files load, but probably do not say what their author meant. */
  WARNING
}
