// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

/**
 * A call that has returned.
 *
 * @param thread the thread that made the call
 * @param op the operation
 * @param begun the step at which the call began
 * @param ended the step at which the call returned
 * @param begunNanos the time of the clock when the call began
 * @param endedNanos the time of the clock when the call returned
 * @param answer the result
 */
record Call(
    int thread, Op op, long begun, long ended, long begunNanos, long endedNanos, Answer answer) {

  @Override
  public String toString() {
    return "thread %s: %s -> %s (steps %s to %s)".formatted(thread, op, answer, begun, ended);
  }
}
