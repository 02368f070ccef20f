// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof;

/** Thrown if this machine lacks something that a drill needs. */
public final class NotTried extends Exception {

  private static final long serialVersionUID = 1;

  public NotTried(String what) {
    super(what);
  }
}
