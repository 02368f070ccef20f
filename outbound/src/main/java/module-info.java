// SPDX-License-Identifier: Apache-2.0
/**
 * Keeps outgoing requests within a limit, and pauses requests if the remote server demands it. Only
 * the classes for OkHttp, Spring and Reactor need these libraries, which have no module
 * descriptors. The libraries are not required transitively, since every module that requires this
 * module would then need them.
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
