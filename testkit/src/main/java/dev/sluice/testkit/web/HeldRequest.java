// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.web;

/** A request that the application processes until the test ends it. */
public interface HeldRequest {

  /**
   * Ends the processing with a status, even if the client has disconnected. Does nothing if the
   * exchange has already ended.
   *
   * @param status the status of the response
   */
  void end(int status);

  /**
   * Writes to the client until the server notices that the client has disconnected, then ends the
   * exchange. Called only after the status was sent.
   */
  void writeUntilBroken();
}
