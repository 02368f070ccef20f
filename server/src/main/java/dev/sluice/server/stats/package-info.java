// SPDX-License-Identifier: Apache-2.0
/** Statistics for a server's operators: how often each limit decides, and which ids it denies. */
@NullMarked
@CheckReturnValue
package dev.sluice.server.stats;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
