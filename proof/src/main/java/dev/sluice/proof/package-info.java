// SPDX-License-Identifier: Apache-2.0
/** Classes that all campaigns use: servers, connections, clients and the report. */
@NullMarked
@CheckReturnValue
package dev.sluice.proof;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
