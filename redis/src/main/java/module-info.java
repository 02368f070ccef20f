// SPDX-License-Identifier: Apache-2.0
/**
 * Buckets in Redis or Valkey.
 *
 * <p>The module requires Netty's modules by name, since Lettuce has no module descriptor, and so
 * cannot require modules.
 */
@SuppressWarnings("requires-automatic")
module dev.sluice.redis {
  requires transitive dev.sluice;
  requires dev.sluice.remote;
  requires io.netty.buffer;
  requires io.netty.common;
  requires io.netty.handler;
  requires io.netty.resolver.dns;
  requires io.netty.transport;
  requires lettuce.core;

  exports dev.sluice.redis;
}
