// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import dev.sluice.replay.ReplayResult.Client;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;

/**
 * The clients of a log, with the number of requests and denials of each client. The number of
 * stored names is bounded. Once the table of names is full, only clients with a denial are added.
 * Not thread-safe.
 */
final class ClientCounts {

  static final int LISTED = 10;

  private final int most;
  private final Clients clients;
  // Clients that were first denied when `clients` was already full.
  private final Clients lateClients;
  private long[] requests = new long[1 << 8];
  private long[] denied = new long[1 << 8];
  // Requests that the limits deny although, by the log, the server replied without an error.
  private long[] served = new long[1 << 8];
  private long[] otherDenied = new long[1 << 8];

  ClientCounts(int most) {
    this.most = most;
    this.clients = new Clients(most);
    this.lateClients = new Clients(most);
  }

  /**
   * Returns the index of a client, which is added if it is new; {@link Clients#NONE} if the client
   * is new and the table is full.
   */
  int number(String name) {
    return withRoom(clients.number(name));
  }

  /**
   * Returns the index of a client that did not fit into the table of all clients. Only a client
   * with a denial gets an index; for any other client, the method returns {@link Clients#NONE}.
   */
  int lateNumber(String name, boolean isDenied) {
    int late = isDenied || lateClients.size() > 0 ? lateClients.find(name) : Clients.NONE;
    late = late < 0 && isDenied ? lateClients.number(name) : late;
    return late < 0 ? late : withRoom(most + late);
  }

  private int withRoom(int client) {
    if (client >= requests.length) {
      int size = Math.max(2 * requests.length, client + 1);
      requests = Arrays.copyOf(requests, size);
      denied = Arrays.copyOf(denied, size);
      served = Arrays.copyOf(served, size);
      otherDenied = Arrays.copyOf(otherDenied, size);
    }
    return client;
  }

  /**
   * Reads the count of a client, so that the processor fetches it early. The caller ignores the
   * returned count.
   */
  long touch(int client) {
    return client < 0 ? 0 : requests[client];
  }

  void count(int client, boolean isDenied, boolean wasServed, boolean otherDenies) {
    requests[client]++;
    if (isDenied || otherDenies) {
      denied[client] += isDenied ? 1 : 0;
      served[client] += isDenied && wasServed ? 1 : 0;
      otherDenied[client] += otherDenies ? 1 : 0;
    }
  }

  String name(int client) {
    return client < most ? clients.name(client) : lateClients.name(client - most);
  }

  /** Returns the number of clients, which is an estimate unless {@link #isExact}. */
  long distinct() {
    return clients.distinct();
  }

  boolean isExact() {
    return clients.isExact();
  }

  /**
   * Returns how many clients were denied a request by the limits in force ({@code byFirst}), by the
   * candidate ({@code bySecond}), or by both if both arguments are true.
   */
  long denied(boolean byFirst, boolean bySecond) {
    BitSet found = new BitSet();
    for (int i = 0; i < all(); i++) {
      if ((!byFirst || denied[i] > 0) && (!bySecond || otherDenied[i] > 0)) {
        found.set(i);
      }
    }
    return count(found);
  }

  /**
   * Returns the size of a set of denied clients; an estimate if the table cannot hold all denied
   * clients.
   */
  long count(BitSet numbers) {
    long early = numbers.get(0, most).cardinality();
    long late = numbers.cardinality() - early;
    return early
        + Math.round((double) late * lateClients.distinct() / Math.max(1, lateClients.size()));
  }

  private int all() {
    return clients.isExact() ? clients.size() : most + lateClients.size();
  }

  List<Client> mostDenied() {
    List<Client> found = new ArrayList<>();
    long least = 0; // the smallest count in the list
    for (int i = 0; i < all(); i++) {
      if (denied[i] > 0 && denied[i] >= least) {
        found.add(new Client(name(i), requests[i], denied[i], served[i]));
        if (found.size() > 100 * LISTED) {
          found = new ArrayList<>(most(found));
          least = found.get(LISTED - 1).denied();
        }
      }
    }
    return most(found);
  }

  /** Returns the clients with the most denied requests, the most denied first. */
  static List<Client> most(List<Client> clients) {
    return clients.stream().sorted(Client.MOST_DENIED).limit(LISTED).toList();
  }
}
