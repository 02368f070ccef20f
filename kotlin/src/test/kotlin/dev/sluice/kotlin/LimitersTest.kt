// SPDX-License-Identifier: Apache-2.0
package dev.sluice.kotlin

import dev.sluice.Limit
import dev.sluice.Limiter
import dev.sluice.Transaction
import dev.sluice.gcra.Quota
import dev.sluice.limit.Catalogue
import dev.sluice.limit.CurrentLimits
import dev.sluice.limit.LimitName
import dev.sluice.limit.Limits
import dev.sluice.limit.InvalidRequestException.MissingDefaultException
import dev.sluice.store.BucketStore
import dev.sluice.testkit.ManualTime
import java.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.ExperimentalCoroutinesApi
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.future.await
import kotlinx.coroutines.runBlocking
import org.assertj.core.api.Assertions.assertThat
import org.junit.jupiter.api.Test

/** On one thread, so that a function that blocked it would never end. */
class LimitersTest {

    private val time = ManualTime()

    private val calls =
        LimitName.builder("Calls").longestWait(Duration.ofMinutes(1)).build()

    private val limiter =
        Limiter.builder(
                CurrentLimits(
                    Limits.builder(Catalogue.of(calls))
                        .limit("Calls", Quota.burst(2).refill(1, Duration.ofSeconds(1)))
                        .build()),
                BucketStore.inMemory(time))
            .time(time)
            .build()

    @Test
    fun `awaitSpend, over the limit, denies`() = runBlocking {
        assertThat(limiter.awaitSpend("Calls", "ann").allowed()).isTrue()
        assertThat(limiter.awaitSpend(limiter.transaction("Calls", "ann")).allowed()).isTrue()
        val denied = limiter.awaitSpend("Calls", "ann")
        assertThat(denied.denied()).isTrue()
        assertThat(denied.retryIn()).isEqualTo(Duration.ofSeconds(1))
        assertThat(limiter.awaitCheck("Calls", "ann").denied()).isTrue()
        assertThat(limiter.awaitRefund("Calls", "ann").allowed()).isTrue()
        assertThat(limiter.awaitSpend("Calls", "ann").allowed()).isTrue()
        limiter.awaitReset("Calls", "ann")
        assertThat(limiter.awaitSpend("Calls", "ann", cost = 2).allowed()).isTrue()
        Unit
    }

    @Test
    fun `Limit has the functions of Limiter`() = runBlocking {
        val limit = limiter.limit("Calls")
        assertThat(limit.awaitSpend("ann").remaining()).isEqualTo(1)
        assertThat(limit.awaitSpendUpTo("ann", most = 5).taken()).isEqualTo(1)
        assertThat(limiter.awaitSpendUpTo("Calls", "ann", most = 5).taken()).isZero()
        assertThat(limit.awaitCheck("ann").denied()).isTrue()
        assertThat(limit.awaitRefund("ann").allowed()).isTrue()
        limit.withReservation("ann") { it.cancelAsync().await() }
        limit.awaitReset("ann")
        assertThat(limit.awaitSpend("ann", cost = 2).allowed()).isTrue()
        Unit
    }

    @Test
    fun `awaitSpend, of a limit without a default, throws`() = runBlocking {
        val open = Limiter.of(Limits.builder(Catalogue.of(calls)).build(), BucketStore.inMemory())
        assertThat(runCatching { open.awaitSpend("Calls", "ann") }.exceptionOrNull())
            .isInstanceOf(MissingDefaultException::class.java)
        val reserved = runCatching { open.withReservation("Calls", "ann") { 1 } }
        assertThat(reserved.exceptionOrNull()).isInstanceOf(MissingDefaultException::class.java)
        Unit
    }

    @Test
    fun `awaitSpend, of a batch, spends from all or from none`() = runBlocking {
        val quota = Quota.per(1, Duration.ofSeconds(1))
        fun batch() =
            listOf(
                limiter.transaction("Calls", "ann"),
                Transaction.of(calls, quota, "all"))
        assertThat(limiter.awaitSpend(batch()).allowed()).isTrue()
        assertThat(limiter.awaitSpend(batch()).denied()).isTrue()
        assertThat(limiter.awaitCheck("Calls", "ann", cost = 0).remaining()).isEqualTo(1)
        Unit
    }

    @Test
    @OptIn(ExperimentalCoroutinesApi::class)
    fun `awaitAcquire suspends, and blocks no thread`() = runBlocking {
        val limit = Limit.of(Quota.burst(1).refill(10, Duration.ofSeconds(1)), time)
        val turns =
            List(3) {
                async(start = CoroutineStart.UNDISPATCHED) { limit.awaitAcquire("host", 1.seconds) }
            }
        assertThat(turns[0].isCompleted).isTrue()
        assertThat(turns[1].isCompleted).isFalse()
        time.advance(Duration.ofMillis(100))
        assertThat(turns[1].await().allowed()).isTrue()
        assertThat(turns[2].isCompleted).isFalse()
        time.advance(Duration.ofMillis(100))
        assertThat(turns[2].await().allowed()).isTrue()
        assertThat(limit.awaitAcquire("host", 99.milliseconds).denied()).isTrue()
        Unit
    }

    @Test
    @OptIn(ExperimentalCoroutinesApi::class)
    fun `awaitAcquire, cancelled, gives its turn back`() = runBlocking {
        assertThat(limiter.awaitAcquire("Calls", "ann", 1.seconds, cost = 2).allowed()).isTrue()
        val leaving =
            async(start = CoroutineStart.UNDISPATCHED) {
                limiter.awaitAcquire(limiter.transaction("Calls", "ann"), 10.seconds)
            }
        leaving.cancelAndJoin()
        val next =
            async(start = CoroutineStart.UNDISPATCHED) {
                limiter.awaitAcquire(listOf(limiter.transaction("Calls", "ann")), 10.seconds)
            }
        time.advance(Duration.ofSeconds(1))
        assertThat(next.await().allowed()).isTrue()
        Unit
    }

    @Test
    fun `withReservation, cancelled, costs nothing`() = runBlocking {
        val answer =
            limiter.withReservation("Calls", "ann", cost = 2) {
                it.cancelAsync().await()
                if (it.allowed()) "welcome" else "later"
            }
        assertThat(answer).isEqualTo("welcome")
        limiter.withReservation("Calls", "ann", cost = 2) { assertThat(it.allowed()).isTrue() }
        limiter.withReservation("Calls", "ann") { assertThat(it.denied()).isTrue() }
        Unit
    }
}

// begin: login
suspend fun login(limiter: Limiter, ip: String): String {
    val login = limiter.awaitSpend("LoginsPerIPAddress", ip)
    return if (login.allowed()) "welcome" else "retry in ${login.retryAfterSeconds()} s"
}
// end: login
