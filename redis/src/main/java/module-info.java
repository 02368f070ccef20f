// SPDX-License-Identifier: Apache-2.0
/**
 * Buckets in Redis or Valkey.
 *
 * <p>Names Netty's modules, which Lettuce cannot: it has no descriptor, and a module without one
 * brings no module that has one.
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
