// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import java.util.List;

/** Thrown at start if the application's configuration has mistakes, with every mistake. */
final class SluiceConfigurationException extends RuntimeException {

  private static final long serialVersionUID = 1;

  private final String action;

  SluiceConfigurationException(List<String> problems, String action) {
    super(String.join("\n", problems));
    this.action = action;
  }

  String action() {
    return action;
  }
}
