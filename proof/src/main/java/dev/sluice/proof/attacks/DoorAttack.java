// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.attacks;

import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;

/** Acts of hostile clients on one door, for some seconds. */
enum DoorAttack {
  FUZZ("fuzzed bytes") {
    @Override
    String run(Door door, Wire wire) throws IOException, InterruptedException {
      Random random = new Random(SEED);
      long end = end(FUZZ_SECONDS);
      int connections = 0;
      while (System.nanoTime() - end < 0) {
        byte[] sent = fuzzed(door.samples(), random);
        byte[] answer =
            exchange(
                wire, sent, FUZZ_PATIENCE_MILLIS, random.nextBoolean(), (bytes, size) -> false);
        String foreign = door.foreign(answer);
        if (!foreign.isEmpty()) {
          throw new BrokenPromise(
              "answered \"%s\" to %s".formatted(foreign, Arrays.toString(sent)));
        }
        connections++;
      }
      return connections + " connections";
    }
  },
  SLOW("1,000 clients that send a byte now and then") {
    @Override
    String run(Door door, Wire wire) throws IOException, InterruptedException {
      byte[] request = door.request();
      try (Peers peers = new Peers(wire)) {
        List<Peer> all = connected(peers, SLOW_CLIENTS, 1, wire);
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
  /** One thread: many would take the processors from the server and from the good clients. */
  FLOOD("64 clients that send without reading") {
    @Override
    String run(Door door, Wire wire) throws IOException, InterruptedException {
      byte[] requests = many(door.request());
      try (Peers peers = new Peers(wire)) {
        List<Peer> all = connected(peers, FLOODING, 2, wire);
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
    String run(Door door, Wire wire) throws IOException, InterruptedException {
      return refused(door, wire, door.tooDeep());
    }
  },
  HUGE("huge lengths") {
    @Override
    String run(Door door, Wire wire) throws IOException, InterruptedException {
      return refused(door, wire, door.tooLong());
    }
  },
  HALF_CLOSED("500 clients that end their side after the request") {
    @Override
    String run(Door door, Wire wire) throws IOException, InterruptedException {
      int answers = 0;
      for (int i = 0; i < HALF_CLOSING; i++) {
        try (Socket socket = wire.connect(Attack.FIRST_ADDRESS)) {
          socket.getOutputStream().write(door.request());
          socket.shutdownOutput();
          door.readAnswer(socket.getInputStream());
          answers++;
        } catch (IOException e) {
          // The server closes its side of a TLS connection as well (RFC 5246, 7.2.1).
          if (wire.tls() == null || !isEnd(e)) {
            throw new BrokenPromise("no answer: " + e);
          }
        }
      }
      return answers + " answers";
    }
  },
  IDLE("5,000 idle connections") {
    @Override
    String run(Door door, Wire wire) throws IOException, InterruptedException {
      try (Peers peers = new Peers(wire)) {
        var unused = connected(peers, IDLING, IDLE_ADDRESSES, wire);
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

  /** The seed of the fuzzed bytes, to be given again as {@code -Dattacks.seed}. */
  static long seed() {
    return SEED;
  }

  /**
   * Attacks, and checks the answers.
   *
   * @return what was done
   */
  abstract String run(Door door, Wire wire) throws IOException, InterruptedException;

  /** An answer that must not be. */
  static final class BrokenPromise extends IOException {
    private static final long serialVersionUID = 1;

    BrokenPromise(String what) {
      super(what);
    }
  }

  private static long end(long seconds) {
    return System.nanoTime() + seconds * NANOS_PER_SECOND;
  }

  private static String refused(Door door, Wire wire, Map<String, byte[]> requests)
      throws IOException {
    for (Map.Entry<String, byte[]> request : requests.entrySet()) {
      byte[] answer = exchange(wire, request.getValue(), PATIENCE_MILLIS, false, door::isWhole);
      String text = new String(answer, StandardCharsets.ISO_8859_1);
      if (!door.isError(text)) {
        throw new BrokenPromise(
            "%s was answered \"%s\""
                .formatted(request.getKey(), text.lines().findFirst().orElse("")));
      }
    }
    return String.join(", ", requests.keySet());
  }

  /** Says when enough of an answer was read. */
  @FunctionalInterface
  private interface Enough {
    boolean isRead(byte[] answer, int length);
  }

  /**
   * Sends bytes, and reads what comes back.
   *
   * @param patienceMillis how long to wait for each part of the answer
   * @param endsSide whether to end the sending side as a client does that asks nothing more
   * @param enough ends the reading
   */
  private static byte[] exchange(
      Wire wire, byte[] bytes, int patienceMillis, boolean endsSide, Enough enough)
      throws IOException {
    byte[] answer = new byte[MOST_FUZZ_ANSWER];
    int length = 0;
    try (Socket socket = wire.connect(Attack.FIRST_ADDRESS)) {
      socket.setSoTimeout(patienceMillis);
      try {
        socket.getOutputStream().write(bytes);
        if (endsSide) {
          socket.shutdownOutput();
        }
      } catch (IOException e) {
        // the server hung up amid the request; it may have answered
      }
      InputStream in = socket.getInputStream();
      int more = in.read(answer);
      while (more > 0) {
        length += more;
        more =
            length == answer.length || enough.isRead(answer, length)
                ? 0
                : in.read(answer, length, answer.length - length);
      }
    } catch (SocketTimeoutException e) {
      // no more comes
    } catch (IOException e) {
      if (length == 0 && !isEnd(e)) {
        throw e;
      }
    }
    return Arrays.copyOf(answer, length);
  }

  /** A TLS socket throws where a plain one tells the end: the server was the first to close. */
  private static boolean isEnd(IOException failure) {
    String message = String.valueOf(failure.getMessage());
    return Stream.of("reset", "inbound has closed", "closed without an answer")
        .anyMatch(message::contains);
  }

  /** Good requests with something wrong, or nothing good at all. */
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
                spliced(sample, random, Door.ascii(SPLICES.get(random.nextInt(SPLICES.size()))));
            default -> flipped(sample, random);
          };
    }
    return Http2.joined(parts);
  }

  private static byte[] noise(Random random) {
    byte[] noise = new byte[random.nextInt(64)];
    random.nextBytes(noise);
    return noise;
  }

  private static byte[] spliced(byte[] sample, Random random, byte[] more) {
    int at = random.nextInt(sample.length);
    return Http2.joined(
        Arrays.copyOf(sample, at), more, Arrays.copyOfRange(sample, at, sample.length));
  }

  private static byte[] flipped(byte[] sample, Random random) {
    for (int i = random.nextInt(8); i >= 0; i--) {
      sample[random.nextInt(sample.length)] ^= (byte) (1 << random.nextInt(8));
    }
    return sample;
  }

  /** Opens connections from some addresses; an attack of which many are refused is not tried. */
  private static List<Peer> connected(Peers peers, int count, int addresses, Wire wire)
      throws IOException {
    List<Peer> all = peers.connectAll(count, addresses, wire.protocol());
    if (peers.refused() > count / 10) {
      throw new BrokenPromise("not tried: %s were refused".formatted(peers.refused()));
    }
    return all;
  }

  private static void sendToIdle(List<Peer> peers, byte[] bytes) {
    for (Peer peer : peers) {
      if (peer.isIdle() && !peer.isBroken()) {
        peer.send(bytes);
      }
    }
  }

  private static byte[] many(byte[] request) {
    byte[][] all = new byte[FLOOD_REQUESTS][];
    Arrays.fill(all, request);
    return Http2.joined(all);
  }
}
