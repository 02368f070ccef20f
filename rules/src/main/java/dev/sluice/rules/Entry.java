// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import dev.sluice.text.SafeText;

/**
 * One entry of a descriptor, as a proxy sends it. Immutable.
 *
 * @param key such as {@code remote_address}
 * @param value such as {@code 192.0.2.7}
 */
public record Entry(String key, String value) {

  @Override
  public String toString() {
    return SafeText.quote(key) + "=" + SafeText.quote(value);
  }
}
