// SPDX-License-Identifier: Apache-2.0
/**
 * The rate limits of a certificate authority such as Let's Encrypt: nine limit names, identifiers,
 * covering domains, and the transactions of an ACME front end. Like an application's own limits,
 * this package uses only the public API of the core.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.acme;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
