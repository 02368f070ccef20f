package dev.sluice.benchmarks.memory;

/** What is measured: something that decides on one token of a key. */
interface Subject {

  /** Spends one token of the key's bucket if it is there. */
  boolean trySpend(String key);
}
