// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import java.util.List;

/** Thrown when the application starts with mistakes in its configuration; lists all mistakes. */
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
