// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

/**
 * One who asks.
 *
 * @param name such as {@code rogue-1}
 * @param bucket whose tokens it spends; several clients may share one
 * @param cost tokens a request
 * @param behaviour when it asks
 */
record Client(String name, int bucket, long cost, Behaviour behaviour) {}
