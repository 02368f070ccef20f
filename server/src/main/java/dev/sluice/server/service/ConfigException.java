// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

/** Thrown when a service cannot start with one of its settings. */
public final class ConfigException extends RuntimeException {

  private static final long serialVersionUID = 1;

  private final String setting;

  ConfigException(String setting, String message, Throwable cause) {
    super(message, cause);
    this.setting = setting;
  }

  /**
   * Returns which setting is wrong.
   *
   * @return its name among the options of {@code sluice serve}, such as {@code store}
   */
  public String setting() {
    return setting;
  }
}
