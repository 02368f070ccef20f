// SPDX-License-Identifier: Apache-2.0
/** Drills that stop, kill and starve a production server, or load the server for a long time. */
@NullMarked
@CheckReturnValue
package dev.sluice.proof.production;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
