// SPDX-License-Identifier: Apache-2.0
/**
 * Helpers for tests of a store or of an application: the contract that every {@link
 * dev.sluice.store.BucketStore} must pass, a clock that stands still until it is moved, assertions
 * on decisions, and the recorded decisions that every implementation must repeat.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.testkit;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
