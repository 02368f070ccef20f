// SPDX-License-Identifier: Apache-2.0
/**
 * Keeps outgoing requests within a limit, and pauses requests if the remote server demands it. Only
 * {@code PacedOkHttp}, {@code PacedRestClient} and {@code PacedWebClient} need the libraries
 * OkHttp, Spring and Reactor. These libraries have no module descriptors. This module does not
 * require them transitively, since every module that requires this module would then need these
 * libraries.
 */
@SuppressWarnings("requires-automatic")
module dev.sluice.outbound {
  requires transitive dev.sluice;
  requires dev.sluice.web;
  requires transitive java.net.http;
  requires static okhttp3;
  requires static spring.web;
  requires static spring.webflux;
  requires static reactor.core;
  requires static spring.core;

  exports dev.sluice.outbound;
}
