// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

/** The use of a limit that a proxy sends with a descriptor. */
public enum OverridePolicy {
  /** It takes the place of the limit that the descriptor stands for. */
  ALLOW,
  /** It is ignored: the callers are not trusted to say how much may pass. */
  IGNORE
}
