// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.web;

/** A request that the application processes until the test calls {@link #end}. */
public interface HeldRequest {

  /**
   * Ends the processing of the request with a status, even if the client has disconnected. Does
   * nothing if the response is already complete.
   *
   * @param status the status of the response
   */
  void end(int status);

  /**
   * Writes to the client until the server notices that the client has disconnected, then ends the
   * response. The test calls this method only after the application has sent the status.
   */
  void writeUntilBroken();
}
