// SPDX-License-Identifier: Apache-2.0
/**
 * The service that {@code sluice serve} runs: its settings, its parts, its startup and its
 * shutdown.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.server.service;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
