// SPDX-License-Identifier: Apache-2.0
/**
 * Classes for tests of a store or an application: the contract that every {@link
 * dev.sluice.store.BucketStore} must pass, a manual clock, assertions on decisions, and recorded
 * decisions that every implementation of Sluice must reproduce.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.testkit;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
