// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

/** */
public record BadRow(String bucketKey, String message) {

  static BadRow of(String bucketKey, IllegalArgumentException why) {
    return new BadRow(bucketKey, String.valueOf(why.getMessage()));
  }
}
