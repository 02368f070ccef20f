// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

/** A store under simulation, behind the class loader that instruments it. */
public interface InstrumentedStore {

  /**
   * Carries out a call on the calling thread of the simulation.
   *
   * @param op a charge or a snapshot
   * @return its answer
   */
  Answer run(Op op);

  /**
   * Checks the store after all calls have ended.
   *
   * @return what is wrong with the remaining state, empty if nothing is
   */
  String leftovers();
}
