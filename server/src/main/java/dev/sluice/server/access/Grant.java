// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.access;

import dev.sluice.gcra.Quota;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A line of the file of tokens: what the holder of a token or a certificate may do. Immutable.
 *
 * @param name the token's name, or the name in the certificate
 * @param roles what it may do
 * @param scopes on which limits
 * @param requests how many requests it may send, null for any number
 */
record Grant(String name, Set<Role> roles, Scopes scopes, @Nullable Quota requests) {}
