// SPDX-License-Identifier: Apache-2.0
/**
 * Real servers for tests, on free ports of the loopback interface: Redis with its topologies,
 * PostgreSQL, MariaDB, and a browser.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.testkit.servers;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
