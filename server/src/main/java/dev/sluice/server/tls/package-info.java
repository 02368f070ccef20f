// SPDX-License-Identifier: Apache-2.0
/** TLS for all ports: certificate files, TLS contexts, and checks of client certificates. */
@NullMarked
@CheckReturnValue
package dev.sluice.server.tls;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
