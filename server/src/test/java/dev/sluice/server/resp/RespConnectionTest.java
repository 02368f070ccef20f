// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import dev.sluice.Limiter;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.Limits;
import dev.sluice.server.access.Access;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.access.Permission;
import dev.sluice.server.net.ConnectionBudget;
import dev.sluice.server.resp.Command.CommandTable;
import dev.sluice.server.stats.Denials;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import io.micrometer.core.instrument.composite.CompositeMeterRegistry;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import java.lang.ProcessBuilder.Redirect;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What a connection holds, and for how long, where its client reads as the test wants. */
final class RespConnectionTest {

  private static final int BUDGET = 16 << 20;
  private static final String ECHO = "*2\r\n$4\r\nECHO\r\n$16000\r\n" + "x".repeat(16_000) + "\r\n";

  private static final int THROTTLES = 500; // of a read
  private static final long MOST_BYTES_OF_A_READ = 2 * THROTTLES;
  private static final int MOST_READS = 100_000;
  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  /** One request that waits for the store. */
  private final CompletableFuture<String> stored = new CompletableFuture<>();

  private final CommandTable commands = commands();
  private final ConnectionBudget traffic =
      new ConnectionBudget(BUDGET, 1_000, 1_000, Duration.ofSeconds(20));
  private final Wire wire = new Wire();
  private final RespConnection connection = connect(wire, commands);

  /** A network that takes as many buffers as it is told. */
  private static final class Wire extends EmbeddedChannel {
    private int room = Integer.MAX_VALUE;
    private int flushes; // each is a system call on a real network

    @Override
    protected void doWrite(ChannelOutboundBuffer in) {
      flushes++;
      for (; room > 0 && in.current() instanceof ByteBuf bytes; room--) {
        outboundMessages().add(bytes.retain());
        in.remove();
      }
    }

    void takes(int buffers) {
      room = buffers;
      flush();
      runPendingTasks();
    }

    void sends(String bytes) {
      writeInbound(Unpooled.copiedBuffer(bytes, StandardCharsets.ISO_8859_1));
    }

    long unsentBytes() {
      return unsafe().outboundBuffer().totalPendingWriteBytes();
    }

    String taken() {
      StringBuilder all = new StringBuilder();
      for (ByteBuf next = readOutbound(); next != null; next = readOutbound()) {
        all.append(next.toString(StandardCharsets.ISO_8859_1));
        next.release();
      }
      return all.toString();
    }
  }

  private CommandTable commands() {
    ConnectionCommands connection = new ConnectionCommands("1.2.3", () -> "");
    List<Command> all = new ArrayList<>(connection.all());
    all.add(
        Command.of(
            "SLUICE.CHECK limit id",
            Permission.DECIDE,
            "Waits for the store",
            (request, session) ->
                session.replies().later(stored, (text, writer) -> writer.simple(text))));
    CommandTable table = new CommandTable(all);
    connection.table(table);
    return table;
  }

  private RespConnection connect(Wire channel, CommandTable table) {
    Access access = Access.open(AuditLog.none(), new CompositeMeterRegistry(), null, true);
    RespConnection made =
        traffic.admit(
            channel, client -> new RespConnection(client, table, access, 1, Long.MAX_VALUE));
    channel.pipeline().addLast(made);
    return made;
  }

  @AfterEach
  void close() {
    wire.finishAndReleaseAll();
  }

  private long calls(String command) {
    return commands.all().stream()
        .filter(one -> one.name().equals(command))
        .mapToLong(Command::calls)
        .sum();
  }

  @Test
  void usualRequestsBehindOneThatWaits_areRead_upTo1024() {
    wire.sends("SLUICE.CHECK l i\r\n" + "PING\r\n".repeat(2_000));
    assertThat(calls("PING")).isEqualTo(1_023);
    stored.complete("OK");
    wire.runPendingTasks();
    assertThat(wire.taken()).isEqualTo("+OK\r\n" + "+PONG\r\n".repeat(2_000));
  }

  @Test
  void largeRequestsBehindOneThatWaits_countByWhatTheyHold() {
    wire.sends("SLUICE.CHECK l i\r\n");
    for (int i = 0; i < 100; i++) {
      wire.sends(ECHO);
    }
    assertThat(calls("ECHO")).isLessThan(40);
  }

  @Test
  void requestsOfManyParts_countThemToo() {
    wire.sends("SLUICE.CHECK l i\r\n");
    for (int i = 0; i < 100; i++) {
      wire.sends("COMMAND INFO" + " x".repeat(1_000) + "\r\n");
    }
    assertThat(calls("COMMAND")).isLessThan(10);
  }

  @Test
  void knownReplies_areWrittenAsTheyAreRead() {
    wire.takes(0);
    wire.sends("SLUICE.CHECK l i\r\n" + "COMMAND DOCS\r\n".repeat(1_000));
    stored.complete("OK");
    wire.runPendingTasks();
    assertThat(wire.unsentBytes()).isLessThan(128 << 10);

    wire.takes(Integer.MAX_VALUE);

    assertThat(wire.taken().split("client setname|cluster", -1)).hasSizeGreaterThan(1_000);
    assertThat(wire.unsentBytes()).isZero();
  }

  /** A system call for each reply would cost more than the decision. */
  @Test
  void repliesOfOneRead_leaveInOneWrite() {
    wire.sends("PING\r\nECHO hello\r\nPING\r\n".repeat(100) + "NOSUCH\r\n");
    assertThat(wire.flushes).isOne();
    assertThat(wire.outboundMessages()).hasSize(1);
    assertThat(wire.taken())
        .startsWith("+PONG\r\n$5\r\nhello\r\n+PONG\r\n")
        .contains("-ERR unknown command 'NOSUCH'");

    wire.sends("PING\r\n");
    assertThat(wire.flushes).as("another read").isEqualTo(2);
  }

  @Test
  void repliesThatWaitedForTheStore_leaveInOneWrite() {
    wire.sends("SLUICE.CHECK l i\r\n" + "PING\r\n".repeat(100));
    assertThat(wire.flushes).isZero();
    stored.complete("OK");
    wire.runPendingTasks();
    assertThat(wire.flushes).isOne();
    assertThat(wire.taken()).isEqualTo("+OK\r\n" + "+PONG\r\n".repeat(100));
  }

  /** Otherwise one read could make the server hold all that it asks for. */
  @Test
  void repliesOfOneRead_beyond32KiB_leaveInSeveralWrites() {
    wire.sends(ECHO.repeat(10)); // 16,010 bytes each
    List<Integer> sizes = new ArrayList<>();
    for (Object one : wire.outboundMessages()) {
      sizes.add(((ByteBuf) one).readableBytes());
    }
    assertThat(sizes).containsExactly(3 * 16_010, 3 * 16_010, 3 * 16_010, 16_010);
    assertThat(wire.flushes).isEqualTo(4);
  }

  /**
   * One object more for each command would be 16 bytes at least. What a read costs (a buffer, a
   * write) its commands share. Slow, and in a JVM of its own: only the JVM's second compiler, which
   * other tests do without, leaves objects out.
   */
  @Tag("slow")
  @Test
  void throttlesOfOneRead_makeNoObjectsOfTheirOwn() throws Exception {
    List<String> command =
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Xbatch", // else the order of compilations on a busy machine decides what is inlined
            "-cp",
            System.getProperty("java.class.path"),
            LeastAllocated.class.getName());
    Process measured = new ProcessBuilder(command).redirectError(Redirect.INHERIT).start();
    String least = new String(measured.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
    assertThat(Long.parseLong(least.strip())).isLessThanOrEqualTo(MOST_BYTES_OF_A_READ);
  }

  /** Prints the bytes that a read of throttles allocates once it is compiled. */
  static final class LeastAllocated {
    private LeastAllocated() {}

    public static void main(String[] args) {
      Limits none = Limits.builder(Catalogue.samples()).build();
      Limiter limiter = Limiter.of(none, BucketStore.inMemory(new ManualTime()));
      RespConnectionTest test = new RespConnectionTest();
      Wire measured = new Wire();
      var unused =
          test.connect(
              measured, new CommandTable(new ThrottleCommands(limiter, Denials.none()).all()));
      byte[] read = throttles().getBytes(StandardCharsets.US_ASCII);
      long least = Long.MAX_VALUE;
      for (int i = 0; i < MOST_READS && least > MOST_BYTES_OF_A_READ; i++) {
        least = Math.min(least, allocatedBy(measured, Unpooled.wrappedBuffer(read)));
      }
      measured.finishAndReleaseAll();
      System.out.println(least);
    }
  }

  private static String throttles() {
    StringBuilder read = new StringBuilder();
    for (int i = 0; i < THROTTLES; i++) {
      read.append("*5\r\n$11\r\nCL.THROTTLE\r\n$5\r\nkey").append(10 + i % 90).append("\r\n");
      read.append("$2\r\n99\r\n$4\r\n1000\r\n$1\r\n1\r\n");
    }
    return read.toString();
  }

  /** The bytes that this thread, which is the connection's, allocates for a read. */
  private static long allocatedBy(Wire wire, ByteBuf read) {
    long before = THREADS.getCurrentThreadAllocatedBytes();
    wire.writeInbound(read);
    long allocated = THREADS.getCurrentThreadAllocatedBytes() - before;
    assertThat(wire.taken()).hasSizeGreaterThan(20 * THROTTLES);
    return allocated;
  }

  @Test
  void aClientThatStreams_isNotLate_whileItsRequestsAreCompleted() {
    wire.sends("PING\r\nPI");
    long before = System.nanoTime();
    wire.sends("NG\r\nPI");
    assertThat(connection.waitsForClientNanos(before)).isNotPositive();
  }

  @Test
  void aRequestThatTricklesIn_isAsOldAsItsFirstByte() {
    wire.sends("PING\r\nPI");
    long before = System.nanoTime();
    wire.sends("N");
    assertThat(connection.waitsForClientNanos(before)).isPositive();
  }

  @Test
  void aClientThatReadsAllThatWaited_isNotLate_whileMoreIsWritten() {
    wire.takes(0);
    wire.sends("PING\r\n");
    long before = System.nanoTime();
    wire.sends("PING\r\n");
    wire.takes(1);
    assertThat(wire.unsentBytes()).isPositive();
    assertThat(connection.waitsForClientNanos(before)).isNotPositive();
  }

  /** Neither a part of what waits nor a new request is progress. */
  @Test
  void aClientThatReadsNowAndThen_isAsLateAsItsOldestReplies() {
    wire.takes(0);
    wire.sends("PING\r\n");
    wire.sends("PING\r\n");
    wire.sends("PING\r\n");
    wire.takes(1);
    long before = System.nanoTime();
    wire.takes(1);
    wire.sends("PING\r\n");
    assertThat(connection.waitsForClientNanos(before)).isPositive();
  }

  @Test
  void aClientThatHasReadAll_isWaitedForNoMore() {
    wire.takes(0);
    wire.sends("PING\r\n");
    assertThat(connection.isIdle()).isFalse();
    wire.takes(1);
    assertThat(connection.waitsForClientNanos(System.nanoTime())).isZero();
    assertThat(connection.isIdle()).isTrue();
  }

  /** Otherwise the budget would grow with each of them. */
  @Test
  void aClientThatGoesBeforeItReads_isGivenBackOnce() {
    for (int i = 0; i < 200; i++) {
      Wire gone = new Wire();
      var unused = connect(gone, commands);
      gone.takes(0);
      gone.sends(ECHO.repeat(3));
      gone.finishAndReleaseAll();
    }
    wire.takes(0);
    wire.sends("SLUICE.CHECK l i\r\n");
    for (int i = 0; i < 400 && wire.isActive(); i++) {
      wire.sends(ECHO);
    }
    wire.runPendingTasks();
    assertThat(wire.isActive()).isFalse(); // it holds more than a client may
  }

  /** The network tells both at once, before the connection has gone on. */
  @Test
  void aClientThatEndsItsSide_whenThereIsRoomAgain_getsAllReplies() {
    wire.pipeline()
        .addFirst(
            new ChannelInboundHandlerAdapter() {
              @Override
              public void channelWritabilityChanged(ChannelHandlerContext ctx) {
                ctx.fireChannelWritabilityChanged();
                ctx.fireUserEventTriggered(ChannelInputShutdownEvent.INSTANCE);
              }
            });
    wire.takes(0);
    wire.sends("COMMAND DOCS\r\n".repeat(100));
    assertThat(calls("COMMAND")).isLessThan(100);
    wire.takes(Integer.MAX_VALUE);
    assertThat(calls("COMMAND")).isEqualTo(100);
    assertThat(wire.isActive()).isFalse();
  }
}
