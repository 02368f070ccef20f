// SPDX-License-Identifier: Apache-2.0
/**
 * Access control for all protocols: tokens, certificates, roles, the permission that each endpoint
 * and command needs, and the audit log.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.server.access;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
