// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

public enum Durability {
  /** */
  UNLOGGED,
  /** */
  ASYNC,
  SYNC
}
