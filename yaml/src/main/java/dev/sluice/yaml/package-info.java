// SPDX-License-Identifier: Apache-2.0
/**
 * Limit files: YAML to {@link dev.sluice.limit.Limits}, every mistake with its position, and back;
 * and a watcher that applies a good change while the application runs.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.yaml;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
