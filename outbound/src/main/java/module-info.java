// SPDX-License-Identifier: Apache-2.0
/** */
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
