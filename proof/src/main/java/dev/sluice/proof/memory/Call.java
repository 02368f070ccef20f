// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

/**
 * A call that has returned.
 *
 * @param thread who made it
 * @param op what was called
 * @param begun the step at which it began
 * @param ended the step at which it returned
 * @param begunNanos the clock when it began
 * @param endedNanos the clock when it returned
 * @param answer what it came to
 */
record Call(
    int thread, Op op, long begun, long ended, long begunNanos, long endedNanos, Answer answer) {

  @Override
  public String toString() {
    return "thread %s: %s -> %s (steps %s to %s)".formatted(thread, op, answer, begun, ended);
  }
}
