// SPDX-License-Identifier: Apache-2.0
/**
 * Access control: tokens, certificates, roles, the permission that each endpoint and command needs,
 * and the audit log. Every door leaves these checks to this package.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.server.access;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
