// SPDX-License-Identifier: Apache-2.0
/**
 * Helpers for tests of a store or an application: the contract that every {@link
 * dev.sluice.store.BucketStore} must pass, a manual clock, assertions on decisions, and the
 * recorded decisions that every implementation must reproduce.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.testkit;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
