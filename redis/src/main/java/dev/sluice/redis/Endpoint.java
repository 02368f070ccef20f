// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

/** A server as a {@link Lane} sees it. Thread-safe; no method blocks. */
interface Endpoint {

  /** Host and port, for messages; never with a password. */
  String name();

  Breaker breaker();

  /** Runs the script on keys that are all its own. */
  ScriptCall call(byte[][] keys, byte[] argument);

  /** The responder is not the master; look the master up again. */
  void renew();
}
