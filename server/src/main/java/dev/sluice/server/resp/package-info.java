// SPDX-License-Identifier: Apache-2.0
/**
 * The server's port for Redis clients, and its commands. {@link dev.sluice.server.resp.RespServer}
 * opens the port. A {@code RespConnection} parses {@code Request}s with its {@code RequestReader},
 * finds each request's command in the {@code CommandTable}, and sends the {@code Replies} in the
 * order of the requests.
 */
@NullMarked
package dev.sluice.server.resp;

import org.jspecify.annotations.NullMarked;
