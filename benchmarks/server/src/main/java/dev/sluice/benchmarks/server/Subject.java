// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.server;

/**
 * Something to measure.
 *
 * @param scene what is asked for; subjects of one scene are compared
 * @param name who answers
 * @param pid the process that answers
 */
record Subject(String scene, String name, long pid, Load load) {

  static final String SLUICE = "sluice";
  static final String EMPTY = "empty handler";
  static final String GET = "redis GET";
  static final String LUA = "redis, GCRA in Lua";
}
