// SPDX-License-Identifier: Apache-2.0
/** A toy ACME front end, and a tour of the limits that it meets. */
@NullMarked
@CheckReturnValue
package dev.sluice.examples.acme;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
