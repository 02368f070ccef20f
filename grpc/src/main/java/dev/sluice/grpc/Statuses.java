// SPDX-License-Identifier: Apache-2.0
package dev.sluice.grpc;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.RetryInfo;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import java.time.Duration;
import java.util.Objects;

/** Maps gRPC statuses to HTTP statuses, and reads and writes waits in gRPC metadata. */
final class Statuses {

  /** The metadata key of the wait for gRPC's own retries, in milliseconds. */
  static final Metadata.Key<String> PUSHBACK =
      Metadata.Key.of("grpc-retry-pushback-ms", Metadata.ASCII_STRING_MARSHALLER);

  private static final long NANOS_PER_MILLI = 1_000_000;

  private Statuses() {}

  /** Returns the HTTP status of a gRPC status by google.rpc.Code, for conditional rules. */
  static int http(Status status) {
    return switch (status.getCode()) {
      case OK -> 200;
      case INVALID_ARGUMENT, FAILED_PRECONDITION, OUT_OF_RANGE -> 400;
      case UNAUTHENTICATED -> 401;
      case PERMISSION_DENIED -> 403;
      case NOT_FOUND -> 404;
      case ALREADY_EXISTS, ABORTED -> 409;
      case RESOURCE_EXHAUSTED -> 429;
      case CANCELLED -> 499;
      case UNIMPLEMENTED -> 501;
      case UNAVAILABLE -> 503;
      case DEADLINE_EXCEEDED -> 504;
      case UNKNOWN, INTERNAL, DATA_LOSS -> 500;
    };
  }

  /** Returns trailers with a {@link RetryInfo}, which tells the client to wait. */
  static Metadata waitFor(Duration wait, Status status) {
    RetryInfo info =
        RetryInfo.newBuilder()
            .setRetryDelay(
                com.google.protobuf.Duration.newBuilder()
                    .setSeconds(wait.toSeconds())
                    .setNanos(wait.toNanosPart()))
            .build();
    com.google.rpc.Status details =
        com.google.rpc.Status.newBuilder()
            .setCode(status.getCode().value())
            .setMessage(Objects.requireNonNullElse(status.getDescription(), ""))
            .addDetails(Any.pack(info))
            .build();
    Metadata trailers =
        Objects.requireNonNull(StatusProto.toStatusRuntimeException(details).getTrailers());
    trailers.put(PUSHBACK, Long.toString(millis(wait)));
    return trailers;
  }

  /** Converts a wait to milliseconds, rounded up: a retry that is too early would be denied. */
  private static long millis(Duration wait) {
    return wait.plusNanos(NANOS_PER_MILLI - 1).toMillis();
  }

  /** Returns the wait that a server requests with a {@link RetryInfo}; zero if it requests none. */
  static Duration wait(Status status, Metadata trailers) {
    try {
      com.google.rpc.Status details = StatusProto.fromStatusAndTrailers(status, trailers);
      for (Any detail : details.getDetailsList()) {
        if (detail.is(RetryInfo.class)) {
          com.google.protobuf.Duration delay = detail.unpack(RetryInfo.class).getRetryDelay();
          return Duration.ofSeconds(delay.getSeconds(), delay.getNanos());
        }
      }
    } catch (InvalidProtocolBufferException | IllegalArgumentException | ArithmeticException e) {
      return Duration.ZERO; // malformed trailers of the server are ignored
    }
    return Duration.ZERO;
  }
}
