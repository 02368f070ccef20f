// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import java.util.List;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * A connection to a Cluster: a call goes to the master of its keys' slot, and follows redirections.
 * Thread-safe; no method blocks.
 */
interface ClusterConnection extends Connection {

  /** Returns the master of a slot by the map as it is known, null where the map has a hole. */
  @Nullable Node masterOf(int slot);

  /** Returns a node by its id, null if it has left the Cluster. */
  @Nullable Node node(String id);

  /** Returns the masters that have slots. */
  List<Node> masters();

  /**
   * Asks a node whether it is there, on the connection that calls take.
   *
   * @param nanos after this time without an answer the connection is cut, so that the client
   *     reconnects: the machine behind it may be gone
   */
  CompletionStage<String> ping(Node node, long nanos);

  /**
   * A node.
   *
   * @param id its name in the Cluster, for good
   */
  record Node(String id, String host, int port) {

    String address() {
      return host + ":" + port;
    }
  }
}
