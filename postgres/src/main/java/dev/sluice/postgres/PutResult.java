// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

/** */
public record PutResult(int added, int again, int disabled) {}
