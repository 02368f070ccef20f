// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.net.HostPort;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Sluice by each of its doors, a GCRA in Lua on a Redis, and limiters that are wrong. */
@Tag("slow")
final class CertifyCommandTest {

  /** Answers commands of one connection after the other's, each on a thread. */
  private static final class Server implements AutoCloseable {
    private final ServerSocket socket;

    Server(Function<List<String>, String> answer) throws IOException {
      this.socket = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
      daemon(
          () -> {
            while (!socket.isClosed()) {
              Socket client = socket.accept();
              daemon(() -> serve(client, answer));
            }
          });
    }

    private interface Task {
      void run() throws IOException;
    }

    private static void daemon(Task task) {
      Thread thread =
          new Thread(
              () -> {
                try {
                  task.run();
                } catch (IOException e) {
                  // The client or the server has gone.
                }
              });
      thread.setDaemon(true);
      thread.start();
    }

    private static void serve(Socket client, Function<List<String>, String> answer)
        throws IOException {
      try (client) {
        BufferedReader in =
            new BufferedReader(
                new InputStreamReader(client.getInputStream(), StandardCharsets.UTF_8));
        OutputStream out = client.getOutputStream();
        for (String head = in.readLine(); head != null; head = in.readLine()) {
          List<String> words = new ArrayList<>();
          for (int i = Integer.parseInt(head.substring(1)); i > 0; i--) {
            in.readLine();
            words.add(in.readLine());
          }
          out.write(answer.apply(words).getBytes(StandardCharsets.UTF_8));
        }
      }
    }

    String uri() {
      return "redis://" + HostPort.format((InetSocketAddress) socket.getLocalSocketAddress());
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }

  private static String reply(long... numbers) {
    StringBuilder reply = new StringBuilder("*5\r\n");
    for (long number : numbers) {
      reply.append(':').append(number).append("\r\n");
    }
    return reply.toString();
  }

  private static final String GCRA =
      """
      redis.replicate_commands()
      local burst, count, period, cost = ARGV[1] + 1, ARGV[2] + 0, ARGV[3] + 0, ARGV[4] + 0
      local t = redis.call('TIME')
      local now = t[1] * 1000000 + t[2]
      local interval = period * 1000000 / count
      local tat = math.max(now, tonumber(redis.call('GET', KEYS[1]) or now))
      local next = tat + interval * cost
      local wait = next - burst * interval - now
      local limited, retry = 0, -1
      if wait > 0 then
        limited = 1
        if cost <= burst then retry = math.ceil(wait / 1000000) end
      else
        tat = next
        redis.call('SET', KEYS[1], string.format('%.0f', tat), 'PX', math.ceil((tat - now) / 1000))
      end
      local left = math.floor((burst * interval - (tat - now)) / interval)
      return {limited, burst, left, retry, math.ceil((tat - now) / 1000000)}
      """;

  @Test
  void gcraInLua_passes() throws Exception {
    try (LocalRedis redis = LocalRedis.start(RedisBinary.bundled());
        Server server = new Server(words -> eval(redis, words))) {
      Cli run = Cli.run("certify", server.uri());
      assertThat(run.out()).endsWith("the limiter passes\n").contains("skipped a batch");
      assertThat(run.code()).isEqualTo(Exit.DONE);
    }
  }

  private static String eval(LocalRedis redis, List<String> words) {
    List<String> command = new ArrayList<>(List.of("EVAL", GCRA, "1"));
    command.addAll(words.subList(1, words.size()));
    List<?> reply = (List<?>) redis.command(command.toArray(String[]::new));
    return reply(reply.stream().mapToLong(number -> (Long) number).toArray());
  }

  @Test
  void sluice_passes_byEachOfItsDoors() throws Exception {
    String any = "127.0.0.1:0";
    try (CliProcess serve = CliProcess.start("serve", "--http", any, "--grpc", any, "--resp", any);
        BufferedReader err = serve.err()) {
      String line = err.readLine();
      while (line != null && !line.contains("listening")) {
        line = err.readLine();
      }
      List<String> targets =
          Pattern.compile("(http|redis|grpc)://[0-9.:]+")
              .matcher(String.valueOf(line))
              .results()
              .map(MatchResult::group)
              .toList();
      assertThat(targets).hasSize(3);
      for (String target : targets) {
        Cli run = Cli.run("certify", target, "--json");
        assertThat(run.out()).as(target + run.err()).contains("\"passed\":true");
        assertThat(run.code()).isEqualTo(Exit.DONE);
      }
    }
  }

  @Test
  void limiterThatCountsWithoutAWindow_fails_andSaysWhere() throws Exception {
    AtomicLong spent = new AtomicLong();
    try (Server server =
        new Server(
            words -> {
              long burst = Long.parseLong(words.get(2)) + 1;
              long taken = spent.addAndGet(Long.parseLong(words.get(5)));
              return reply(taken > burst ? 1 : 0, burst, Math.max(0, burst - taken), 1, 1);
            })) {
      Cli run = Cli.run("certify", server.uri(), "--json");
      assertThat(run.code()).isEqualTo(Exit.NO);
      assertThat(run.out())
          .contains("\"passed\":false", "\"outcome\":\"failed\"", "sequence ", "expected");
    }
  }

  @Test
  void limiterThatNeverDenies_fails() throws Exception {
    try (Server server = new Server(words -> reply(0, 7, 6, -1, 1))) {
      Cli run = Cli.run("certify", server.uri());
      assertThat(run.code()).isEqualTo(Exit.NO);
      assertThat(run.out()).contains("FAILED  never over", "FAILED  waits", "does not pass");
    }
  }

  @Test
  void targetThatIsNone_isTold() throws Exception {
    assertThat(Cli.run("certify", "nonsense").code()).isEqualTo(Exit.BROKEN_INPUT);
    int free;
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      free = socket.getLocalPort();
    }
    for (String scheme : List.of("redis", "grpc", "http")) {
      Cli run = Cli.run("certify", scheme + "://127.0.0.1:" + free);
      assertThat(run.code()).as(scheme + run.err()).isEqualTo(Exit.UNREACHABLE);
    }
    try (Server server = new Server(words -> "-ERR unknown command\r\n")) {
      Cli run = Cli.run("certify", server.uri());
      assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
      assertThat(run.err()).contains("-ERR unknown command");
    }
  }
}
