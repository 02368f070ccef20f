// SPDX-License-Identifier: Apache-2.0
/**
 * Helpers for tests of a store or of an application. They are the contract that every {@link
 * dev.sluice.store.BucketStore} must pass, a clock that stands still until it is moved, and
 * assertions on decisions. The recorded decisions that every implementation must repeat come with
 * them.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.testkit;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
