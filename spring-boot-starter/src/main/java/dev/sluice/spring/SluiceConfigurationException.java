// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import java.util.List;

/** Thrown at start for what is wrong in an application's configuration; has every mistake. */
final class SluiceConfigurationException extends RuntimeException {

  private static final long serialVersionUID = 1;

  private final String action;

  SluiceConfigurationException(List<String> problems, String action) {
    super(String.join("\n", problems));
    this.action = action;
  }

  /** The advice for the operator. */
  String action() {
    return action;
  }
}
