// SPDX-License-Identifier: Apache-2.0
/**
 * Trials with real Redis and PostgreSQL servers: several processes put load on the servers, and
 * faults are injected. Every grant is checked against the limit.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.proof.faults;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
