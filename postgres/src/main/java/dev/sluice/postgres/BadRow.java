// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

/**
 * A row of a table that is not a valid override or penalty, and is ignored.
 *
 * @param bucketKey the key in the row, unchanged
 * @param message what was found, and what was expected
 */
public record BadRow(String bucketKey, String message) {

  static BadRow of(String bucketKey, IllegalArgumentException why) {
    return new BadRow(bucketKey, String.valueOf(why.getMessage()));
  }
}
