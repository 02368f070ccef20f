// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

/**
 * A row that can't be an override or a penalty, and is left out.
 *
 * @param bucketKey the row's key, as it stands there
 * @param message what was found, what was expected
 */
public record BadRow(String bucketKey, String message) {

  static BadRow of(String bucketKey, IllegalArgumentException why) {
    return new BadRow(bucketKey, String.valueOf(why.getMessage()));
  }
}
