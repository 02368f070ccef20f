// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.web;

/** A request that the application works on for as long as the test wants. */
public interface HeldRequest {

  /**
   * Ends the work with a status, whether or not anybody still waits for it. Does nothing if the
   * exchange has ended already.
   *
   * @param status the status of the response
   */
  void end(int status);

  /**
   * Writes until the server notices that the client has disconnected, and ends the exchange. Called
   * only after the status was sent.
   */
  void writeUntilBroken();
}
