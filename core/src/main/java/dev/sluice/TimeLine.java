// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/*
 * Many ends on one time line, moved together.
 *
 * The stretches of a bucket lie on its time line in the order of their spends. A refund moves all
 * that lie behind it by the same amount, and there may be a hundred thousand of them. So each node
 * of a balanced tree in that order (a treap) has two sums: `shift`, its own, and `add`, which
 * counts for it and for everything below it. The shift of a node is its own plus every `add` on the
 * way to the root. To move a suffix touches one way to the root; so do inserting, removing and
 * looking.
 *
 * A node whose refund is in flight also has a slack: by how much it may be moved before that refund
 * would give too much back. A move of the node takes from its slack. `least` is the least slack of
 * a subtree, its `add` included.
 */

/** Nodes in order, of which every suffix can be shifted in logarithmic time. Not thread-safe. */
final class TimeLine {

  /** The slack of a node that has none to watch: more than any shift, and safe to add to. */
  static final long FREE = Long.MAX_VALUE / 2;

  private @Nullable Node root;
  private int lastPriority = 1;

  /** An entry on the line. */
  abstract static class Node {
    private @Nullable Node parent;
    private @Nullable Node left;
    private @Nullable Node right;
    private int priority;
    private long shift;
    private long add;
    private long slack = FREE;
    private long least = FREE;

    private void move(long nanos) {
      shift += nanos;
      if (slack != FREE) {
        slack += nanos;
      }
    }

    private void push() {
      if (add != 0) {
        move(add);
        addTo(left, add);
        addTo(right, add);
        add = 0;
      }
    }

    private void pull() {
      least = add + Math.min(slack, Math.min(leastOf(left), leastOf(right)));
    }
  }

  private static void addTo(@Nullable Node node, long nanos) {
    if (node != null) {
      node.add += nanos;
      node.least += nanos;
    }
  }

  private static long leastOf(@Nullable Node node) {
    return node == null ? FREE : node.least;
  }

  @Nullable Node first() {
    Node at = root;
    while (at != null && at.left != null) {
      at = at.left;
    }
    return at;
  }

  @Nullable Node last() {
    Node at = root;
    while (at != null && at.right != null) {
      at = at.right;
    }
    return at;
  }

  /** Returns the node behind one, null for the last. */
  @Nullable Node after(Node node) {
    Node at = node.right;
    if (at != null) {
      while (at.left != null) {
        at = at.left;
      }
      return at;
    }
    Node child = node;
    for (at = node.parent; at != null && at.right == child; at = at.parent) {
      child = at;
    }
    return at;
  }

  /** Returns by how much a node was moved. */
  long shiftOf(Node node) {
    long shift = node.shift;
    for (Node at = node; at != null; at = at.parent) {
      shift += at.add;
    }
    return shift;
  }

  /**
   * Inserts a node that stands on no line.
   *
   * @param precedes whether a node comes before it; true for a prefix of the line
   */
  void insert(Node node, long shift, Predicate<Node> precedes) {
    Node above = null;
    Node at = root;
    boolean right = false;
    while (at != null) {
      at.push();
      above = at;
      right = precedes.test(at);
      at = right ? at.right : at.left;
    }
    node.parent = above;
    node.shift = shift;
    node.slack = FREE;
    node.priority = nextPriority();
    node.pull();
    if (above == null) {
      root = node;
    } else if (right) {
      above.right = node;
    } else {
      above.left = node;
    }
    for (Node up = node.parent; up != null && up.priority < node.priority; up = node.parent) {
      rotateUp(node, up);
    }
    pullAbove(node);
  }

  private int nextPriority() {
    int x = lastPriority; // xorshift: what matters is that no order of insertion makes a list
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    lastPriority = x;
    return x;
  }

  /** Puts a node in the place of its parent. Both have passed on what they had to add. */
  private void rotateUp(Node node, Node parent) {
    Node above = parent.parent;
    if (parent.left == node) {
      parent.left = node.right;
      adopt(parent, parent.left);
      node.right = parent;
    } else {
      parent.right = node.left;
      adopt(parent, parent.right);
      node.left = parent;
    }
    parent.parent = node;
    replace(above, parent, node);
    parent.pull();
    node.pull();
  }

  private static void adopt(Node parent, @Nullable Node child) {
    if (child != null) {
      child.parent = parent;
    }
  }

  private void replace(@Nullable Node above, Node child, @Nullable Node by) {
    if (by != null) {
      by.parent = above;
    }
    if (above == null) {
      root = by;
    } else if (above.left == child) {
      above.left = by;
    } else {
      above.right = by;
    }
  }

  private static void pullAbove(Node node) {
    for (Node up = node.parent; up != null; up = up.parent) {
      up.pull();
    }
  }

  void remove(Node node) {
    node.push();
    while (node.left != null && node.right != null) {
      Node up = node.left.priority > node.right.priority ? node.left : node.right;
      up.push();
      rotateUp(up, node);
    }
    replace(node.parent, node, node.left != null ? node.left : node.right);
    pullAbove(node);
    node.parent = null;
    node.left = null;
    node.right = null;
  }

  void shiftAll(long nanos) {
    addTo(root, nanos);
  }

  /** Shifts all that come after a node of the line. */
  void shiftAfter(Node node, long nanos) {
    addTo(node.right, nanos);
    node.pull();
    Node child = node;
    for (Node up = node.parent; up != null; up = up.parent) {
      if (up.left == child) {
        up.move(nanos);
        addTo(up.right, nanos);
      }
      up.pull();
      child = up;
    }
  }

  /**
   * Shifts a suffix of the line.
   *
   * @param isInside whether a node belongs to it; false for the nodes before it
   */
  void shiftFrom(Predicate<Node> isInside, long nanos) {
    Node deepest = null;
    Node at = root;
    while (at != null) {
      deepest = at;
      boolean inside = isInside.test(at);
      if (inside) {
        at.move(nanos);
        addTo(at.right, nanos);
      }
      at = inside ? at.left : at.right;
    }
    if (deepest != null) {
      deepest.pull();
      pullAbove(deepest);
    }
  }

  /** Says by how much a node may still be moved up, counted from now. */
  void watch(Node node, long slackNanos) {
    long adds = shiftOf(node) - node.shift;
    node.slack = slackNanos - adds;
    node.pull();
    pullAbove(node);
  }

  /** Returns the least slack of all nodes, {@link #FREE} or about as much where none is watched. */
  long leastSlack() {
    return leastOf(root);
  }

  /** Returns the least slack of the nodes that come after one. */
  long leastSlackAfter(Node node) {
    long least = leastOf(node.right) + node.add;
    Node child = node;
    for (Node up = node.parent; up != null; up = up.parent) {
      if (up.left == child) {
        least = Math.min(least, Math.min(up.slack, leastOf(up.right)));
      }
      least += up.add;
      child = up;
    }
    return least;
  }
}
