// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.internal.text.SafeText;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * A connection to a Cluster. A call goes to the master of its keys' slot and follows redirections.
 * Thread-safe; no method blocks.
 */
interface ClusterConnection extends Connection {

  /**
   * Returns the master of a slot in the client's current map; null if the map has no master for the
   * slot.
   */
  @Nullable Node masterOf(int slot);

  /** Returns a node by its id; null if the node has left the Cluster. */
  @Nullable Node node(String id);

  List<Node> masters();

  /**
   * Pings a node on the connection that calls use.
   *
   * @param nanos the time-out. After the time-out, the connection is closed, so that the client
   *     reconnects; the node's machine may be down
   */
  CompletionStage<String> ping(Node node, long nanos);

  /**
   * A node.
   *
   * @param id the node's permanent name in the Cluster
   */
  record Node(String id, String host, int port) {

    /** Returns the address for messages and metrics. */
    String address() {
      return SafeText.printable(host) + ":" + port;
    }
  }
}
