// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

/** A store under simulation, behind the class loader that instruments it. */
public interface InstrumentedStore {

  /**
   * Carries out a call, on the thread of the simulation that makes it.
   *
   * @param op a charge or a snapshot
   * @return its answer
   */
  Answer run(Op op);

  /**
   * Looks at the store when all calls have ended.
   *
   * @return what is wrong with what is left in it, empty if nothing is
   */
  String leftovers();
}
