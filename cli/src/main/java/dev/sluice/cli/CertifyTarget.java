// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.UInt64Value;
import com.linecorp.armeria.client.ClientFactory;
import com.linecorp.armeria.client.ClientFactoryBuilder;
import com.linecorp.armeria.client.WebClient;
import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.RequestHeaders;
import com.linecorp.armeria.common.RequestHeadersBuilder;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.cli.Exit.ExitException;
import dev.sluice.cli.ServerClientOptions.Tls;
import dev.sluice.envoy.RateLimitDescriptor;
import dev.sluice.envoy.RateLimitDescriptor.RateLimitOverride;
import dev.sluice.envoy.RateLimitRequest;
import dev.sluice.envoy.RateLimitResponse;
import dev.sluice.envoy.RateLimitResponse.Code;
import dev.sluice.envoy.RateLimitResponse.DescriptorStatus;
import dev.sluice.envoy.RateLimitUnit;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.SafeText;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.MaintNotificationsConfig;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisCredentials;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SslOptions;
import io.lettuce.core.StaticCredentialsProvider;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.ArrayOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import io.lettuce.core.protocol.ProtocolVersion;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A connection to a limiter. Each thread needs its own connection, since a limiter can process the
 * requests of one connection one after the other.
 */
interface CertifyTarget extends AutoCloseable {

  Duration TIMEOUT = Duration.ofSeconds(5);

  /**
   * A decision of the limiter.
   *
   * @param remaining the remaining tokens; null if the protocol does not report them
   * @param retrySeconds the wait until the request would be allowed, in seconds, rounded up; -1 if
   *     the request was allowed or can never be allowed
   * @param resetSeconds the time until the bucket is full, in seconds, rounded up; null if the
   *     protocol does not report it
   */
  record Answer(
      boolean allowed, @Nullable Long remaining, long retrySeconds, @Nullable Long resetSeconds) {}

  /**
   * Spends from one bucket.
   *
   * @throws InputException if the limiter answers with an error
   * @throws ExitException if the limiter sent no answer, or an answer that cannot be parsed
   */
  Answer spend(String id, long cost, Quota quota);

  /** Spends one token of each of two ids, or no token; null if the protocol has no batches. */
  @Nullable Boolean spendBoth(String one, String other, Quota quota);

  /** Returns the limit that the limiter applies when the given limit is requested. */
  default Quota held(Quota asked) {
    return asked;
  }

  /** Whether a request with a cost of 0 spends no token and is allowed. */
  default boolean hasCostZero() {
    return true;
  }

  @Override
  void close();

  private static InputException refused(String answer) {
    return new InputException("the limiter answers " + SafeText.quote(answer));
  }

  private static ExitException unreadable(String what) {
    return new ExitException(Exit.BROKEN_INPUT, "unusable answer of the limiter: " + what, null);
  }

  private static ExitException away(Throwable e) {
    Throwable cause = e;
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    String message = cause.getMessage() == null ? cause.toString() : cause.getMessage();
    return cause instanceof RedisCommandExecutionException
        ? refused(message)
        : new ExitException(
            Exit.UNREACHABLE,
            "the limiter could not be reached: " + SafeText.printable(message),
            e);
  }

  /** A limiter that is called with {@code CL.THROTTLE} over the Redis protocol. */
  final class Throttle implements CertifyTarget {

    private static final ProtocolKeyword COMMAND =
        new ProtocolKeyword() {
          @Override
          public byte[] getBytes() {
            return toString().getBytes(StandardCharsets.US_ASCII);
          }

          @Override
          public String toString() {
            return "CL.THROTTLE";
          }
        };

    private final RedisClient client;
    private final StatefulRedisConnection<String, String> connection;

    Throttle(URI uri, @Nullable String token, Tls tls) {
      RedisURI server = RedisURI.create(uri);
      server.setTimeout(TIMEOUT);
      server.setLibraryName(""); // other limiters may not support CLIENT SETINFO
      server.setLibraryVersion("");
      if (token != null) {
        String user =
            uri.getUserInfo() == null ? "" : uri.getUserInfo().replaceFirst("(?s):.*", "");
        server.setCredentialsProvider(
            new StaticCredentialsProvider(
                RedisCredentials.just(user.isEmpty() ? null : user, token.toCharArray())));
      }
      SslOptions.Builder ssl = SslOptions.builder().jdkSslProvider().handshakeTimeout(TIMEOUT);
      if (tls.trust() != null) {
        ssl.trustManager(tls.trust());
      }
      if (tls.keys() != null) {
        ssl.keyManager(tls.keys());
      }
      client = RedisClient.create(server);
      client.setOptions(
          ClientOptions.builder()
              .autoReconnect(false)
              .pingBeforeActivateConnection(false)
              .protocolVersion(ProtocolVersion.RESP2)
              .maintNotificationsConfig(MaintNotificationsConfig.disabled())
              .timeoutOptions(TimeoutOptions.enabled(TIMEOUT))
              .sslOptions(ssl.build())
              .build());
      try {
        connection = connect(client);
      } catch (RedisException e) {
        client.shutdown(0, 0, TimeUnit.SECONDS);
        throw away(e);
      }
    }

    private static StatefulRedisConnection<String, String> connect(RedisClient client) {
      try {
        return client.connect(StringCodec.UTF8);
      } catch (RedisException e) {
        // If the password is refused, Lettuce closes the connection, and may report only the close.
        if (e.getCause() == null
            || !"Connection closed prematurely".equals(e.getCause().getMessage())) {
          throw e;
        }
        return client.connect(StringCodec.UTF8);
      }
    }

    @Override
    public Answer spend(String id, long cost, Quota quota) {
      CommandArgs<String, String> words =
          new CommandArgs<>(StringCodec.UTF8)
              .addKey("certify:" + id)
              .add(quota.burst() - 1)
              .add(quota.count())
              .add(quota.period().toSeconds())
              .add(cost);
      @Nullable List<Object> reply;
      try {
        reply = connection.sync().dispatch(COMMAND, new ArrayOutput<>(StringCodec.UTF8), words);
      } catch (RedisException e) {
        throw away(e);
      }
      if (reply == null || reply.size() != 5 || !reply.stream().allMatch(Long.class::isInstance)) {
        throw unreadable("expected an array of five integers");
      }
      List<Long> numbers = reply.stream().map(Long.class::cast).toList();
      return new Answer(numbers.get(0) == 0, numbers.get(2), numbers.get(3), numbers.get(4));
    }

    @Override
    public @Nullable Boolean spendBoth(String one, String other, Quota quota) {
      return null;
    }

    @Override
    public void close() {
      client.shutdown(0, 0, TimeUnit.SECONDS);
    }
  }

  /**
   * A limiter that is called with Envoy's rate limit protocol. Each descriptor contains a limit.
   */
  final class Envoy implements CertifyTarget {

    private static final String PATH =
        "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
    private static final int FRAME = 5;
    private static final Duration YEAR = Duration.ofDays(365);
    private static final Map<Duration, RateLimitUnit> UNITS =
        Map.of(
            Duration.ofSeconds(1),
            RateLimitUnit.SECOND,
            Duration.ofDays(1),
            RateLimitUnit.DAY,
            YEAR,
            RateLimitUnit.YEAR);

    private final ClientFactory connections;
    private final WebClient client;
    private final String domain;
    private final @Nullable String token;

    Envoy(URI uri, String domain, @Nullable String token, Tls tls) {
      ClientFactoryBuilder factory = ClientFactory.builder().connectTimeout(TIMEOUT);
      boolean encrypted = uri.getScheme().equals("grpcs");
      if (encrypted) {
        factory.tlsCustomizer(
            context -> {
              if (tls.trust() != null) {
                context.trustManager(tls.trust());
              }
              if (tls.keys() != null) {
                context.keyManager(tls.keys());
              }
            });
      }
      this.connections = factory.build();
      this.client =
          WebClient.builder("%s://%s".formatted(encrypted ? "h2" : "h2c", uri.getAuthority()))
              .factory(connections)
              .responseTimeout(TIMEOUT)
              .build();
      this.domain = domain;
      this.token = token;
    }

    /** Returns the limit in Envoy's terms: a number of requests per unit of time. */
    @Override
    public Quota held(Quota asked) {
      return asked.burst() == asked.count() && UNITS.containsKey(asked.period())
          ? asked
          : Quota.per(asked.burst(), YEAR);
    }

    /** Returns false: in Envoy's protocol, 0 hits check whether one token is left. */
    @Override
    public boolean hasCostZero() {
      return false;
    }

    private static RateLimitDescriptor.Builder descriptor(String id, Quota quota) {
      return RateLimitDescriptor.newBuilder()
          .addEntries(RateLimitDescriptor.Entry.newBuilder().setKey("remote_address").setValue(id))
          .setLimit(
              RateLimitOverride.newBuilder()
                  .setRequestsPerUnit((int) quota.burst())
                  .setUnit(UNITS.getOrDefault(quota.period(), RateLimitUnit.UNKNOWN)));
    }

    private RateLimitResponse ask(RateLimitDescriptor.Builder... descriptors) {
      RateLimitRequest.Builder request = RateLimitRequest.newBuilder().setDomain(domain);
      for (RateLimitDescriptor.Builder one : descriptors) {
        request.addDescriptors(one);
      }
      byte[] message = request.build().toByteArray();
      byte[] framed =
          ByteBuffer.allocate(FRAME + message.length)
              .put((byte) 0)
              .putInt(message.length)
              .put(message)
              .array();
      RequestHeadersBuilder headers =
          RequestHeaders.builder(HttpMethod.POST, PATH)
              .set("content-type", "application/grpc+proto")
              .set("te", "trailers");
      if (token != null) {
        headers.set("authorization", "Bearer " + token);
      }
      AggregatedHttpResponse response;
      try {
        response =
            client
                .execute(HttpRequest.of(headers.build(), HttpData.wrap(framed)))
                .aggregate()
                .join();
      } catch (CompletionException e) {
        throw away(e);
      }
      byte[] body = response.content().array();
      String status =
          response.trailers().get("grpc-status", response.headers().get("grpc-status", "0"));
      if (!response.status().equals(HttpStatus.OK)) {
        throw refused("HTTP status " + response.status());
      }
      if (!status.equals("0") || body.length < FRAME) {
        String why =
            response.trailers().get("grpc-message", response.headers().get("grpc-message", ""));
        throw refused("gRPC status " + status + " " + why);
      }
      try {
        return RateLimitResponse.parseFrom(ByteBuffer.wrap(body, FRAME, body.length - FRAME));
      } catch (InvalidProtocolBufferException e) {
        throw unreadable("expected a RateLimitResponse");
      }
    }

    @Override
    public Answer spend(String id, long cost, Quota quota) {
      RateLimitResponse response = ask(descriptor(id, quota).setHitsAddend(UInt64Value.of(cost)));
      if (response.getStatusesCount() != 1) {
        throw unreadable("expected one status for the one descriptor");
      }
      DescriptorStatus status = response.getStatuses(0);
      boolean allowed = status.getCode() == Code.OK;
      if (!status.hasCurrentLimit()) {
        throw unreadable(
            "found no limit; the server must allow limits in descriptors (--rls-overrides allow)");
      }
      com.google.protobuf.Duration reset = status.getDurationUntilReset();
      Long seconds =
          status.hasDurationUntilReset()
              ? Long.valueOf(reset.getSeconds() + (reset.getNanos() > 0 ? 1 : 0))
              : null;
      return allowed
          ? new Answer(true, Integer.toUnsignedLong(status.getLimitRemaining()), -1, seconds)
          : new Answer(false, null, seconds == null ? -1 : seconds, null);
    }

    @Override
    public Boolean spendBoth(String one, String other, Quota quota) {
      return ask(descriptor(one, quota), descriptor(other, quota)).getOverallCode() == Code.OK;
    }

    @Override
    public void close() {
      connections.close();
    }
  }

  /** A limiter that is called with the HTTP API of Sluice. The server's files define the limit. */
  final class Http implements CertifyTarget {
    private final ServerClient client;
    private final String limit;
    private @Nullable Quota held;

    Http(ServerClient client, String limit) {
      this.client = client;
      this.limit = limit;
    }

    @Override
    public Quota held(Quota asked) {
      if (held == null) {
        int low = ThreadLocalRandom.current().nextInt(1 << 16);
        String id = "198.18.%s.%s".formatted(low >> 8, low & 0xff);
        ActAnswer first = client.ask(Act.SPEND, limit, id, 1L, false);
        Long burst = first.burst();
        if (burst == null || first.remaining() != burst - 1) {
          throw new InputException(
              "--limit: expected a limit that applies to a new IP address and has a burst");
        }
        try {
          held = Quota.burst(burst).refill(1, Duration.ofNanos(first.resetInNanos()));
        } catch (IllegalArgumentException e) {
          throw unreadable(
              "no limit can have a burst of %s and a reset in %s ns after one token was spent"
                  .formatted(burst, first.resetInNanos()));
        }
      }
      return held;
    }

    @Override
    public Answer spend(String id, long cost, Quota quota) {
      ActAnswer answer = client.ask(Act.SPEND, limit, id, cost, false);
      return new Answer(
          answer.allowed(),
          answer.remaining(),
          answer.allowed() || answer.retryInNanos() == 0
              ? -1
              : CertifyCommand.seconds(answer.retryInNanos()),
          CertifyCommand.seconds(answer.resetInNanos()));
    }

    @Override
    public Boolean spendBoth(String one, String other, Quota quota) {
      return client.spendAll(limit, List.of(one, other)).allowed();
    }

    @Override
    public void close() {
      // The HTTP client closes idle connections by itself.
    }
  }
}
