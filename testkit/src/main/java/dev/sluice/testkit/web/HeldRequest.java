// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.web;

public interface HeldRequest {

  /**
   * @param status the status of the response
   */
  void end(int status);

  /** */
  void writeUntilBroken();
}
