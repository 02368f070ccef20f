// SPDX-License-Identifier: Apache-2.0
/**
 * The rate limits of a certificate authority such as Let's Encrypt: nine limit names, identifiers,
 * covering domains, and the transactions of an ACME front end. This package uses only the public
 * API of the core, so an application can define its own limits in the same way.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.acme;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
