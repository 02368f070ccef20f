// SPDX-License-Identifier: Apache-2.0
/** Requests that leave, and calls, from a module path. */
module clients {
  requires dev.sluice.outbound;
  requires dev.sluice.grpc;
  requires dev.sluice.kotlin;
  requires dev.sluice.spring;
  requires dev.sluice.webflux;
  requires io.grpc;
  requires jdk.httpserver;
  requires spring.web;
  requires spring.webflux;
}
