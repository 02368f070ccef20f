// SPDX-License-Identifier: Apache-2.0
/**
 * The nodes of YAML files, and shared code to read and write limits. For Sluice's own modules only.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.yaml.internal;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
