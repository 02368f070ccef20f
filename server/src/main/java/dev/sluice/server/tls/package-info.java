// SPDX-License-Identifier: Apache-2.0
/** TLS for every door: the files, what they become, and the names of clients. */
@NullMarked
@CheckReturnValue
package dev.sluice.server.tls;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
