// SPDX-License-Identifier: Apache-2.0
/** Drills: a server in production is stopped, killed, starved and watched for a long time. */
@NullMarked
@CheckReturnValue
package dev.sluice.proof.production;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
