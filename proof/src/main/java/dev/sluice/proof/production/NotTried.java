// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.production;

/** Thrown when this machine lacks what a drill needs. */
final class NotTried extends Exception {

  private static final long serialVersionUID = 1;

  NotTried(String what) {
    super(what);
  }
}
