// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import com.linecorp.armeria.server.HttpService;

/**
 * A service that answers a piece of a request before the next one is sent, so that nobody may wait
 * for the whole. It holds no more of a body than a piece at a time, or reads it by {@link
 * Requests#readAsItArrives}, which charges it.
 */
public interface Piecewise extends HttpService {}
