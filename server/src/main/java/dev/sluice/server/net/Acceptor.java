// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import com.linecorp.armeria.common.Flags;
import com.linecorp.armeria.common.util.EventLoopGroups;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.util.concurrent.FastThreadLocalThread;
import io.netty.util.concurrent.Future;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/**
 * The thread that accepts the connections of one port. It ends as soon as the port is closed. By
 * default, Netty waits until no work has come for 2 s, and a closed port brings none. Thread-safe.
 */
final class Acceptor extends MultiThreadIoEventLoopGroup {

  private Acceptor(String name, IoHandlerFactory selector) {
    super(1, threads(name), selector);
  }

  private static ThreadFactory threads(String name) {
    return task -> {
      Thread thread = new FastThreadLocalThread(task, name);
      thread.setDaemon(false); // keeps the program running
      return thread;
    };
  }

  /** Returns one for the transport that the library chose for this machine. */
  static EventLoopGroup of(String name) {
    return switch (Flags.transportType()) {
      case EPOLL -> new Acceptor(name, EpollIoHandler.newFactory());
      case NIO -> new Acceptor(name, NioIoHandler.newFactory());
      case KQUEUE, IO_URING -> EventLoopGroups.newEventLoopGroup(1, name);
    };
  }

  @Override
  public Future<?> shutdownGracefully() {
    return shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }
}
