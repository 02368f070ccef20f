// SPDX-License-Identifier: Apache-2.0
/**
 * Limit files: reads YAML to {@link dev.sluice.limit.Limits} and reports every mistake with its
 * position, and watches files to apply a valid change at run time.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.yaml;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
