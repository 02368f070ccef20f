// SPDX-License-Identifier: Apache-2.0
/**
 * Keeps outgoing requests within a limit, and pauses requests if the remote server demands a pause.
 * Only {@code PacedOkHttp}, {@code PacedRestClient} and {@code PacedWebClient} need the libraries
 * OkHttp, Spring and Reactor. OkHttp, Spring and Reactor have no module descriptors. This module
 * does not require OkHttp, Spring and Reactor transitively, since every user of this module would
 * then need all three libraries.
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
