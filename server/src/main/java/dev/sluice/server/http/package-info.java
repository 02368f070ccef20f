// SPDX-License-Identifier: Apache-2.0
/**
 * The HTTP door: JSON in, decisions or problems out. The door only translates; the limiter decides.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.server.http;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
