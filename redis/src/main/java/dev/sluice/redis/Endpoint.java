// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

/** The server of a {@link RequestQueue}. Thread-safe; no method blocks. */
interface Endpoint {

  /** Returns host and port, for messages; never with a password. */
  String name();

  Breaker breaker();

  /** Sends a script call, all of whose keys are on this server, and completes it. */
  void send(ScriptCall call);

  /** Looks the master up again, since the server that answered is a replica. */
  void renew();
}
