// SPDX-License-Identifier: Apache-2.0
/**
 * The rate limits of a certificate authority, as Let's Encrypt has them: nine names, identifiers,
 * covering domains, and the transactions of an ACME front end. It stands on the public API of the
 * core, as any application's own limits would.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.acme;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
