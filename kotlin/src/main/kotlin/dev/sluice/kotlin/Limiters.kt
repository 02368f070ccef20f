// SPDX-License-Identifier: Apache-2.0
/**
 * A limiter in coroutines: functions that suspend where those of Java block.
 *
 * A coroutine that is cancelled while it waits gives up: a charge that was not sent is not made,
 * and the turn of an `awaitAcquire` is given back. Durations are Kotlin's.
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

/** Decides and spends nothing. See [Limiter.check]. */
public suspend fun Limiter.awaitCheck(limit: String, id: String, cost: Long = 1): Decision =
    async().check(limit, id, cost).await()

/** Spends, or denies and spends nothing. See [Limiter.spend]. */
public suspend fun Limiter.awaitSpend(limit: String, id: String, cost: Long = 1): Decision =
    async().spend(limit, id, cost).await()

/** Spends from a limit with a quota of its own, for example. See [Limiter.spend]. */
public suspend fun Limiter.awaitSpend(transaction: Transaction): Decision =
    async().spend(transaction).await()

/** Spends from all limits or from none. See [Limiter.spend]. */
public suspend fun Limiter.awaitSpend(transactions: List<Transaction>): Decision =
    async().spend(transactions).await()

/** Spends as many tokens as there are, at most [most]. See [Limiter.spendUpTo]. */
public suspend fun Limiter.awaitSpendUpTo(limit: String, id: String, most: Long): Decision =
    async().spendUpTo(limit, id, most).await()

/** Gives back what was spent. See [Limiter.refund]. */
public suspend fun Limiter.awaitRefund(limit: String, id: String, cost: Long = 1): Decision =
    async().refund(limit, id, cost).await()

/** Makes a bucket full. See [Limiter.reset]. */
public suspend fun Limiter.awaitReset(limit: String, id: String) {
    async().reset(limit, id).await()
}

/** Waits for its turn, at most [maxWait], or is denied at once. See [Limiter.acquire]. */
public suspend fun Limiter.awaitAcquire(
    limit: String,
    id: String,
    maxWait: Duration,
    cost: Long = 1,
): Decision = async().acquire(limit, id, cost, maxWait.toJavaDuration()).await()

/** Waits for its turn, at most [maxWait], or is denied at once. See [Limiter.acquire]. */
public suspend fun Limiter.awaitAcquire(transaction: Transaction, maxWait: Duration): Decision =
    async().acquire(transaction, maxWait.toJavaDuration()).await()

/** Waits for its turn in all limits, or is denied at once. See [Limiter.acquire]. */
public suspend fun Limiter.awaitAcquire(
    transactions: List<Transaction>,
    maxWait: Duration,
): Decision = async().acquire(transactions, maxWait.toJavaDuration()).await()

/** Decides and spends nothing. See [Limit.check]. */
public suspend fun Limit.awaitCheck(id: CharSequence, cost: Long = 1): Decision =
    async().check(id, cost).await()

/** Spends, or denies and spends nothing. See [Limit.spend]. */
public suspend fun Limit.awaitSpend(id: CharSequence, cost: Long = 1): Decision =
    async().spend(id, cost).await()

/** Spends as many tokens as there are, at most [most]. See [Limit.spendUpTo]. */
public suspend fun Limit.awaitSpendUpTo(id: CharSequence, most: Long): Decision =
    async().spendUpTo(id, most).await()

/** Gives back what was spent. See [Limit.refund]. */
public suspend fun Limit.awaitRefund(id: CharSequence, cost: Long = 1): Decision =
    async().refund(id, cost).await()

/** Makes a bucket full. See [Limit.reset]. */
public suspend fun Limit.awaitReset(id: CharSequence) {
    async().reset(id).await()
}

/** Waits for its turn, at most [maxWait], or is denied at once. See [Limit.acquire]. */
public suspend fun Limit.awaitAcquire(id: CharSequence, maxWait: Duration, cost: Long = 1): Decision =
    async().acquire(id, cost, maxWait.toJavaDuration()).await()

/**
 * Spends before [block], which may give back: with `it.cancelAsync().await()`. What it does not
 * give back stays spent. See [Limiter.reserve].
 */
@IgnorableReturnValue
public suspend fun <T> Limiter.withReservation(
    limit: String,
    id: String,
    cost: Long = 1,
    block: suspend (Reservation) -> T,
): T = async().reserve(limit, id, cost).await().use { block(it) }

/** Spends before [block], which may give back. See [Limit.reserve]. */
@IgnorableReturnValue
public suspend fun <T> Limit.withReservation(
    id: CharSequence,
    cost: Long = 1,
    block: suspend (Reservation) -> T,
): T = async().reserve(id, cost).await().use { block(it) }
