// SPDX-License-Identifier: Apache-2.0
/** A rate limiting filter for Spring WebFlux. Spring and Reactor have no module descriptors. */
@SuppressWarnings({"requires-automatic", "requires-transitive-automatic"})
module dev.sluice.webflux {
  requires transitive dev.sluice;
  requires transitive dev.sluice.web;
  requires transitive reactor.core;
  requires transitive spring.core;
  requires transitive spring.web;

  exports dev.sluice.webflux;
}
