// SPDX-License-Identifier: Apache-2.0
/**
 * Drills on a production server: the server is stopped or killed, runs out of disk space or file
 * descriptors, or is under load for a long time.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.proof.production;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
