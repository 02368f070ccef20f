// SPDX-License-Identifier: Apache-2.0
/**
 * Changes at run time: overrides and penalties, where they are saved, and how they come into force.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.server.admin;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
