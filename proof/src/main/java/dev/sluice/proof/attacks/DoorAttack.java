// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.attacks;

import dev.sluice.proof.BrokenPromise;
import dev.sluice.proof.Connection;
import dev.sluice.proof.Endpoint;
import dev.sluice.proof.Http2Frames;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;

/** An attack of hostile clients on one protocol. Each attack lasts a few seconds. */
enum DoorAttack {
  FUZZ("fuzzed bytes") {
    @Override
    String run(Target target, Endpoint server)
        throws IOException, InterruptedException, BrokenPromise {
      Random random = new Random(SEED);
      long end = end(FUZZ_SECONDS);
      int connections = 0;
      while (System.nanoTime() - end < 0) {
        byte[] sent = fuzzed(target.samples(), random);
        byte[] answer =
            exchange(
                server, sent, FUZZ_PATIENCE_MILLIS, random.nextBoolean(), (bytes, size) -> false);
        String foreign = target.foreign(answer);
        if (!foreign.isEmpty()) {
          throw new BrokenPromise(
              "unexpected response \"%s\" to %s".formatted(foreign, Arrays.toString(sent)));
        }
        connections++;
      }
      return connections + " connections";
    }
  },
  SLOW("1,000 clients that send a byte now and then") {
    @Override
    String run(Target target, Endpoint server)
        throws IOException, InterruptedException, BrokenPromise {
      byte[] request = target.request();
      try (HostileConnections peers = new HostileConnections(server)) {
        List<HostileConnection> all = connected(peers, SLOW_CLIENTS, 1, server);
        long end = end(SECONDS);
        int sent = 0;
        for (; sent < request.length - 1 && System.nanoTime() - end < 0; sent++) {
          sendToIdle(all, new byte[] {request[sent]});
          var unused = peers.pump();
          Thread.sleep(SLOW_PAUSE_MILLIS);
        }
        return "%s bytes each".formatted(sent);
      }
    }
  },
  /**
   * Uses one thread, since more threads would use processor time that the server and the
   * well-behaved clients need.
   */
  FLOOD("64 clients that send without reading") {
    @Override
    String run(Target target, Endpoint server)
        throws IOException, InterruptedException, BrokenPromise {
      byte[] requests = many(target.request());
      try (HostileConnections peers = new HostileConnections(server)) {
        List<HostileConnection> all = connected(peers, FLOODING, 2, server);
        long end = end(SECONDS);
        peers.pumpAll(
            () -> {
              sendToIdle(all, requests);
              return System.nanoTime() - end > 0;
            });
        return String.format(
            Locale.ROOT, "%s connections, %,d bytes", peers.opened(), peers.sentBytes());
      }
    }
  },
  DEEP("deep nesting") {
    @Override
    String run(Target target, Endpoint server)
        throws IOException, InterruptedException, BrokenPromise {
      return refused(target, server, target.tooDeep());
    }
  },
  HUGE("huge lengths") {
    @Override
    String run(Target target, Endpoint server)
        throws IOException, InterruptedException, BrokenPromise {
      return refused(target, server, target.tooLong());
    }
  },
  HALF_CLOSED("500 clients that close their sending side after the request") {
    @Override
    String run(Target target, Endpoint server)
        throws IOException, InterruptedException, BrokenPromise {
      int answers = 0;
      for (int i = 0; i < HALF_CLOSING; i++) {
        try (Connection connection =
            server.connect(Endpoint.FIRST_HOSTILE_ADDRESS, PATIENCE_MILLIS)) {
          connection.write(target.request());
          connection.endOutput();
          target.readAnswer(connection);
          answers++;
        } catch (IOException e) {
          // With TLS, the server closes its side of the connection too (RFC 5246, 7.2.1).
          if (server.trust() == null || !isEnd(e)) {
            throw new BrokenPromise("the server sent no response: " + e);
          }
        }
      }
      return answers + " answers";
    }
  },
  IDLE("5,000 idle connections") {
    @Override
    String run(Target target, Endpoint server)
        throws IOException, InterruptedException, BrokenPromise {
      try (HostileConnections peers = new HostileConnections(server)) {
        var unused = connected(peers, IDLING, IDLE_ADDRESSES, server);
        Thread.sleep(SECONDS * MILLIS_PER_SECOND);
        return peers.opened() + " connections";
      }
    }
  };

  private static final long SEED = Long.getLong("attacks.seed", System.nanoTime());
  private static final long FUZZ_SECONDS = Long.getLong("attacks.fuzz", 60);
  private static final long SECONDS = Long.getLong("attacks.seconds", 8);
  private static final long NANOS_PER_SECOND = 1_000_000_000;
  private static final long MILLIS_PER_SECOND = 1_000;
  private static final int SLOW_CLIENTS = 1_000;
  private static final long SLOW_PAUSE_MILLIS = 100;
  private static final int FLOODING = 64;
  private static final int FLOOD_REQUESTS = 100;
  private static final int HALF_CLOSING = 500;
  private static final int IDLING = 5_000;
  private static final int IDLE_ADDRESSES = 5;
  private static final int FUZZ_PATIENCE_MILLIS = 50;
  private static final int MOST_FUZZ_ANSWER = 64 << 10;
  private static final int PATIENCE_MILLIS = 5_000;
  private static final List<String> SPLICES =
      List.of(
          "-1",
          "0",
          "9223372036854775807",
          "99999999999999999999",
          "1e300000000",
          "\r\n",
          "\0",
          "%00",
          "$-1");

  private final String text;

  DoorAttack(String text) {
    this.text = text;
  }

  String text() {
    return text;
  }

  /**
   * Returns the seed from which the fuzzed bytes are generated. To repeat a run, set the seed of
   * that run with {@code -Dattacks.seed}.
   */
  static long seed() {
    return SEED;
  }

  /**
   * Attacks a protocol and checks the responses.
   *
   * @return a summary of the requests that the attack sent
   */
  abstract String run(Target target, Endpoint server)
      throws IOException, InterruptedException, BrokenPromise;

  private static long end(long seconds) {
    return System.nanoTime() + seconds * NANOS_PER_SECOND;
  }

  private static String refused(Target target, Endpoint server, Map<String, byte[]> requests)
      throws IOException, BrokenPromise {
    for (Map.Entry<String, byte[]> request : requests.entrySet()) {
      byte[] answer = exchange(server, request.getValue(), PATIENCE_MILLIS, false, target::isWhole);
      String text = new String(answer, StandardCharsets.ISO_8859_1);
      if (!target.isError(text)) {
        throw new BrokenPromise(
            "unexpected response to %s: \"%s\""
                .formatted(request.getKey(), text.lines().findFirst().orElse("")));
      }
    }
    return String.join(", ", requests.keySet());
  }

  /** A condition under which the client stops reading a response. */
  @FunctionalInterface
  private interface Enough {
    boolean isRead(byte[] answer, int length);
  }

  /**
   * Sends bytes and reads the response.
   *
   * @param patienceMillis the time-out of each read
   * @param endsSide whether to close the sending side of the connection after the request
   * @param enough returns whether enough of the response was read
   */
  private static byte[] exchange(
      Endpoint server, byte[] bytes, int patienceMillis, boolean endsSide, Enough enough)
      throws IOException {
    byte[] answer = new byte[MOST_FUZZ_ANSWER];
    int length = 0;
    try (Connection connection = server.connect(Endpoint.FIRST_HOSTILE_ADDRESS, PATIENCE_MILLIS)) {
      connection.setPatience(patienceMillis);
      try {
        connection.write(bytes);
        if (endsSide) {
          connection.endOutput();
        }
      } catch (IOException e) {
        // The server closed the connection during the request, but can have sent a response first.
      }
      int more = connection.readSome(answer, 0);
      while (more > 0) {
        length += more;
        more =
            length == answer.length || enough.isRead(answer, length)
                ? 0
                : connection.readSome(answer, length);
      }
    } catch (SocketTimeoutException e) {
      // No more bytes can be read from the connection.
    } catch (IOException e) {
      if (length == 0 && !isEnd(e)) {
        throw e;
      }
    }
    return Arrays.copyOf(answer, length);
  }

  /**
   * Returns whether a failure means that the server closed the connection. If the server closes a
   * connection, a TLS socket throws an exception, and a plain socket returns the end of the stream.
   */
  private static boolean isEnd(IOException failure) {
    String message = String.valueOf(failure.getMessage());
    return Stream.of("reset", "inbound has closed", "closed without a response")
        .anyMatch(message::contains);
  }

  /** Returns valid requests with random changes, or random bytes. */
  private static byte[] fuzzed(List<byte[]> samples, Random random) {
    byte[][] parts = new byte[1 + random.nextInt(4)][];
    for (int i = 0; i < parts.length; i++) {
      byte[] sample = samples.get(random.nextInt(samples.size())).clone();
      parts[i] =
          switch (random.nextInt(6)) {
            case 0 -> noise(random);
            case 1 -> Arrays.copyOf(sample, random.nextInt(sample.length));
            case 2 -> spliced(sample, random, noise(random));
            case 3 ->
                spliced(
                    sample, random, Connection.ascii(SPLICES.get(random.nextInt(SPLICES.size()))));
            default -> flipped(sample, random);
          };
    }
    return Http2Frames.joined(parts);
  }

  private static byte[] noise(Random random) {
    byte[] noise = new byte[random.nextInt(64)];
    random.nextBytes(noise);
    return noise;
  }

  private static byte[] spliced(byte[] sample, Random random, byte[] more) {
    int at = random.nextInt(sample.length);
    return Http2Frames.joined(
        Arrays.copyOf(sample, at), more, Arrays.copyOfRange(sample, at, sample.length));
  }

  private static byte[] flipped(byte[] sample, Random random) {
    for (int i = random.nextInt(8); i >= 0; i--) {
      sample[random.nextInt(sample.length)] ^= (byte) (1 << random.nextInt(8));
    }
    return sample;
  }

  /**
   * Opens connections from several addresses. Throws if the server refuses so many connections that
   * the attack cannot be run.
   */
  private static List<HostileConnection> connected(
      HostileConnections peers, int count, int addresses, Endpoint server)
      throws IOException, BrokenPromise {
    List<HostileConnection> all = peers.connectAll(count, addresses, server.protocol());
    if (peers.refused() > count / 10) {
      throw new BrokenPromise("not tried: %s connections were refused".formatted(peers.refused()));
    }
    return all;
  }

  private static void sendToIdle(List<HostileConnection> peers, byte[] bytes) {
    for (HostileConnection peer : peers) {
      if (peer.isIdle() && !peer.isBroken()) {
        peer.send(bytes);
      }
    }
  }

  private static byte[] many(byte[] request) {
    byte[][] all = new byte[FLOOD_REQUESTS][];
    Arrays.fill(all, request);
    return Http2Frames.joined(all);
  }
}
