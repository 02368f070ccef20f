// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

/** A server as a {@link Lane} sees it. Thread-safe; no method blocks. */
interface Endpoint {

  /** Host and port, for messages; never with a password. */
  String name();

  Breaker breaker();

  /** Sends a call of the script, whose keys are all its own; how it went arrives in the call. */
  void send(ScriptCall call);

  /** The responder is not the master; look the master up again. */
  void renew();
}
