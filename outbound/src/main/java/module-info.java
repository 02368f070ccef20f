// SPDX-License-Identifier: Apache-2.0
/**
 * Requests that leave keep to a limit, and to what the other side asks for. OkHttp, Spring and
 * Reactor are needed only by the classes for their clients, and have no descriptors of their own.
 * They are not required transitively: then every module that requires this one would need them.
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
