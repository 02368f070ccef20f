// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.base;

/** Formats numbers of things for messages. */
public final class Plurals {

  private Plurals() {}

  /** Formats a number with its noun, such as {@code 1 mistake} or {@code 2 mistakes}. */
  public static String of(long number, String one) {
    return number + " " + one + (number == 1 ? "" : "s");
  }
}
