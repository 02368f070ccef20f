// SPDX-License-Identifier: Apache-2.0
/**
 * Keeps outgoing requests within a limit, and pauses them when the remote server asks for that.
 * OkHttp, Spring and Reactor are needed only by the classes for their clients, and have no module
 * descriptors. They are not required transitively, because then every module that requires this one
 * would need them.
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
