// SPDX-License-Identifier: Apache-2.0
/**
 * Suspending functions for a limiter, in place of the blocking methods for Java.
 *
 * If a waiting coroutine is cancelled, a charge that was not sent is never sent, and
 * `awaitAcquire` returns its tokens as [Limiter.acquire] does. Durations are Kotlin durations.
 */
@file:JvmName("Limiters")

package dev.sluice.kotlin

import dev.sluice.Decision
import dev.sluice.Limit
import dev.sluice.Limiter
import dev.sluice.Reservation
import dev.sluice.Transaction
import kotlin.time.Duration
import kotlin.time.toJavaDuration
import kotlinx.coroutines.future.await

/** Checks whether a cost could be spent now; changes nothing. See [Limiter.check]. */
public suspend fun Limiter.awaitCheck(limit: String, id: String, cost: Long = 1): Decision =
    async().check(limit, id, cost).await()

/** Spends a cost if the bucket has enough tokens. See [Limiter.spend]. */
public suspend fun Limiter.awaitSpend(limit: String, id: String, cost: Long = 1): Decision =
    async().spend(limit, id, cost).await()

/** Spends a transaction, for example one with its own quota. See [Limiter.spend]. */
public suspend fun Limiter.awaitSpend(transaction: Transaction): Decision =
    async().spend(transaction).await()

/** Spends all transactions of a batch, or none. See [Limiter.spend]. */
public suspend fun Limiter.awaitSpend(transactions: List<Transaction>): Decision =
    async().spend(transactions).await()

/** Spends all tokens that the bucket has, at most [most]. See [Limiter.spendUpTo]. */
public suspend fun Limiter.awaitSpendUpTo(limit: String, id: String, most: Long): Decision =
    async().spendUpTo(limit, id, most).await()

/** Gives spent tokens back. See [Limiter.refund]. */
public suspend fun Limiter.awaitRefund(limit: String, id: String, cost: Long = 1): Decision =
    async().refund(limit, id, cost).await()

/** Resets a bucket to full. See [Limiter.reset]. */
public suspend fun Limiter.awaitReset(limit: String, id: String) {
    async().reset(limit, id).await()
}

/** Spends, and waits at most [maxWait] for the tokens. See [Limiter.acquire]. */
public suspend fun Limiter.awaitAcquire(
    limit: String,
    id: String,
    maxWait: Duration,
    cost: Long = 1,
): Decision = async().acquire(limit, id, cost, maxWait.toJavaDuration()).await()

/** Spends, and waits at most [maxWait] for the tokens. See [Limiter.acquire]. */
public suspend fun Limiter.awaitAcquire(transaction: Transaction, maxWait: Duration): Decision =
    async().acquire(transaction, maxWait.toJavaDuration()).await()

/** Spends a batch, and waits at most [maxWait] for all tokens. See [Limiter.acquire]. */
public suspend fun Limiter.awaitAcquire(
    transactions: List<Transaction>,
    maxWait: Duration,
): Decision = async().acquire(transactions, maxWait.toJavaDuration()).await()

/** Checks whether a cost could be spent now; changes nothing. See [Limit.check]. */
public suspend fun Limit.awaitCheck(id: CharSequence, cost: Long = 1): Decision =
    async().check(id, cost).await()

/** Spends a cost if the bucket has enough tokens. See [Limit.spend]. */
public suspend fun Limit.awaitSpend(id: CharSequence, cost: Long = 1): Decision =
    async().spend(id, cost).await()

/** Spends all tokens that the bucket has, at most [most]. See [Limit.spendUpTo]. */
public suspend fun Limit.awaitSpendUpTo(id: CharSequence, most: Long): Decision =
    async().spendUpTo(id, most).await()

/** Gives spent tokens back. See [Limit.refund]. */
public suspend fun Limit.awaitRefund(id: CharSequence, cost: Long = 1): Decision =
    async().refund(id, cost).await()

/** Resets a bucket to full. See [Limit.reset]. */
public suspend fun Limit.awaitReset(id: CharSequence) {
    async().reset(id).await()
}

/** Spends, and waits at most [maxWait] for the tokens. See [Limit.acquire]. */
public suspend fun Limit.awaitAcquire(id: CharSequence, maxWait: Duration, cost: Long = 1): Decision =
    async().acquire(id, cost, maxWait.toJavaDuration()).await()

/**
 * Reserves a cost, and calls [block], even if the reservation was denied, so check `it.denied()`
 * first. The block can give the tokens back with `it.cancelAsync().await()`; otherwise the tokens
 * stay spent. See [Limiter.reserve].
 */
@IgnorableReturnValue
public suspend fun <T> Limiter.withReservation(
    limit: String,
    id: String,
    cost: Long = 1,
    block: suspend (Reservation) -> T,
): T = async().reserve(limit, id, cost).await().use { block(it) }

/**
 * Reserves a cost, and calls [block], even if the reservation was denied, so check `it.denied()`
 * first. The block can give the tokens back. See [Limit.reserve].
 */
@IgnorableReturnValue
public suspend fun <T> Limit.withReservation(
    id: CharSequence,
    cost: Long = 1,
    block: suspend (Reservation) -> T,
): T = async().reserve(id, cost).await().use { block(it) }
