// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.AsyncLimiter;
import dev.sluice.Decision;
import dev.sluice.Decision.DecidedBy;
import dev.sluice.Limiter;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.Reservation;
import dev.sluice.Reservation.Costs;
import dev.sluice.Reservation.Receipt;
import dev.sluice.Transaction;
import dev.sluice.envoy.RateLimitRequest;
import dev.sluice.envoy.RateLimitResponse;
import dev.sluice.envoy.RateLimitServiceGrpc;
import dev.sluice.internal.async.Stages;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.access.AuditLog.Noted;
import dev.sluice.server.access.Caller;
import dev.sluice.server.access.Permission;
import dev.sluice.server.base.RefusedException;
import dev.sluice.server.rls.DescriptorCharges.DescriptorCharge;
import dev.sluice.server.rls.DescriptorCharges.Found;
import dev.sluice.server.rls.DescriptorCharges.RefusedDescriptor;
import dev.sluice.server.rls.GrpcRequests.GrpcStatuses;
import dev.sluice.server.rls.RlsPart.Settings;
import dev.sluice.server.stats.Denials;
import dev.sluice.yaml.internal.LongestReservations;
import io.grpc.MethodDescriptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.ServiceDescriptor;
import io.grpc.Status;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The gRPC service {@code ShouldRateLimit}. Thread-safe; runs on event loops and never blocks. */
final class RateLimitService extends RateLimitServiceGrpc.RateLimitServiceImplBase {

  /** The name that the audit log uses for gRPC requests. */
  static final String DOOR = "grpc";

  private final RateLimitRequests requests;
  private final RlsMeters meters;

  RateLimitService(RateLimitRequests requests, RlsMeters meters) {
    this.requests = requests;
    this.meters = meters;
  }

  /** Returns the gRPC service; {@link RequestMessages} parses its requests. */
  ServerServiceDefinition definition() {
    MethodDescriptor<RateLimitRequest, RateLimitResponse> generated =
        RateLimitServiceGrpc.getShouldRateLimitMethod();
    MethodDescriptor<RateLimitRequest, RateLimitResponse> method =
        generated.toBuilder(RequestMessages.INSTANCE, generated.getResponseMarshaller()).build();
    ServiceDescriptor service =
        ServiceDescriptor.newBuilder(RateLimitServiceGrpc.SERVICE_NAME)
            .setSchemaDescriptor(RateLimitServiceGrpc.getServiceDescriptor().getSchemaDescriptor())
            .addMethod(method)
            .build();
    return ServerServiceDefinition.builder(service)
        .addMethod(method, ServerCalls.asyncUnaryCall(this::shouldRateLimit))
        .build();
  }

  @Override
  public void shouldRateLimit(
      RateLimitRequest request, StreamObserver<RateLimitResponse> observer) {
    long start = System.nanoTime();
    ServiceRequestContext context = ServiceRequestContext.current();
    if (context.isCancelled()) {
      return; // timed out while this service was made; GrpcRequests has answered and counted it
    }
    CompletionStage<RateLimitResponse> decided;
    try {
      decided =
          requests.decide(
              request, AccessPart.caller(context), DOOR, context.whenRequestCancelling());
    } catch (RuntimeException e) {
      answer(null, e, observer, start);
      return;
    }
    Stages.onEnd(decided, (response, failure) -> answer(response, failure, observer, start));
  }

  private void answer(
      @Nullable RateLimitResponse response,
      @Nullable Throwable failure,
      StreamObserver<RateLimitResponse> observer,
      long start) {
    if (response != null) {
      meters.answered(response, start);
      observer.onNext(response);
      observer.onCompleted();
    } else if (failure != null) {
      Status status = GrpcStatuses.status(failure);
      meters.failed(status, start);
      observer.onError(status.asRuntimeException());
    }
  }

  /** Decides on requests of Envoy's rate limit protocol. */
  static final class RateLimitRequests {

    /** The most descriptors in a request. */
    static final int MOST_DESCRIPTORS = 1000;

    private final Limiter limiter;
    private final AsyncLimiter async;
    private final Settings settings;
    private final RlsMeters meters;
    private final AuditLog audit;
    private final Denials denials;
    private final OpenCalls calls;

    RateLimitRequests(
        Limiter limiter,
        Settings settings,
        RlsMeters meters,
        AuditLog audit,
        Denials denials,
        OpenCalls calls) {
      this.calls = calls;
      this.limiter = limiter;
      this.async = limiter.async();
      this.settings = settings;
      this.meters = meters;
      this.audit = audit;
      this.denials = denials;
    }

    /**
     * Decides on a proxy's request.
     *
     * @param door the protocol, for the audit log: grpc or http
     * @param givenUp completes if the client no longer waits for the response
     * @throws BadRequest if the request lacks a field, or a value is out of range
     * @throws dev.sluice.server.base.RefusedException if the caller may not use one of the limits
     */
    CompletionStage<RateLimitResponse> decide(
        RateLimitRequest request, Caller caller, String door, CompletableFuture<?> givenUp) {
      validate(request);
      requireMayRefund(request, caller);
      DescriptorCharges charges =
          DescriptorCharges.of(
              request, settings.overrides(), limiter::requireDefault, limiter.limits().get());
      List<DescriptorCharge> enforced = new ArrayList<>(charges.all().size());
      List<DescriptorCharge> trials = new ArrayList<>(0);
      for (DescriptorCharge charge : charges.all()) {
        if (charge.closedWhy() == null) {
          caller.requireLimit(charge.limit().name());
        }
        (charge.isShadow() ? trials : enforced).add(charge);
      }
      List<DescriptorCharge> refunds = charges.refunds();
      for (DescriptorCharge refund : refunds) {
        caller.requireLimit(refund.limit().name());
      }
      List<DescriptorCharge> settlements = charges.settlements();
      for (DescriptorCharge settlement : settlements) {
        caller.requireLimit(settlement.limit().name());
      }
      countUnmatched(request.getDomain(), charges);
      List<CompletionStage<Void>> ends = new ArrayList<>(settlements.size());
      List<DescriptorCharge> inFull = new ArrayList<>(settlements.size());
      for (DescriptorCharge settlement : settlements) {
        Receipt reserved = reserved(settlement);
        if (reserved != null) {
          ends.add(settle(settlement, reserved));
        } else {
          (settlement.isShadow() ? trials : inFull).add(settlement);
        }
      }
      List<DescriptorCharge> deciding = new ArrayList<>(enforced);
      deciding.addAll(inFull);
      EnvoyAnswers answer = new EnvoyAnswers(settings, charges.found(), deciding, refunds, trials);
      CompletionStage<Void> charged;
      if (refunds.isEmpty()) {
        charged = charge(enforced, givenUp, answer::decidedBy);
      } else {
        // Refunds come first, so that a failed refund charges nothing. A charge for work that is
        // already done follows its refunds even if the client has given up.
        boolean isDueAnyway = enforced.stream().anyMatch(DescriptorCharge::isDueAnyway);
        charged =
            audit
                .following(
                    refund(refunds, isDueAnyway ? new CompletableFuture<>() : givenUp),
                    caller,
                    door,
                    Act.REFUND,
                    refunds.stream().map(DescriptorCharge::givenBack).toList())
                .thenCompose(back -> charge(enforced, givenUp, whole -> {}));
      }
      // A settlement without a reservation is charged alone, so that no other descriptor can deny
      // it.
      for (DescriptorCharge one : inFull) {
        charged = charged.thenCombine(alone(one, givenUp), (a, b) -> null);
      }
      for (DescriptorCharge trial : trials) {
        charged = charged.thenCombine(tried(trial, givenUp), (nothing, tried) -> null);
      }
      for (CompletionStage<Void> end : ends) {
        charged = charged.thenCombine(end, (nothing, ended) -> null);
      }
      return charged.thenApply(
          nothing -> {
            RateLimitResponse response = answer.response();
            answer.count(meters);
            answer.report(denials, door, charges.file(), request);
            return response;
          });
    }

    /** Denies a request that is too large to read, and whose size a proxy's client can choose. */
    RateLimitResponse tooLarge() {
      DescriptorCharge refused =
          DescriptorCharge.refused(RefusedDescriptor.unusable(GrpcStatuses.TOO_LARGE));
      refused.close();
      List<DescriptorCharge> none = List.of();
      EnvoyAnswers answer = new EnvoyAnswers(settings, List.of(), List.of(refused), none, none);
      RateLimitResponse response = answer.response();
      answer.count(meters);
      answer.report(denials, DOOR, "", RateLimitRequest.getDefaultInstance());
      return response;
    }

    /** Checks that the caller may refund, if the request has negative hits. */
    private static void requireMayRefund(RateLimitRequest request, Caller caller) {
      for (int i = 0; i < request.getDescriptorsCount(); i++) {
        if (request.getDescriptors(i).getIsNegativeHits()) {
          try {
            caller
                .about(List.of(Noted.of(Act.REFUND, null, null)))
                .require(Permission.ofAct(Act.REFUND));
          } catch (RefusedException e) {
            throw new BadRequest(
                "descriptors[%s].is_negative_hits: only callers that may refund can send negative hits: %s"
                    .formatted(i, e.detail()));
          }
          return;
        }
      }
    }

    private static void validate(RateLimitRequest request) {
      if (request.getDomain().isEmpty()) {
        throw new BadRequest("the domain is missing, expected the name of a set of limits");
      }
      int descriptors = request.getDescriptorsCount();
      if (descriptors == 0) {
        throw new BadRequest("the descriptors are missing, expected at least one");
      }
      if (descriptors > MOST_DESCRIPTORS) {
        throw new BadRequest(
            "descriptors: found %s, expected at most %s".formatted(descriptors, MOST_DESCRIPTORS));
      }
      RequestMessages.requireKnownFields(request);
    }

    private void countUnmatched(String domain, DescriptorCharges charges) {
      for (Found found : charges.found()) {
        if (!found.matched()) {
          meters.unmatched(domain);
        }
      }
    }

    private CompletionStage<Void> alone(DescriptorCharge charge, CompletableFuture<?> givenUp) {
      return counted(charge, "all", charge(List.of(charge), givenUp, whole -> {}));
    }

    /** Counts a settlement in the metrics, after its charge has succeeded or failed. */
    private CompletionStage<Void> counted(
        DescriptorCharge charge, String charged, CompletionStage<Void> ended) {
      return !charge.settles() || charge.call() == null || charge.isProbe()
          ? ended
          : ended.whenComplete(
              (nothing, failure) -> meters.settled(failure == null ? charged : "failed"));
    }

    /** Charges a descriptor in shadow mode; a failed shadow charge does not fail the request. */
    private CompletionStage<Void> tried(DescriptorCharge trial, CompletableFuture<?> givenUp) {
      return alone(trial, givenUp)
          .exceptionally(
              failure -> {
                trial.forget();
                return null;
              });
    }

    /**
     * Charges all buckets of a request, or none. If a rule is for work that is already done,
     * charges its cost even after a denial.
     *
     * @param charges the charges, at most one for each bucket; this method sets their outcomes
     * @param givenUp completes if the client no longer waits for the response; a charge that was
     *     not yet sent to the store is then dropped, unless a rule is for work that is already done
     * @param whole receives the decision on all charges; not called if a charge only checks its
     *     bucket, or a cost exceeds its burst
     */
    private CompletionStage<Void> charge(
        List<DescriptorCharge> charges, CompletableFuture<?> givenUp, Consumer<Decision> whole) {
      List<DescriptorCharge> asked = new ArrayList<>(charges.size());
      List<Transaction> transactions = new ArrayList<>(charges.size());
      boolean fits = true;
      boolean probes = false;
      for (DescriptorCharge charge : charges) {
        Transaction transaction = charge.asked();
        fits &= !charge.neverFits();
        probes |= charge.isProbe();
        if (transaction == null) {
          charge.close();
        } else {
          asked.add(charge);
          transactions.add(transaction);
        }
      }
      if (asked.isEmpty()) {
        return CompletableFuture.completedFuture(null);
      }
      boolean spends = fits;
      boolean tells = spends && !probes;
      CompletionStage<Decision> decided =
          spends ? spend(asked, transactions) : async.check(transactions);
      if (charges.stream().noneMatch(DescriptorCharge::isDueAnyway)) {
        cancelWith(givenUp, decided.toCompletableFuture());
      }
      return decided.thenCompose(
          decision -> {
            for (int i = 0; i < asked.size(); i++) {
              asked.get(i).decide(decision.parts().get(i), spends);
            }
            if (tells) {
              whole.accept(decision);
            }
            return chargedDespite(charges);
          });
    }

    private CompletionStage<Decision> refund(
        List<DescriptorCharge> refunds, CompletableFuture<?> givenUp) {
      CompletionStage<Decision> refunded =
          async.refund(refunds.stream().map(DescriptorCharge::givenBack).toList());
      cancelWith(givenUp, refunded.toCompletableFuture());
      return refunded.thenApply(
          decision -> {
            for (int i = 0; i < refunds.size(); i++) {
              refunds.get(i).refunded(decision.parts().get(i));
            }
            return decision;
          });
    }

    /**
     * Removes and returns the receipt of the request that a settlement ends; null for a cost of 0,
     * since a proxy also sends 0 if it could not read the request's true cost.
     */
    private @Nullable Receipt reserved(DescriptorCharge settlement) {
      OpenCalls.CallKey call = settlement.call();
      return call == null || settlement.isProbe() ? null : calls.take(call);
    }

    /** Replaces the reserved tokens of a request by the true cost. */
    private CompletionStage<Void> settle(DescriptorCharge settlement, Receipt reserved) {
      CompletionStage<Void> settled =
          counted(
              settlement,
              "difference",
              async
                  .settle(reserved, Costs.of(settlement.limit().name(), settlement.cost()))
                  .thenAccept(settlement::settled));
      return settlement.isShadow() ? settled.exceptionally(failure -> null) : settled;
    }

    /** Spends the costs, and stores the receipt of each request that is settled later. */
    private CompletionStage<Decision> spend(
        List<DescriptorCharge> charges, List<Transaction> transactions) {
      boolean reserves = false;
      for (DescriptorCharge charge : charges) {
        reserves |= charge.call() != null && !charge.settles();
      }
      if (!reserves) {
        return async.spend(transactions);
      }
      CompletionStage<Reservation> reserved = async.reserve(transactions);
      return Stages.cancelling(
          reserved,
          reserved.thenApply(
              reservation -> {
                List<Receipt.Part> parts = reservation.receipt().parts();
                charges.forEach(charge -> keep(charge, parts));
                reservation.close(); // from now on, only the receipts are used
                return reservation.decision();
              }));
    }

    private void keep(DescriptorCharge charge, List<Receipt.Part> taken) {
      OpenCalls.CallKey call = charge.settles() ? null : charge.call();
      List<Receipt.Part> own = taken.stream().filter(charge::took).toList();
      if (call != null && !own.isEmpty()) {
        String limit = charge.limit().name();
        calls.add(call, new Receipt(own), LongestReservations.of(limiter.limits().get(), limit));
      }
    }

    private static void cancelWith(CompletableFuture<?> givenUp, CompletableFuture<?> decided) {
      if (!decided.isDone()) {
        Stages.onSuccess(givenUp, why -> decided.cancel(false));
      }
    }

    /** After a denial, charges the costs of rules for work that is already done. */
    private CompletionStage<Void> chargedDespite(List<DescriptorCharge> charges) {
      boolean over = false;
      boolean degraded = false;
      for (DescriptorCharge charge : charges) {
        over |= charge.isOver();
        degraded |= charge.decidedBy() != DecidedBy.STORE;
      }
      CompletionStage<Void> all = CompletableFuture.completedFuture(null);
      if (over && !degraded) {
        for (DescriptorCharge charge : charges) {
          if (charge.isDueAnyway()) {
            all = all.thenCombine(chargedDespite(charge), (others, own) -> null);
          }
        }
      }
      return all;
    }

    /**
     * Charges a cost after its denial, by settling a reservation of no tokens. Each quota of the
     * limit is charged on its own, up to its own debt.
     */
    private CompletionStage<Void> chargedDespite(DescriptorCharge charge) {
      return async
          .reserve(charge.free())
          .thenCompose(
              reservation -> {
                Decision found = reservation.decision();
                List<Decision> quotas = found.quotas().isEmpty() ? List.of(found) : found.quotas();
                List<Receipt.Part> parts = reservation.receipt().parts();
                reservation.close(); // from now on, only the receipt is used
                CompletionStage<Void> all = CompletableFuture.completedFuture(null);
                for (int i = 0; i < parts.size(); i++) {
                  long tokens = charge.chargedDespite(quotas.get(i).remaining());
                  if (tokens > 0) {
                    Receipt part = new Receipt(List.of(parts.get(i)));
                    Costs costs = Costs.of(charge.limit().name(), tokens);
                    all = all.thenCombine(async.settle(part, costs), (others, own) -> null);
                  }
                }
                return all;
              });
    }
  }

  /** Thrown if a request has a mistake that the client must correct. */
  static final class BadRequest extends RuntimeException {

    private static final long serialVersionUID = 1;

    /** Makes an exception; the message names the field, the value found, and expected values. */
    BadRequest(String message) {
      super(message, null, false, false); // no stack trace: clients can cause this exception often
    }
  }
}
